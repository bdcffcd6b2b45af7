/* t_tier: what a sample of steps says of rows that memory has no room for is what slots then do,
 * for streams of many kinds and any number of slots, in a first pass and in later ones: within a
 * tenth, and where the sample is of a part of the run, or of the rows, a twentieth of a step's
 * rows. Memory is divided as the tables of a run divide it. What a store takes for a row can be
 * measured. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <math.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "plan/tier.h"
#include "ps/row_store.h"
#include "ps/tier_sample.h"
#include "ps/tier_try.h"

enum { B = 512, SLOTS = 4 };            /* examples of a step, of one id in each slot */

/* A run: ids by Zipf's law (exponent 0: evenly), at random places of a slot's part of the rows. */
struct run {
    long long part, steps, pass;        /* rows of a slot                             */
    double exponent;
    uint64_t key;
    struct hps_layer layer;
    uint32_t *id[SLOTS];                /* (B) of a step                              */
};

static long long draw(const struct run *r, uint64_t k)
{
    double u = hps_rng_real(r->key, k), a = 1 - r->exponent, n = (double)r->part;

    if (r->exponent == 0) return (long long)(u * n);
    long long rank = (long long)(pow(u * (pow(n + 1, a) - 1) + 1, 1 / a) - 1);
    return (long long)hps_rng_permute(9, (uint64_t)(rank < r->part ? rank : 0), (uint64_t)r->part);
}

/* The ids of a step: an epoch is the same again. */
static void fill(struct run *r, long long step)
{
    uint64_t first = (uint64_t)(step % r->pass) * B * SLOTS;

    for (int s = 0; s < SLOTS; s++)
        for (int i = 0; i < B; i++)
            r->id[s][i] = (uint32_t)draw(r, first + (uint64_t)(s * B + i));
}

static int slot_of[SLOTS] = { 0, 1, 2, 3 };

static void open_run(struct run *r, long long *base, long long *modulo)
{
    for (int s = 0; s < SLOTS; s++) {
        r->id[s] = hps_mem_new(B, sizeof *r->id[s]);
        base[s] = s * r->part;
        modulo[s] = 0;
    }
    r->layer = (struct hps_layer){ .nslot = SLOTS, .dim = 4, .slot = slot_of, .base = base,
                                   .modulo = modulo };
}

