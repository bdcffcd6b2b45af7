/* t_places: every id's place gives back its row, micro-batches and owners have their places
 * together and in the order of rows, and each row knows its bags in the order of the ids; the same
 * on any number of threads, with an index and without. Keys are picked by vectors as one by one.
 * Words that are dealt, sorted and read again are all there, in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/partition.h"
#include "base/radix.h"
#include "base/rng.h"
#include "ps/table.h"
#include "ps/unique.h"
#include "tests/lib/slots.h"

enum { M = SLOTS_M, B = 900, ROWS = 20000, BAGS = SLOTS_LAYERS * M };

struct found {
    struct hps_unique_memory room;
    int nmicro, first[M + 1], *nrecv;
    struct hps_lookup lookup[BAGS];
    struct hps_dev dev;
};

static void find(struct found *f, const struct slots *made, int nlayer, int nmicro, int parts,
                 bool index, int nthread)
{
    *f = (struct found){ .nmicro = nmicro,
                         .nrecv = hps_mem_new((size_t)(nmicro * parts), sizeof(int)) };
    assert_int_equal(hps_dev_cpu.open(&f->dev, 0, nthread), HPS_OK);
    struct hps_unique *p = hps_unique_new(
        &(struct hps_unique_opt){ nlayer, made->use, ROWS, parts, nmicro, index, parts == 1 },
        &f->dev);
    for (int again = 0; again < 2; again++)
        hps_unique_find(p, made->batch, &f->room, f->first, f->nrecv, f->lookup);
    hps_unique_free(p);
}

static void done(struct found *f)
{
    hps_unique_memory_free(&f->room, &f->dev);
    hps_mem_free(f->nrecv);
    f->dev.ops->close(&f->dev);
}

/* Places of a micro-batch and an owner are together, upwards; *row by place, all different. */
static void check_places(const struct found *f, int parts, long long *row)
{
    static bool seen[ROWS];
    int at = 0;

    memset(seen, 0, sizeof seen);
    for (int m = 0, k = 0; m < f->nmicro; m++) {
        assert_int_equal(f->first[m], at);
        for (int o = 0; o < parts; o++, k++)
            for (int i = 0; i < f->nrecv[k]; i++, at++) {
                int local = f->room.row.host[at];
                assert_true(i == 0 || local > f->room.row.host[at - 1]);
                row[at] = ((long long)(local / HPS_CYCLIC_BLOCK) * parts + o) * HPS_CYCLIC_BLOCK +
                          local % HPS_CYCLIC_BLOCK;
                assert_in_range(row[at], 0, ROWS - 1);
                assert_false(seen[row[at]]);
                seen[row[at]] = true;
            }
    }
    assert_int_equal(f->first[f->nmicro], at);
}

/* The bag's index against its ids, then its rows against its index. */
static void check_bag(const struct hps_layer *l, const struct hps_batch *b,
                      const struct hps_lookup *lookup, const long long *row, int *bag)
{
    size_t nid = 0, seen = 0;

    assert_int_equal(lookup->B, b->B);
    for (int i = 0; i < l->nslot; i++)
        for (int e = 0; e < b->B; e++) {
            const int *offset = b->offset[l->slot[i]];
            int first = offset ? offset[e] : e, last = offset ? offset[e + 1] : e + 1;
            assert_int_equal(lookup->offset ? lookup->offset[i * b->B + e] : i * b->B + e,
                             (int)nid);
            for (int k = first; k < last; k++, nid++) {
                long long id = hps_ids_get(b->ids[l->slot[i]], (size_t)k);
                assert_int_equal(row[lookup->of.index[nid]], slots_row(l, i, id));
                bag[nid] = e * l->nslot + i;
            }
        }
    assert_int_equal(lookup->nid, nid);
    for (size_t i = 0; i < lookup->by_row.n; i++)
        for (int k = lookup->by_row.start[i], at = -1; k < lookup->by_row.start[i + 1];
             k++, seen++) {
            do
                at++;
            while (at < (int)nid && (lookup->of.index[at] != lookup->by_row.row[i] ||
                                     bag[at] != lookup->by_row.bag[k]));
            assert_true(at < (int)nid);
        }
    assert_int_equal(seen, nid);
}

