/* t_partials: every id of a bag is in the sum of its row's owner, in order, or names a popular row,
 * which is in no sum but its own; owners are told the rows that are theirs; by place the bags are
 * what they are by bag; popular rows are those that many ids name. The same on any number of
 * threads, whatever was found before; of large tables and of such as have few rows an owner. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "ps/hot_rows.h"
#include "ps/pooled.h"
#include "ps/table.h"
#include "tests/lib/slots.h"

enum { M = SLOTS_M, B = 4000, ROWS = 65000, BAGS = SLOTS_LAYERS * M, PARTS = 8, THREADS = 4 };
enum { NID = 3 * B * SLOTS_MOST_BAG, PLACES = M * (PARTS * 3 * B + HPS_HOT_ROWS_MOST) };

struct found {
    struct hps_unique_room room;
    int nlayer, nmicro, parts, first[M + 1], ask[M * PARTS], length[M * PARTS];
    size_t at[M * PARTS];
    struct hps_int_mirror to;
    struct hps_bag bag[BAGS];
    struct hps_dev dev;
};

/* Other batches, and none, were looked at before. */
static void find(struct found *f, const struct slots *made, const struct slots *other, int nmicro,
                 int parts, int nthread)
{
    int nlayer = made->use[1] ? 2 : 1;
    const struct hps_batch *batch[] = { other->batch, NULL, made->batch };

    *f = (struct found){ .nlayer = nlayer, .nmicro = nmicro, .parts = parts };
    assert_int_equal(hps_dev_cpu.open(&f->dev, 0, nthread), HPS_OK);
    struct hps_pooled *p = hps_pooled_new(nlayer, made->use, made->rows, nmicro, parts, &f->dev);
    for (int i = 0; i < 3; i++) {
        hps_pooled_find(p, batch[i], &f->room, f->first, f->ask, f->bag, f->length, f->at, &f->to);
        assert_true(batch[i] || (f->first[nmicro] == 0 && f->length[0] == 0));
    }
    hps_pooled_free(p);
}

static void done(struct found *f)
{
    hps_unique_room_free(&f->room, &f->dev);
    hps_int_mirror_free(&f->to, &f->dev);
    f->dev.ops->close(&f->dev);
}

/* By place: the rows in its sum, how far these were met, is it a popular row; by micro-batch the
 * place of a popular row, else -1. */
struct places {
    int n, start[PLACES + 1], met[PLACES];
    long long row[M * (NID + HPS_HOT_ROWS_MOST)];
    bool popular[PLACES];
    int place[M][ROWS];
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

    memset(p->place, 0xff, sizeof p->place);
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
                p->met[place] = 0;
                assert_in_range(begin[s + 1], begin[s], begin[n]);
                for (int k = begin[s]; k < begin[s + 1]; k++)
                    p->row[nrow++] =
                        ((long long)(row[k] / HPS_CYCLIC_BLOCK) * f->parts + q) * HPS_CYCLIC_BLOCK +
                        row[k] % HPS_CYCLIC_BLOCK;
                if (!p->popular[place])
                    continue;
                assert_int_equal(begin[s + 1], begin[s] + 1);
                assert_int_equal(p->place[m][p->row[nrow - 1]], -1);
                p->place[m][p->row[nrow - 1]] = place;
            }
        }
    }
    assert_int_equal(f->first[f->nmicro], place);
    p->start[place] = nrow;
    p->n = place;
}

/* The ids of a slot's example, one after the other: each is the next one of the sum at its owner,
 * to which the bag points, or its popular row is the next to which it does. */
static void check_sack(const struct found *f, const struct hps_layer *l, int q, int i,
                       const struct hps_batch *b, int e, struct places *p)
{
    const struct hps_bag *bag = &f->bag[q];
    const int *offset = b->offset[l->slot[i]], m = q / f->nlayer, sack = i * b->B + e;
    const int *index = bag->index + bag->offset[sack], *name = bag->name + bag->name_begin[sack];
    const int *popular = bag->place + bag->nplace - bag->npopular;

    for (int o = 0; o < f->parts; o++)
        assert_in_range(index[o], f->first[m], f->first[m + 1] - 1);
    for (int k = offset ? offset[e] : e; k < (offset ? offset[e + 1] : e + 1); k++) {
        long long id = hps_ids_get(b->ids[l->slot[i]], (size_t)k);
        long long row = slots_row(l, i, id);
        int place = p->place[m][row];
        if (place >= 0) {
            p->met[place]++;
            assert_in_range(*name, 0, bag->npopular - 1);
            assert_int_equal(popular[*name++], place);
            continue;
        }
        place = index[hps_cyclic_owner(row, f->parts)];
        assert_false(p->popular[place]);
        assert_int_equal(p->row[p->start[place] + p->met[place]++], row);
    }
    assert_ptr_equal(name, bag->name + bag->name_begin[sack + 1]);
    assert_int_equal(bag->offset[sack + 1], bag->offset[sack] + f->parts);
    for (int o = 0; o < f->parts; o++)
        assert_int_equal(p->met[index[o]], p->start[index[o] + 1] - p->start[index[o]]);
}