static void close_run(struct run *r)
{
    for (int s = 0; s < SLOTS; s++)
        hps_mem_free(r->id[s]);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

static struct hps_tier_sample sample(struct run *r, long long steps)
{
    const struct hps_layer *layer = &r->layer;
    struct hps_tier_trace *t = hps_tier_trace_new(1, &layer, SLOTS * r->part, 1);
    struct hps_ids ids[SLOTS];
    const int *offset[SLOTS] = { NULL };
    struct hps_batch batch = { .B = B, .ids = ids, .offset = offset };

    for (int s = 0; s < SLOTS; s++)
        ids[s] = (struct hps_ids){ r->id[s], false };
    for (long long i = 0; i < steps; i++) {
        fill(r, i);
        assert_true(hps_tier_trace_add(t, &batch));
    }
    struct hps_tier_sample x = hps_tier_trace_end(t);
    hps_tier_trace_free(t);
    return x;
}

/* All of it by slots, row by row. */
static struct hps_tier_rows truth(struct run *r, int slots)
{
    int rows = (int)(SLOTS * r->part), *row = hps_mem_new(SLOTS * B, sizeof *row);
    int *seen = hps_mem_new((size_t)rows, sizeof *seen), *slot[2];
    bool *known = hps_mem_new((size_t)rows, sizeof *known);
    struct hps_slots *t = hps_slots_new(rows, slots);
    struct hps_slots_moves m;
    struct hps_tier_rows sum = { 0, 0, 0, 0, 0 };
    size_t before = 0;

    for (int i = 0; i < 2; i++)
        slot[i] = hps_mem_new(SLOTS * B, sizeof *slot[i]);
    for (long long i = 0; i < r->steps; i++) {
        size_t n = 0;
        fill(r, i);
        for (int s = 0; s < SLOTS; s++)
            for (int k = 0; k < B; k++) {
                int at = (int)(s * r->part + r->id[s][k]);
                if (seen[at] != i + 1) row[n++] = at;
                seen[at] = (int)i + 1;
            }
        assert_true(hps_slots_take(t, n, row, true, &m));
        for (size_t k = 0; k < m.nin; k++) {
            sum.made += !known[m.in_row[k]];
            sum.read += known[m.in_row[k]];
            known[m.in_row[k]] = true;
        }
        sum.written += (double)m.nout;
        sum.asked += (double)n;
        sum.hits += (double)(n - m.nin);
        hps_slots_find(t, n, row, slot[i % 2]);
        hps_slots_release(t, before, slot[(i + 1) % 2]);
        before = n;
    }
    hps_slots_free(t);
    hps_mem_free(row);
    hps_mem_free(seen);
    hps_mem_free(known);
    hps_mem_free(slot[0]);
    hps_mem_free(slot[1]);
    double n = (double)r->steps;
    return (struct hps_tier_rows){ sum.asked / n, sum.hits / n, sum.made / n, sum.read / n,
                                   sum.written / n };
}

/* Is x within a tenth of `is`, and so many rows? */
static void near(const char *what, double x, double is, double rows)
{
    print_message(" %s %.1f (%.1f)", what, x, is);
    if (fabs(x - is) > 0.1 * is + rows)
        fail_msg("%s: %.2f, in truth %.2f, may be off by %.1f more", what, x, is, rows);
}

/* Of so many sampled steps, with 1/2, 1/4, ... of the rows in slots; may be off by that share of
 * the rows of a step more. */
static void compare(long long part, long long steps, long long pass, double exponent, uint64_t key,
                    long long sampled, double off_share)
{
    struct run r = { .part = part, .steps = steps, .pass = pass, .exponent = exponent, .key = key };
    long long base[SLOTS], modulo[SLOTS];

    open_run(&r, base, modulo);
    struct hps_tier_sample x = sample(&r, sampled);
    assert_true(x.rows == (double)(SLOTS * r.part));
    for (int slots = (int)(SLOTS * r.part) / 2; slots > 2 * SLOTS * B; slots /= 2) {
        struct hps_tier_rows is = truth(&r, slots);
        struct hps_tier_rows got = hps_tier_rows(&x, slots, (double)r.steps, (double)r.pass);
        print_message("exponent %.2f, %lld of %lld steps, %d slots:", r.exponent, sampled, r.steps,
                      slots);
        double off = off_share * is.asked;
        near("asked", got.asked, is.asked, off);
        near("hits", got.hits, is.hits, off);
        near("made", got.made, is.made, off);
        near("read", got.read, is.read, off);
        near("written", got.written, is.written, off);
        print_message("\n");
    }
    close_run(&r);
}

static void whole_run(void **state)
{
    (void)state;
    compare(16384, 120, 120, 1.05, 1, 120, 0.01);
    compare(16384, 120, 120, 0.8, 2, 120, 0.01);
    compare(16384, 120, 120, 0, 3, 120, 0.01);
}

static void part_of_run(void **state)
{
    (void)state;
    compare(16384, 400, 400, 1.05, 4, 60, 0.05);
    compare(16384, 400, 400, 0.8, 5, 60, 0.05);
    compare(16384, 400, 400, 0, 6, 60, 0.05);
}

static void later_epochs(void **state)
{
    (void)state;
    compare(16384, 400, 100, 1.05, 7, 100, 0.01);
    compare(16384, 400, 100, 0, 8, 100, 0.01);
}

/* Rows that are not followed are as those that are. */
static void some_rows(void **state)
{
    (void)state;
    compare(1 << 19, 60, 60, 1.05, 9, 30, 0.05);
}

/* ---- sums and ends ---- */

static void ends(void **state)
{
    (void)state;
    long long base[SLOTS], modulo[SLOTS];
    struct run r = { .part = 4096, .steps = 50, .pass = 50, .exponent = 1.05, .key = 10 };
    open_run(&r, base, modulo);
    struct hps_tier_sample x = sample(&r, 50), none = { .rows = 0 };
    struct hps_tier_rows all = hps_tier_rows(&x, x.rows, 50, 50);
    assert_true(all.read == 0 && all.written == 0);
    assert_float_equal(all.hits + all.made, all.asked, 1e-6 * all.asked);
    assert_float_equal(hps_tier_distinct(&x, 50), x.distinct[0], 1e-9 * x.distinct[0]);
    assert_float_equal(hps_tier_distinct(&x, 25), x.distinct[1], 1e-9 * x.distinct[1]);
    assert_float_equal(hps_tier_distinct(&x, 1), x.asked, 0.2 * x.asked);
    assert_true(hps_tier_distinct(&x, 1e9) <= x.rows && hps_tier_distinct(&x, 0) == 0);
    assert_true(hps_tier_rows(&none, 5, 10, 10).asked == 0);
    for (double slots = 1; slots < x.rows; slots *= 1.7) {
        struct hps_tier_rows some = hps_tier_rows(&x, slots, 1000, 50);
        struct hps_tier_rows more = hps_tier_rows(&x, 1.7 * slots, 1000, 50);
        assert_float_equal(some.hits + some.made + some.read, some.asked, 1e-6 * some.asked);
        assert_true(more.hits >= some.hits - 1e-9 && more.read <= some.read + 1e-9);
    }
    close_run(&r);
}

static void division(void **state)
{
    (void)state;
    struct hps_tier_part part[3] = { { 1000, 100, false, 0 }, { 10, 100, false, 0 },
                                     { 3000, 100, false, 0 } };

    assert_true(HPS_TIER_ROW_BYTES == hps_row_store_row_bytes());
    assert_int_equal(HPS_TIER_SLOT_BYTES, hps_row_store_slot_bytes());
    assert_true(HPS_TIER_ROW_BYTES + HPS_TIER_SLOT_BYTES / 4.0 <= 8);
    assert_true(hps_tier_divide(3, part, 1e9));
    for (int i = 0; i < 3; i++)
        assert_true(part[i].all && part[i].slots == part[i].rows);
    assert_true(hps_tier_divide(3, part, 101000));
    assert_true(!part[0].all && part[1].all && !part[2].all);
    double used = 10 * 100;
    for (int i = 0; i < 3; i += 2)
        used += part[i].rows * HPS_TIER_ROW_BYTES + part[i].slots * (100 + HPS_TIER_SLOT_BYTES);
    assert_true(used <= 101000 && used > 100500);
    assert_float_equal(part[2].slots, 3 * part[0].slots, 3);
    assert_false(hps_tier_divide(3, part, 15000));
}

static void costs(void **state)
{
    (void)state;
    struct hps_table_shape shape = { .name = "rows", .rows = 1000000, .dim = 8, .init_std = 0.1 };
    struct hps_net net = { .ntable = 1, .table = &shape };
    struct hps_train_opt train = { .optimizer = "adagrad", .learning_rate = 0.1, .decay = "none",
                                   .epsilon = 1e-8, .initial_accumulator = 0.1, .decay_to = 1 };
    struct hps_storage_opt storage = { .file = "." };
    struct hps_tier_try_opt opt = { &net, 1, &(int){ 0 }, &train, &storage, 2000, false };
    struct hps_tier_cost x;
    struct hps_dev dev;

    assert_int_equal(hps_dev_find("cpu")->open(&dev, 0, 1), HPS_OK);
    assert_int_equal(hps_tier_try(&x, &opt, &dev), HPS_OK);
    print_message("take %.3g make %.3g read %.3g write %.3g s\n", x.take_s, x.make_s, x.read_s,
                  x.write_s);
    assert_true(x.take_s > 0 && x.take_s < 1e-4 && x.make_s > 0 && x.make_s < 1e-4);
    assert_true(x.read_s >= 0 && x.read_s < 1e-3 && x.write_s >= 0 && x.write_s < 1e-3);
    dev.ops->close(&dev);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_run),    cmocka_unit_test(part_of_run),
        cmocka_unit_test(later_epochs), cmocka_unit_test(some_rows),
        cmocka_unit_test(ends),         cmocka_unit_test(division),
        cmocka_unit_test(costs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
