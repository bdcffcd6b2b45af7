/* t_partials: every id of a bag is in the sum of its row's owner, in order, or names a hot row,
 * which is in no sum but its own; owners are told the rows that are theirs; by place the bags are
 * what they are by lookup; hot rows are those that many ids name. The same on any number of
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
enum { NID = 3 * B * MAX_SLOTS_BAG, PLACES = M * (PARTS * 3 * B + HPS_HOT_ROWS_MAX) };

struct found {
    struct hps_unique_memory room;
    int nlayer, nmicro, parts, first[M + 1], nrecv[M * PARTS], length[M * PARTS];
    size_t at[M * PARTS];
    struct hps_int_mirror to;
    struct hps_lookup lookup[BAGS];
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
        hps_pooled_find(p, batch[i],
                        &(struct hps_pooled_step){ f->first, f->nrecv, f->lookup, &f->room },
                        &(struct hps_pooled_request){ f->length, f->at, &f->to });
        assert_true(batch[i] || (f->first[nmicro] == 0 && f->length[0] == 0));
    }
    hps_pooled_free(p);
}

static void done(struct found *f)
{
    hps_unique_memory_free(&f->room, &f->dev);
    hps_int_mirror_free(&f->to, &f->dev);
    f->dev.ops->close(&f->dev);
}

/* By place: the rows in its sum, how far these were met, is it a hot row; by micro-batch the
 * place of a hot row, else -1. */
struct places {
    int n, start[PLACES + 1], met[PLACES];
    long long row[M * (NID + HPS_HOT_ROWS_MAX)];
    bool hot[PLACES];
    int place[M][ROWS];
};

