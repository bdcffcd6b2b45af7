/* t_partials: every id of a bag is in the sums that it points at, once, or is a popular row's that
 * it points at; owners are told the rows that are theirs; by place the bags are what they are by
 * bag; popular rows are those that many ids name. The same on any number of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "model/partials.h"
#include "model/popular.h"
#include "model/table.h"

enum { M = 2, B = 900, ROWS = 20000, MOST = 12, BAGS = 2 * M, PARTS = 8 };
enum { NID = 3 * B * MOST, PLACES = M * (PARTS * 3 * B + HPS_POPULAR_MOST) };

/* Layer 0 reads slots 0 (one id) and 1 (0 to 12 ids, few of them often), layer 1 slot 1 alone,
 * folded, behind them. */
struct world {
    struct hps_layer layer[2];
    const struct hps_layer *use[2];
    struct hps_batch batch[M];
    struct hps_ids ids[M][2];
    const int *offsets[M][2];
    uint32_t single[M][B];
    long long multi[M][B * MOST];
    int offset[M][B + 1];
};

/* `flat`: no row more often than others. */
static struct world *make_world(int nlayer, bool flat)
{
    static int slots[] = { 0, 1 };
    static long long base[] = { 0, 5000 }, modulo[] = { 0, 0 };
    static long long base1[] = { 100 }, modulo1[] = { 300 };
    struct world *w = hps_mem_new(1, sizeof *w);

    w->layer[0] = (struct hps_layer){ .nslot = 2, .slot = slots, .base = base, .modulo = modulo };
    w->layer[1] = (struct hps_layer){ .nslot = 1, .slot = slots + 1, .base = base1,
                                      .modulo = modulo1 };
    for (int m = 0; m < M; m++) {
        uint64_t key = hps_rng_key((uint64_t)m, "ids");
        for (int b = 0; b < B; b++) {
            double x = hps_rng_real(key, (uint64_t)b);
            w->single[m][b] = flat ? (uint32_t)b : (uint32_t)(5000 * x * x * x);
            w->offset[m][b + 1] =
                w->offset[m][b] + (int)(hps_rng_bits(key, (uint64_t)b) % (MOST + 1));
        }
        for (int i = 0; i < w->offset[m][B]; i++) {
            double x = hps_rng_real(key, (uint64_t)(B + i));
            w->multi[m][i] = flat ? i : (long long)((ROWS - 5000) * x * x * x * x);
        }
        w->ids[m][0] = (struct hps_ids){ w->single[m], false };
        w->ids[m][1] = (struct hps_ids){ w->multi[m], true };
        w->offsets[m][1] = w->offset[m];
        w->batch[m] = (struct hps_batch){ .B = B - m, .ids = w->ids[m], .offset = w->offsets[m] };
    }
    for (int j = 0; j < nlayer; j++)
        w->use[j] = &w->layer[j];
    return w;
}

struct found {
    struct hps_places_room room;
    int nlayer, nmicro, parts, first[M + 1], ask[M * PARTS], length[M * PARTS];
    size_t at[M * PARTS];
    struct hps_ints to;
    struct hps_bag bag[BAGS];
    struct hps_dev dev;
};

static void find(struct found *f, const struct world *w, int nlayer, int nmicro, int parts,
                 int nthread)
{
    *f = (struct found){ .nlayer = nlayer, .nmicro = nmicro, .parts = parts };
    assert_int_equal(hps_dev_cpu.open(&f->dev, 0, nthread), HPS_OK);
    struct hps_partials *p = hps_partials_new(nlayer, w->use, ROWS, nmicro, parts, &f->dev);
    for (int again = 0; again < 2; again++)
        hps_partials_find(p, w->batch, &f->room, f->first, f->ask, f->bag, f->length, f->at,
                          &f->to);
    hps_partials_free(p);
}

static void done(struct found *f)
{
    hps_places_room_free(&f->room, &f->dev);
    hps_ints_free(&f->to, &f->dev);
    f->dev.ops->close(&f->dev);
}

/* By place: the rows in its sum, in all rows told; how many bags may point at it. */
struct places {
    int n, start[PLACES + 1];
    long long row[M * (NID + HPS_POPULAR_MOST)];
    bool popular[PLACES];
    int named[PLACES];
};

/* Bags of micro-batch m: each is a sum at each owner. */
static int sums_of(const struct found *f, int m)
{
    int n = 0;

    for (int j = 0; j < f->nlayer; j++)
        n += f->bag[m * f->nlayer + j].nslot * f->bag[m * f->nlayer + j].B;
    return n;
}

/* Each place's sum, as its owner is told. */
static void read_told(const struct found *f, struct places *p)
{
    int place = 0, nrow = 0;

    for (int m = 0; m < f->nmicro; m++) {
        assert_int_equal(f->first[m], place);
        for (int q = 0; q < f->parts; q++) {
            int i = m * f->parts + q, n = f->ask[i];
            const int *begin = f->to.host + f->at[i], *row = begin + n + 1;
            assert_true(m == 0 || f->at[i] == f->at[i - f->parts] +
                                                  (size_t)f->length[i - f->parts]);
            assert_int_equal(f->length[i], n + 1 + begin[n]);
            assert_int_equal(begin[0], 0);
            for (int s = 0; s < n; s++, place++) {
                p->start[place] = nrow;
                p->popular[place] = s >= sums_of(f, m);
                p->named[place] = 0;
                assert_in_range(begin[s + 1], begin[s], begin[n]);
                assert_true(!p->popular[place] || begin[s + 1] == begin[s] + 1);
                for (int k = begin[s]; k < begin[s + 1]; k++)
                    p->row[nrow++] =
                        ((long long)(row[k] / HPS_TABLE_BLOCK) * f->parts + q) * HPS_TABLE_BLOCK +
                        row[k] % HPS_TABLE_BLOCK;
            }
        }
    }
    assert_int_equal(f->first[f->nmicro], place);
    p->start[place] = nrow;
    p->n = place;
}

