/* t_snap: whoever reads a table behind the training gets every row once, as it was when the reading
 * began, whatever is changed before, between and after. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "ps/snapshot.h"
#include "ps/table.h"
#include "tests/lib/toy.h"

enum { ROWS = 150001, DIM = 3 };

struct one {
    struct toy toy;
    struct hps_table *table;
    struct hps_snapshot *snapshot;
    float *then, *got; /* all rows: at the moment, as they were taken */
    long long taken;
};

static void open_one(struct one *o, double share, enum hps_number rows)
{
    *o = (struct one){ 0 };
    toy_open(&o->toy, "model: [{name: e, type: embedding, slots: a, buckets: 150001, dim: 3}, "
                      "{name: h, type: fc, width: 1}, {name: l, type: logistic}]\n"
                      "train: {optimizer: adagrad, learning_rate: 0.1}");
    struct hps_table_opt opt = { .parts = 1, .train = &o->toy.train, .seed = 9,
                                 .tier = hps_tier_find("device") };
    opt.weights = rows;
    opt.states = rows == HPS_AS_BF16 ? HPS_AS_BF16 : HPS_AS_FP32;
    assert_int_equal(hps_table_new(&o->table, o->toy.net, 0, &o->toy.dev, &opt), HPS_OK);
    size_t n = ROWS * o->table->stride;
    o->then = hps_mem_new(n, sizeof *o->then);
    o->got = hps_mem_new(n, sizeof *o->got);
    hps_table_read(o->table, 0, ROWS, o->then);
    o->snapshot = hps_snapshot_new(o->table, share);
}

/* All rows were taken, as they were. */
static void close_one(struct one *o)
{
    assert_int_equal(o->taken, ROWS);
    assert_memory_equal(o->got, o->then, ROWS * o->table->stride * sizeof *o->got);
    hps_snapshot_free(o->snapshot);
    assert_null(o->table->snapshot);
    hps_table_free(o->table);
    hps_mem_free(o->then);
    hps_mem_free(o->got);
    toy_close(&o->toy);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

/* About every n-th row, another choice each time. */
static void change(struct one *o, uint64_t key, uint64_t n)
{
    static int at[ROWS];
    static float grad[ROWS * DIM];
    struct hps_rule rule =
        hps_opt_rule(&o->toy.train, &o->toy.net->table[0].override, hps_update_of(0, 1));
    size_t k = 0;

    for (int r = 0; r < ROWS; r++)
        if (hps_rng_bits(key, (uint64_t)r) % n == 0) {
            grad[k * DIM] = 1 + (float)key;
            at[k++] = r;
        }
    hps_table_apply(o->table, &rule, k, at, &(struct hps_row_sums){ .row = grad });
}

static bool take(struct one *o)
{
    float *to = o->got + (size_t)o->taken * o->table->stride;
    long long first, n = hps_snapshot_take(o->snapshot, &first, to);

    assert_true(n == 0 || first == o->taken);
    o->taken += n;
    return n > 0;
}

static void as_it_was(enum hps_number rows)
{
    struct one o;

    open_one(&o, 0.5, rows);
    assert_true(hps_snapshot_chunk(o.snapshot) * 3 < ROWS);
    for (uint64_t i = 0; i < 3; i++)
        change(&o, i, 30);
    while (take(&o))
        change(&o, (uint64_t)o.taken, 50);
    change(&o, 99, 2);
    float *now = hps_mem_new(ROWS * o.table->stride, sizeof *now);
    hps_table_read(o.table, 0, ROWS, now);
    assert_true(memcmp(now, o.then, 1 << 20) != 0);
    hps_mem_free(now);
    close_one(&o);
}

static void every_row_is_as_it_was(void **state)
{
    (void)state;
    as_it_was(HPS_AS_FP32);
    as_it_was(HPS_AS_BF16);
    as_it_was(HPS_AS_INT8);
}

static void *take_all(void *arg)
{
    while (take(arg))
        ;
    return NULL;
}

/* More is changed than may be kept: who changes waits for the reader, and no more is kept. */
static void behind(double share)
{
    pthread_t reader;
    struct one o;

    open_one(&o, share, HPS_AS_FP32);
    size_t before = hps_mem_held_bytes(), row = o.table->stride * sizeof(float) + 16;
    if (share > 0) change(&o, 1, 3);
    assert_int_equal(pthread_create(&reader, NULL, take_all, &o), 0);
    for (uint64_t i = 2; i < 8; i++)
        change(&o, i, 1 + i % 2);
    pthread_join(reader, NULL);
    assert_true(hps_snapshot_cost_s(o.snapshot) > 0);
    assert_in_range(hps_mem_held_bytes() - before, 0, (size_t)(share * ROWS + 8192) * row);
    close_one(&o);
}

static void a_reader_behind_the_training(void **state)
{
    (void)state;
    behind(0.5);
    behind(0);
}

/* A reader that gives up holds nobody. */
static void a_reader_that_quits(void **state)
{
    struct one o;

    (void)state;
    open_one(&o, 0.5, HPS_AS_FP32);
    hps_snapshot_quit(o.snapshot);
    change(&o, 1, 1);
    assert_false(take(&o));
    memcpy(o.got, o.then, ROWS * o.table->stride * sizeof *o.got);
    o.taken = ROWS;
    close_one(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_as_it_was),
        cmocka_unit_test(a_reader_behind_the_training),
        cmocka_unit_test(a_reader_that_quits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