/* By place, in the order of the places' mentions by bag: a sum at each owner. */
static void check_by_place(const struct hps_bag *bag, int parts)
{
    static int next[PLACES], end[PLACES];
    size_t n = (size_t)bag->nslot * (size_t)bag->B, at = 0;
    size_t listed = bag->nplace - (size_t)bag->npopular;

    for (size_t i = 0; i < bag->nplace; i++) {
        next[bag->place[i]] = bag->start[i];
        end[bag->place[i]] = bag->start[i + 1];
    }
    for (size_t sack = 0; sack < n; sack++)
        for (int q = 0; q < parts; q++, at++) {
            int *k = &next[bag->index[at]];
            assert_in_range(*k, 0, bag->start[bag->nplace] - 1);
            assert_int_equal(bag->from[(*k)++], (int)sack % bag->B * bag->nslot +
                                                    (int)sack / bag->B);
        }
    for (size_t i = 0; i < bag->nplace; i++)
        assert_int_equal(next[bag->place[i]], end[bag->place[i]]);
    assert_int_equal(at, bag->nid);
    assert_int_equal(bag->start[bag->nplace], n * (size_t)parts);
    assert_int_equal(bag->start[listed], bag->start[bag->nplace]);
    assert_int_equal(bag->offset[0], 0);
    assert_false(bag->single);
}

static void check(const struct found *f, const struct slots *made, struct places *p)
{
    read_told(f, p);
    for (int q = 0; q < f->nlayer * f->nmicro; q++) {
        const struct hps_layer *l = made->use[q % f->nlayer];
        const struct hps_batch *b = &made->batch[q / f->nlayer];
        assert_int_equal(f->bag[q].B, b->B);
        assert_int_equal(f->bag[q].nslot, l->nslot);
        for (int i = 0; i < l->nslot; i++)
            for (int e = 0; e < b->B; e++)
                check_sack(f, l, q, i, b, e, p);
        check_by_place(&f->bag[q], f->parts);
    }
    for (int place = 0; place < p->n; place++)
        if (p->popular[place])
            assert_true(p->met[place] > 1);
}

static void same(const struct found *a, const struct found *b)
{
    for (int q = 0; q < a->nlayer * a->nmicro; q++) {
        const struct hps_bag *x = &a->bag[q], *y = &b->bag[q];
        assert_int_equal(x->nid, y->nid);
        assert_int_equal(x->nplace, y->nplace);
        assert_memory_equal(x->index, y->index, x->nid * sizeof(int));
        size_t nsack = (size_t)x->nslot * (size_t)x->B;
        assert_memory_equal(x->from, y->from, (size_t)x->start[x->nplace] * sizeof(int));
        assert_int_equal(x->npopular, y->npopular);
        assert_memory_equal(x->name_begin, y->name_begin, (nsack + 1) * sizeof(int));
        assert_memory_equal(x->name + x->name_begin[0], y->name + x->name_begin[0],
                            (size_t)(x->name_begin[nsack] - x->name_begin[0]) * sizeof(int));
        assert_memory_equal(x->place, y->place, x->nplace * sizeof(int));
        assert_memory_equal(x->start, y->start, (x->nplace + 1) * sizeof(int));
        assert_memory_equal(x->offset, y->offset, (nsack + 1) * sizeof(int));
    }
    assert_memory_equal(a->first, b->first, sizeof a->first);
    for (int i = 0; i < a->nmicro * a->parts; i++) {
        assert_int_equal(a->ask[i], b->ask[i]);
        assert_int_equal(a->length[i], b->length[i]);
        assert_memory_equal(a->to.host + a->at[i], b->to.host + b->at[i],
                            (size_t)a->length[i] * sizeof(int));
    }
}

/* Where no row is named twice none is popular; else the first of slot 1 is, which every tenth id or
 * so names; of few rows, 64 to an owner, more are popular than an owner has. */
static void check_popular(const struct found *f, const struct slots *made, const struct places *p,
                          enum slots_kind kind)
{
    for (int m = 0; m < f->nmicro; m++) {
        int n = 0;
        for (int row = 0; row < ROWS; row++)
            n += p->place[m][row] >= 0;
        if (kind == SLOTS_FLAT && f->nlayer == 1)
            assert_int_equal(n, 0);
        if (kind == SLOTS_SKEWED)
            assert_true(p->place[m][made->base[1]] >= 0);
        if (kind == SLOTS_SMALL && f->parts >= 6)
            assert_true(n > HPS_CYCLIC_BLOCK);
    }
}

static void layout(int nlayer, int nmicro, int parts, enum slots_kind kind)
{
    static struct places places;
    struct slots *made = slots_make(nlayer, kind, ROWS, B, 0);
    struct slots *other = slots_make(nlayer, kind, ROWS, B, 1);
    struct found one, many;

    find(&one, made, other, nmicro, parts, 1);
    find(&many, made, other, nmicro, parts, THREADS);
    check(&one, made, &places);
    same(&one, &many);
    check_popular(&one, made, &places, kind);
    done(&one);
    done(&many);
    slots_free(made);
    slots_free(other);
}

static void partials(void **state)
{
    static const int parts[] = { 1, 2, 3, 6, PARTS };

    (void)state;
    for (int nlayer = 1; nlayer <= 2; nlayer++)
        for (int nmicro = 1; nmicro <= M; nmicro++)
            for (int i = 0; i < 5; i++)
                for (enum slots_kind kind = SLOTS_SKEWED; kind <= SLOTS_SMALL; kind++)
                    layout(nlayer, nmicro, parts[i], kind);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(partials) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