/* Bags of micro-batch m: each is a sum at each owner. */
static int sums_of(const struct found *f, int m)
{
    int n = 0;

    for (int j = 0; j < f->nlayer; j++)
        n += f->lookup[m * f->nlayer + j].nslot * f->lookup[m * f->nlayer + j].B;
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
            int i = m * f->parts + q, n = f->nrecv[i];
            const int *begin = f->to.host + f->at[i], *row = begin + n + 1;
            assert_true(m == 0 || f->at[i] == f->at[i - f->parts] +
                                                  (size_t)f->length[i - f->parts]);
            assert_int_equal(f->length[i], n + 1 + begin[n]);
            assert_int_equal(begin[0], 0);
            for (int s = 0; s < n; s++, place++) {
                p->start[place] = nrow;
                p->hot[place] = s >= sums_of(f, m);
                p->met[place] = 0;
                assert_in_range(begin[s + 1], begin[s], begin[n]);
                for (int k = begin[s]; k < begin[s + 1]; k++)
                    p->row[nrow++] =
                        ((long long)(row[k] / HPS_CYCLIC_BLOCK) * f->parts + q) * HPS_CYCLIC_BLOCK +
                        row[k] % HPS_CYCLIC_BLOCK;
                if (!p->hot[place]) continue;
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
 * to which the bag points, or its hot row is the next to which it does. */
static void check_sack(const struct found *f, const struct hps_layer *l, int q, int i,
                       const struct hps_batch *b, int e, struct places *p)
{
    const struct hps_lookup *lookup = &f->lookup[q];
    const int *offset = b->offset[l->slot[i]], m = q / f->nlayer, bag = i * b->B + e;
    const int *index = lookup->of.index + lookup->offset[bag],
              *name = lookup->hot.number + lookup->hot.begin[bag];
    const int *hot = lookup->by_row.row + lookup->by_row.n - lookup->hot.n;

    for (int o = 0; o < f->parts; o++)
        assert_in_range(index[o], f->first[m], f->first[m + 1] - 1);
    for (int k = offset ? offset[e] : e; k < (offset ? offset[e + 1] : e + 1); k++) {
        long long id = hps_ids_get(b->ids[l->slot[i]], (size_t)k);
        long long row = slots_row(l, i, id);
        int place = p->place[m][row];
        if (place >= 0) {
            p->met[place]++;
            assert_in_range(*name, 0, lookup->hot.n - 1);
            assert_int_equal(hot[*name++], place);
            continue;
        }
        place = index[hps_cyclic_owner(row, f->parts)];
        assert_false(p->hot[place]);
        assert_int_equal(p->row[p->start[place] + p->met[place]++], row);
    }
    assert_ptr_equal(name, lookup->hot.number + lookup->hot.begin[bag + 1]);
    assert_int_equal(lookup->offset[bag + 1], lookup->offset[bag] + f->parts);
    for (int o = 0; o < f->parts; o++)
        assert_int_equal(p->met[index[o]], p->start[index[o] + 1] - p->start[index[o]]);
}

/* By place, in the order of the places' mentions by bag: a sum at each owner. */
static void check_by_place(const struct hps_lookup *lookup, int parts)
{
    static int next[PLACES], end[PLACES];
    size_t n = (size_t)lookup->nslot * (size_t)lookup->B, at = 0;
    size_t listed = lookup->by_row.n - (size_t)lookup->hot.n;

    for (size_t i = 0; i < lookup->by_row.n; i++) {
        next[lookup->by_row.row[i]] = lookup->by_row.start[i];
        end[lookup->by_row.row[i]] = lookup->by_row.start[i + 1];
    }
    for (size_t bag = 0; bag < n; bag++)
        for (int q = 0; q < parts; q++, at++) {
            int *k = &next[lookup->of.index[at]];
            assert_in_range(*k, 0, lookup->by_row.start[lookup->by_row.n] - 1);
            assert_int_equal(lookup->by_row.bag[(*k)++],
                             (int)bag % lookup->B * lookup->nslot + (int)bag / lookup->B);
        }
    for (size_t i = 0; i < lookup->by_row.n; i++)
        assert_int_equal(next[lookup->by_row.row[i]], end[lookup->by_row.row[i]]);
    assert_int_equal(at, lookup->nid);
    assert_int_equal(lookup->by_row.start[lookup->by_row.n], n * (size_t)parts);
    assert_int_equal(lookup->by_row.start[listed], lookup->by_row.start[lookup->by_row.n]);
    assert_int_equal(lookup->offset[0], 0);
    assert_false(lookup->single);
}

static void check(const struct found *f, const struct slots *made, struct places *p)
{
    read_told(f, p);
    for (int q = 0; q < f->nlayer * f->nmicro; q++) {
        const struct hps_layer *l = made->use[q % f->nlayer];
        const struct hps_batch *b = &made->batch[q / f->nlayer];
        assert_int_equal(f->lookup[q].B, b->B);
        assert_int_equal(f->lookup[q].nslot, l->nslot);
        for (int i = 0; i < l->nslot; i++)
            for (int e = 0; e < b->B; e++)
                check_sack(f, l, q, i, b, e, p);
        check_by_place(&f->lookup[q], f->parts);
    }
    for (int place = 0; place < p->n; place++)
        if (p->hot[place]) assert_true(p->met[place] > 1);
}

static void same(const struct found *a, const struct found *b)
{
    for (int q = 0; q < a->nlayer * a->nmicro; q++) {
        const struct hps_lookup *x = &a->lookup[q], *y = &b->lookup[q];
        assert_int_equal(x->nid, y->nid);
        assert_int_equal(x->by_row.n, y->by_row.n);
        assert_memory_equal(x->of.index, y->of.index, x->nid * sizeof(int));
        size_t nbag = (size_t)x->nslot * (size_t)x->B;
        assert_memory_equal(x->by_row.bag, y->by_row.bag,
                            (size_t)x->by_row.start[x->by_row.n] * sizeof(int));
        assert_int_equal(x->hot.n, y->hot.n);
        assert_memory_equal(x->hot.begin, y->hot.begin, (nbag + 1) * sizeof(int));
        assert_memory_equal(x->hot.number + x->hot.begin[0], y->hot.number + x->hot.begin[0],
                            (size_t)(x->hot.begin[nbag] - x->hot.begin[0]) * sizeof(int));
        assert_memory_equal(x->by_row.row, y->by_row.row, x->by_row.n * sizeof(int));
        assert_memory_equal(x->by_row.start, y->by_row.start, (x->by_row.n + 1) * sizeof(int));
        assert_memory_equal(x->offset, y->offset, (nbag + 1) * sizeof(int));
    }
    assert_memory_equal(a->first, b->first, sizeof a->first);
    for (int i = 0; i < a->nmicro * a->parts; i++) {
        assert_int_equal(a->nrecv[i], b->nrecv[i]);
        assert_int_equal(a->length[i], b->length[i]);
        assert_memory_equal(a->to.host + a->at[i], b->to.host + b->at[i],
                            (size_t)a->length[i] * sizeof(int));
    }
}

/* Where no row is named twice none is hot; else the first of slot 1 is, which every tenth id or
 * so names; of few rows, 64 to an owner, more are hot than an owner has. */
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