/* The ids of a slot's example are those in the sums that its bag points at. */
static void check_sack(const struct hps_layer *l, int i, const struct hps_batch *b, int e,
                       const struct hps_bag *bag, struct places *p)
{
    static int count[ROWS];
    const int *offset = b->offset[l->slot[i]];
    int first = offset ? offset[e] : e, last = offset ? offset[e + 1] : e + 1, left = last - first;

    for (int k = first; k < last; k++) {
        long long id = hps_ids_get(b->ids[l->slot[i]], (size_t)k);
        count[l->base[i] + (l->modulo[i] ? id % l->modulo[i] : id)]++;
    }
    for (int k = bag->offset[i * b->B + e]; k < bag->offset[i * b->B + e + 1]; k++) {
        int place = bag->index[k];
        p->named[place]++;
        for (int r = p->start[place]; r < p->start[place + 1]; r++, left--)
            assert_true(count[p->row[r]]-- > 0);
    }
    assert_int_equal(left, 0);
}

/* By place, in the order of the places' mentions by bag. */
static void check_by_place(const struct hps_bag *bag)
{
    static int next[PLACES], end[PLACES];
    size_t n = (size_t)bag->nslot * (size_t)bag->B, at = 0;

    for (size_t i = 0; i < bag->nplace; i++) {
        next[bag->place[i]] = bag->start[i];
        end[bag->place[i]] = bag->start[i + 1];
    }
    for (size_t sack = 0; sack < n; sack++)
        for (; at < (size_t)bag->offset[sack + 1]; at++) {
            int *k = &next[bag->index[at]];
            assert_in_range(*k, 0, bag->nid - 1);
            assert_int_equal(bag->from[(*k)++], (int)sack % bag->B * bag->nslot +
                                                    (int)sack / bag->B);
        }
    for (size_t i = 0; i < bag->nplace; i++)
        assert_int_equal(next[bag->place[i]], end[bag->place[i]]);
    assert_int_equal(at, bag->nid);
    assert_int_equal(bag->start[bag->nplace], bag->nid);
    assert_int_equal(bag->offset[0], 0);
    assert_false(bag->single);
}

static void check(const struct found *f, const struct world *w, struct places *p)
{
    read_told(f, p);
    for (int q = 0; q < f->nlayer * f->nmicro; q++) {
        const struct hps_layer *l = w->use[q % f->nlayer];
        const struct hps_batch *b = &w->batch[q / f->nlayer];
        assert_int_equal(f->bag[q].B, b->B);
        assert_int_equal(f->bag[q].nslot, l->nslot);
        for (int i = 0; i < l->nslot; i++)
            for (int e = 0; e < b->B; e++)
                check_sack(l, i, b, e, &f->bag[q], p);
        check_by_place(&f->bag[q]);
    }
    for (int place = 0; place < p->n; place++)
        if (p->popular[place])
            assert_true(p->named[place] > 1);           /* more often than in one place looked at */
        else
            assert_int_equal(p->named[place], 1);
}

static void same(const struct found *a, const struct found *b)
{
    for (int q = 0; q < a->nlayer * a->nmicro; q++) {
        const struct hps_bag *x = &a->bag[q], *y = &b->bag[q];
        assert_int_equal(x->nid, y->nid);
        assert_int_equal(x->nplace, y->nplace);
        assert_memory_equal(x->index, y->index, x->nid * sizeof(int));
        assert_memory_equal(x->from, y->from, x->nid * sizeof(int));
        assert_memory_equal(x->place, y->place, x->nplace * sizeof(int));
        assert_memory_equal(x->start, y->start, (x->nplace + 1) * sizeof(int));
    }
    for (int i = 0; i < a->nmicro * a->parts; i++) {
        assert_int_equal(a->ask[i], b->ask[i]);
        assert_int_equal(a->length[i], b->length[i]);
        assert_memory_equal(a->to.host + a->at[i], b->to.host + b->at[i],
                            (size_t)a->length[i] * sizeof(int));
    }
}

/* How many popular rows there are; *often: is row 5000 of them, which every tenth id or so names,
 * in each micro-batch? */
static int popular_of(const struct found *f, const struct places *p, bool *often)
{
    int n = 0, found = 0;

    for (int place = 0; place < p->n; place++)
        if (p->popular[place]) {
            n++;
            found += p->row[p->start[place]] == 5000;
        }
    *often = found == f->nmicro;
    return n;
}

static void layout(int nlayer, int nmicro, int parts, bool flat)
{
    static struct places places;
    struct world *w = make_world(nlayer, flat);
    struct found one, many;
    bool often;

    find(&one, w, nlayer, nmicro, parts, 1);
    find(&many, w, nlayer, nmicro, parts, 3);
    check(&one, w, &places);
    same(&one, &many);
    int n = popular_of(&one, &places, &often);
    if (flat && nlayer == 1)
        assert_int_equal(n, 0);
    assert_int_equal(often, !flat);
    done(&one);
    done(&many);
    hps_mem_free(w);
}

static void partials(void **state)
{
    static const int parts[] = { 1, 2, 3, 5, PARTS };

    (void)state;
    for (int nlayer = 1; nlayer <= 2; nlayer++)
        for (int nmicro = 1; nmicro <= M; nmicro++)
            for (int i = 0; i < 5; i++)
                for (int flat = 0; flat < 2; flat++)
                    layout(nlayer, nmicro, parts[i], flat);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(partials) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