static void same(const struct found *a, const struct found *b, int nlayer, int parts)
{
    size_t nid = 0, nrow = 0, n = (size_t)(nlayer * a->nmicro);

    for (size_t q = 0; q < n; q++) {
        nid += a->lookup[q].nid;
        nrow += a->lookup[q].by_row.n;
        assert_int_equal(a->lookup[q].by_row.n, b->lookup[q].by_row.n);
    }
    assert_memory_equal(a->first, b->first, sizeof a->first);
    assert_memory_equal(a->nrecv, b->nrecv, (size_t)(a->nmicro * parts) * sizeof(int));
    assert_memory_equal(a->room.row.host, b->room.row.host,
                        (size_t)a->first[a->nmicro] * sizeof(int));
    if (b->lookup[0].form == HPS_ROWS_BY_INDEX)
        assert_memory_equal(a->room.index.host, b->room.index.host, nid * sizeof(int));
    assert_memory_equal(a->room.bag.host, b->room.bag.host, nid * sizeof(int));
    assert_memory_equal(a->room.bag_start.host, b->room.bag_start.host, (nrow + n) * sizeof(int));
}

/* Where all rows are of one owner, each id tells its row itself. */
static void check_lies(const struct found *a, const struct found *bare, int n, int parts,
                       const long long *row)
{
    for (int q = 0; q < n; q++) {
        const struct hps_lookup *lookup = &bare->lookup[q];
        assert_int_equal(a->lookup[q].form, HPS_ROWS_BY_INDEX);
        assert_int_equal(lookup->form == HPS_ROWS_IN_TABLE, parts == 1);
        for (size_t i = 0; i < lookup->nid && parts == 1; i++)
            assert_int_equal(lookup->of.in_table.row[i], row[a->lookup[q].of.index[i]]);
    }
}

static void layout(int nlayer, int nmicro, int parts)
{
    static long long row[ROWS];
    static int bag[2 * B * MAX_SLOTS_BAG];
    struct slots *made = slots_make(nlayer, SLOTS_SKEWED, ROWS, B, 0);
    struct found one, many, bare;

    find(&one, made, nlayer, nmicro, parts, true, 1);
    find(&many, made, nlayer, nmicro, parts, true, 3);
    find(&bare, made, nlayer, nmicro, parts, false, 1);
    check_places(&one, parts, row);
    for (int q = 0; q < nlayer * nmicro; q++)
        check_bag(made->use[q % nlayer], &made->batch[q / nlayer], &one.lookup[q], row, bag);
    assert_int_not_equal(bare.lookup[0].form, HPS_ROWS_BY_INDEX);
    same(&one, &many, nlayer, parts);
    same(&one, &bare, nlayer, parts);
    check_lies(&one, &bare, nlayer * nmicro, parts, row);
    done(&one);
    done(&many);
    done(&bare);
    slots_free(made);
}

static void places(void **state)
{
    (void)state;
    for (int nlayer = 1; nlayer <= 2; nlayer++)
        for (int nmicro = 1; nmicro <= M; nmicro++)
            for (int parts = 1; parts <= 3; parts++)
                layout(nlayer, nmicro, parts);
}

/* Keys of few owners, picked in pieces behind each other: by vectors and one after the other. */
static void picked(void **state)
{
    enum { N = 300, BITS = 23, SOME = N + HPS_PARTITION_SPARE };
    static int room[2][HPS_PARTITION_WAYS][SOME];
    int *const to[2][HPS_PARTITION_WAYS] = { { room[0][0], room[0][1], room[0][2] },
                                             { room[1][0], room[1][1], room[1][2] } };
    uint64_t key[N];

    (void)state;
    for (size_t i = 0; i < N; i++)
        key[i] = hps_rng_bits(5, i) % 5 << BITS | hps_rng_bits(6, i) >> (64 - BITS);
    for (uint64_t owner = 0; owner < 5; owner++)
        for (size_t n = 0; n <= N; n += n < 40 ? 1 : 13) {
            size_t got[2][HPS_PARTITION_WAYS] = { 0 }, half = n / 3, at[HPS_PARTITION_WAYS] = { 0 };
            hps_partition_scalar(n, key, owner, BITS, to[0], got[0]);
            hps_partition(half, key, owner, BITS, to[1], got[1]);
            hps_partition(n - half, key + half, owner, BITS, to[1], got[1]);
            for (int k = 0; k < HPS_PARTITION_WAYS; k++) {
                assert_int_equal(got[1][k], got[0][k]);
                assert_memory_equal(room[1][k], room[0][k], got[0][k] * sizeof(int));
            }
            for (size_t i = 0; i < n; i++) {
                uint64_t k = (key[i] >> BITS) - owner;
                if (k < HPS_PARTITION_WAYS)
                    assert_int_equal(room[0][k][at[k]++], key[i] & ((1 << BITS) - 1));
            }
            assert_memory_equal(at, got[0], sizeof at);
        }
}

static int by_key(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    if (*x != *y) return *x < *y ? -1 : 1;
    return x[1] < y[1] ? -1 : 1;            /* the order in which they came */
}

/* `hot`: most words have one key. */
static void words(size_t n, int key_bits, int parts, bool hot)
{
    struct hps_radix *r = hps_radix_new();
    uint64_t(*want)[2] = hps_mem_new(n, sizeof *want), key = 0;
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        want[i][0] = hps_rng_bits(4, i) >> (64 - key_bits);
        if (hot ? i % 5 < 3 : i % 3 > 0)
            want[i][0] = hot ? hps_rng_bits(4, 0) >> (64 - key_bits) : want[i][0] & 0x1f;
        want[i][1] = i;
    }
    hps_radix_begin(r, n, key_bits, 20, parts);
    for (int put = 0; put < 2; put++) {
        for (int t = 0; t < parts; t++)
            for (size_t i = n / (size_t)parts * (size_t)t;
                 i < (t + 1 == parts ? n : n / (size_t)parts * (size_t)(t + 1)); i++)
                if (put)
                    hps_radix_put(r, t, 1, &want[i][0], &want[i][1]);
                else
                    hps_radix_count(r, t, 1, &want[i][0]);
        if (!put)
            hps_radix_deal(r);
    }
    qsort(want, n, sizeof *want, by_key);
    for (int b = 0; b < hps_radix_cut(r, parts, parts); b++) {
        hps_radix_sort(r, b % parts, b);
        struct hps_bucket bucket = hps_radix_bucket(r, b);
        for (size_t i = 0; i < bucket.n; i++, at++) {
            uint64_t word = hps_bucket_word(bucket.word, bucket.wide, i);
            key = bucket.key | word >> 20;
            assert_true(key == want[at][0] && (word & 0xfffff) == want[at][1]);
        }
    }
    assert_int_equal(at, n);
    hps_mem_free(want);
    hps_radix_free(r);
}

static void sorted(void **state)
{
    static const int bits[] = { 1, 7, 14, 24, 40, 44 };

    (void)state;
    for (int i = 0; i < 6; i++)
        for (int parts = 1; parts <= 3; parts++) {
            words(0, bits[i], parts, false);
            words(5, bits[i], parts, false);
            for (int hot = 0; hot < 2; hot++) {
                words(900, bits[i], parts, hot);
                words(30000, bits[i], parts, hot);
            }
        }
    assert_int_equal(hps_radix_bits(1), 0);
    assert_int_equal(hps_radix_bits(64), 6);
    assert_int_equal(hps_radix_bits(65), 7);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(places),
                                        cmocka_unit_test(picked),
                                        cmocka_unit_test(sorted) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
