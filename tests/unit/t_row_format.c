/* t_row_format: rounding by chance gives one of the two neighbours of a number, in proportion, so
 * that its mean is the number; what a row decodes to is encoded as itself; and operations on
 * encoded rows are those on the decoded ones, rounded, to the last bit, on any number of
 * threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "hw/codec.h"
#include "hw/dev.h"
#include "hw/lookup.h"
#include "hw/row_format.h"
#include "tests/lib/twin.h"

/* ---- single numbers ---- */

/* Of all magnitudes, from far below the least to near the largest number of a kind. */
static float drawn(uint64_t i, int from, int to)
{
    int e = from + (int)hps_rng_below(3, 2 * i, (uint64_t)(to - from));
    float x = ldexpf(1 + hps_rng_unit(3, 2 * i + 1), e);

    return i % 2 ? x : -x;
}

/* Over all chances: two neighbours at most, that are no farther apart than `gap`, and the mean. */
static void check_number(enum hps_number kind, float x, double gap, double tolerance)
{
    double sum = 0, low = INFINITY, high = -INFINITY;
    enum { ALL = 65536 };

    for (uint32_t c = 0; c < ALL; c++) {
        double y = kind == HPS_AS_BF16 ? (double)hps_bf16_to_float(hps_bf16_by_chance(x, c))
                                       : (double)hps_fp16_to_float(hps_fp16_by_chance(x, c));
        sum += y / ALL;
        low = fmin(low, y);
        high = fmax(high, y);
    }
    assert_true(low <= (double)x && (double)x <= high && high - low <= gap);
    assert_true(fabs(sum - (double)x) <= tolerance);
}

static void chance_is_fair(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 200; i++) {
        float x = drawn(i, -120, 120), y = drawn(i, -28, 15);
        check_number(HPS_AS_BF16, x, ldexp(fabs((double)x), -7), 1e-7 * fabs((double)x));
        double gap = fmax(ldexp(fabs((double)y), -10), 0x1p-24);
        check_number(HPS_AS_FP16, y, gap, gap * 0x1p-12);
    }
}

static void what_is_not_finite_stays(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < 65536; c += 257)
        for (int sign = -1; sign <= 1; sign += 2) {
            float s = (float)sign, inf = s * INFINITY;
            assert_true(hps_bf16_to_float(hps_bf16_by_chance(inf, c)) == inf);
            assert_true(hps_fp16_to_float(hps_fp16_by_chance(inf, c)) == inf);
            assert_true(isnan(hps_bf16_to_float(hps_bf16_by_chance(s * NAN, c))));
            assert_true(isnan(hps_fp16_to_float(hps_fp16_by_chance(s * NAN, c))));
            assert_true(isfinite(hps_bf16_to_float(hps_bf16_by_chance(s * 3.4e38f, c))));
            assert_true(hps_fp16_to_float(hps_fp16_by_chance(s * 1e6f, c)) == s * 65504);
            assert_true(hps_bf16_by_chance(0 * s, c) == (sign < 0 ? 0x8000 : 0));
            assert_true(hps_fp16_by_chance(0 * s, c) == (sign < 0 ? 0x8000 : 0));
        }
}

/* ---- rows ---- */

static const enum hps_number kinds[] = { HPS_AS_FP32, HPS_AS_BF16, HPS_AS_FP16, HPS_AS_INT8 };
static const enum hps_number state_kinds[] = { HPS_AS_FP32, HPS_AS_BF16 };

enum { DIMS = 6, ROWS = 300, MAX_WIDTH = 3 * 40 };
static const size_t dims[DIMS] = { 1, 3, 8, 10, 16, 33 };

/* Weights and positive states of ROWS rows. */
static void fill(float *x, size_t dim, size_t nstate, uint64_t key)
{
    for (size_t r = 0, i = 0; r < ROWS; r++)
        for (size_t c = 0; c < dim + nstate; c++, i++) {
            x[i] = 2 * hps_rng_unit(key, i) - 1;
            if (r % 7 == 0) x[i] *= 1e-6f;
            if (r % 11 == 0 && c < dim) x[i] = 0;
            if (c >= dim) x[i] = fabsf(x[i]);
        }
}

static void as_itself_again(void **state)
{
    static float x[ROWS * MAX_WIDTH], y[ROWS * MAX_WIDTH], z[ROWS * MAX_WIDTH];
    uint32_t key[ROWS];

    (void)state;
    for (uint32_t r = 0; r < ROWS; r++)
        key[r] = hps_rng_mix32(r);
    for (size_t i = 0; i < 4 * 2 * DIMS; i++) {
        size_t dim = dims[i / 8], nstate = i % 3 * dim + (i % 3 == 0), n = ROWS * (dim + nstate);
        struct hps_row_format f = hps_row_format_of(kinds[i % 4], state_kinds[i / 4 % 2], dim,
                                                    nstate);
        void *rows = hps_mem_new(ROWS, f.bytes);
        assert_true(f.bytes % 4 == 0 && f.state_at % 4 == 0);
        fill(x, dim, nstate, i);
        for (int by_chance = 0; by_chance < 2; by_chance++) {
            hps_row_encode(&f, ROWS, x, by_chance ? key : NULL, rows);
            hps_row_decode(&f, ROWS, rows, y);
            hps_row_encode(&f, ROWS, y, NULL, rows);
            hps_row_decode(&f, ROWS, rows, z);
            assert_memory_equal(y, z, n * sizeof *y);
            hps_row_encode(&f, ROWS, y, key, rows);
            hps_row_decode(&f, ROWS, rows, z);
            assert_memory_equal(y, z, n * sizeof *y);
        }
        hps_mem_free(rows);
    }
    assert_int_equal(hps_mem_held_bytes(), 0);
}

/* A whole number of scales, no farther than one of them; the mean over keys. */
static void int8_has_a_scale(void **state)
{
    enum { DIM = 16, KEYS = 4000 };
    struct hps_row_format f = hps_row_format_of(HPS_AS_INT8, HPS_AS_FP32, DIM, 0);
    float x[DIM], y[DIM], row[1 + DIM / 4];
    double sum[DIM] = { 0 }, max = 0;

    (void)state;
    for (uint64_t i = 0; i < DIM; i++) {
        x[i] = hps_rng_unit(5, i) - 0.5f;
        max = fmax(max, fabs((double)x[i]));
    }
    for (uint32_t k = 0; k < KEYS; k++) {
        hps_row_encode(&f, 1, x, &k, row);
        hps_row_decode(&f, 1, row, y);
        double scale = (double)row[0];
        assert_true(scale >= max / 127 && scale < 2 * max / 127);
        for (int i = 0; i < DIM; i++) {
            double q = (double)y[i] / scale;
            assert_true(q == rint(q) && fabs((double)(y[i] - x[i])) < scale);
            sum[i] += (double)y[i] / KEYS;
        }
    }
    for (int i = 0; i < DIM; i++)
        assert_true(fabs(sum[i] - (double)x[i]) < 5 * (double)row[0] * 0.5 / sqrt(KEYS));
    x[3] = INFINITY;
    hps_row_encode(&f, 1, x, NULL, row);
    hps_row_decode(&f, 1, row, y);
    assert_true(isnan(y[0]));
}

/* ---- operations ---- */

struct sheet {
    struct hps_row_format f;
    float *x;                   /* (ROWS, width) decoded  */
    unsigned char *rows;        /* encoded                */
    int at[ROWS];               /* half of them, in a strange order */
    uint32_t key[ROWS];
    size_t n;
};

static struct sheet sheet_of(enum hps_number weights, enum hps_number states, size_t dim,
                             size_t nstate)
{
    struct sheet s = { .f = hps_row_format_of(weights, states, dim, nstate), .n = ROWS / 2 };

    s.x = hps_mem_new(ROWS * (dim + nstate), sizeof *s.x);
    s.rows = hps_mem_new(ROWS, s.f.bytes);
    fill(s.x, dim, nstate, dim);
    hps_row_encode(&s.f, ROWS, s.x, NULL, s.rows);
    hps_row_decode(&s.f, ROWS, s.rows, s.x);
    for (size_t i = 0; i < s.n; i++) {
        s.at[i] = (int)hps_rng_permute(5, i, ROWS);
        s.key[i] = hps_rng_mix32((uint32_t)i + 9);
    }
    return s;
}

static void sheet_done(struct sheet *s)
{
    hps_mem_free(s->x);
    hps_mem_free(s->rows);
}

static void check_gather(struct hps_dev *dev, struct sheet *s)
{
    size_t dim = s->f.dim, width = dim + s->f.nstate;
    float *out = hps_mem_new(s->n * dim, sizeof *out);
    struct hps_encoded_rows rows = { &s->f, s->rows, s->n, s->at, NULL };

    dev->ops->rows->gather_encoded(dev, rows, out);
    dev->ops->sync(dev);
    for (size_t i = 0; i < s->n; i++)
        assert_memory_equal(out + i * dim, s->x + (size_t)s->at[i] * width, dim * sizeof *out);
    hps_mem_free(out);
}

/* The fp32 rows are updated and then rounded. */
static void check_apply(struct hps_dev *dev, struct sheet *s, const struct hps_rule *rule)
{
    size_t dim = s->f.dim, width = dim + s->f.nstate;
    float *g = hps_mem_new(s->n * dim, sizeof *g), *got = hps_mem_new(ROWS * width, sizeof *got);
    struct hps_row_sums grad = { .row = g };
    struct hps_encoded_rows rows = { &s->f, s->rows, s->n, s->at, s->key };

    twin_fill_f(1, s->n * dim, g);
    dev->ops->rows->apply(dev, rule, s->x, (struct hps_row_list){ width, (int)dim, s->n, s->at },
                          &grad);
    dev->ops->rows->apply_encoded(dev, rule, rows, &grad);
    dev->ops->sync(dev);
    for (size_t i = 0; i < s->n; i++) {
        float *row = s->x + (size_t)s->at[i] * width;
        hps_row_encode(&s->f, 1, row, &s->key[i], got);
        hps_row_decode(&s->f, 1, got, row);
    }
    hps_row_decode(&s->f, ROWS, s->rows, got);
    assert_memory_equal(got, s->x, ROWS * width * sizeof *got);
    hps_mem_free(g);
    hps_mem_free(got);
}

/* Bags of the same rows, encoded and decoded. */
static void check_pool(struct hps_dev *dev, const struct sheet *s, bool mean, bool cold)
{
    enum { B = 70, NSLOT = 2, BAGS = B * NSLOT, HOT = 3 };
    size_t dim = s->f.dim, width = NSLOT * dim;
    float *y = hps_mem_new(2 * B * width, sizeof *y);
    int offset[BAGS + 1] = { 0 }, row[BAGS * 4];
    int place[HOT] = { 2, 0, 1 }, hot_row[HOT] = { 7, ROWS - 1, 0 }, begin[BAGS + 1] = { 0 };
    const int start[HOT + 1] = { 0 };
    int number[BAGS];           /* every other bag has a hot row */

    for (int b = 0; b < BAGS; b++)
        offset[b + 1] = offset[b] + b % 5;
    for (int b = 0; b < BAGS; b++) {
        number[begin[b]] = b % HOT;
        begin[b + 1] = begin[b] + b % 2;
    }
    for (int i = 0; i < offset[BAGS]; i++)
        row[i] = (int)(hps_rng_bits(8, (uint64_t)i) % ROWS);
    for (int encoded = 0; encoded < 2; encoded++) {
        struct hps_lookup l = { .nslot = NSLOT, .B = B, .nid = (size_t)offset[BAGS],
                                .offset = offset, .form = HPS_ROWS_IN_TABLE,
                                .of.in_table = { row, cold },
                                .by_row = { .n = HOT, .row = place, .start = start },
                                .hot = { HOT, number, begin } };
        l.rows = encoded ? (struct hps_rows){ .encoded = s->rows, .format = &s->f }
                         : (struct hps_rows){ .table = s->x, .stride = dim + s->f.nstate };
        l.rows.at = hot_row;
        dev->ops->rows->bag_forward(dev, &l, (int)dim, mean ? HPS_POOL_MEAN : HPS_POOL_SUM,
                                    HPS_COMBINE_CONCAT,
                                    hps_tensor_of(y + encoded * B * width, (int)width));
        dev->ops->sync(dev);
    }
    assert_memory_equal(y, y + B * width, B * width * sizeof *y);
    hps_mem_free(y);
}

static void as_on_decoded_rows(void **state)
{
    const struct hps_rule rule[] = {
        { .kind = HPS_RULE_SGD, .lr = 0.1f, .scale = 1, .step = 1 },
        { .kind = HPS_RULE_ADAGRAD, .nstate = 1, .lr = 0.1f, .eps = 1e-6f, .scale = 1, .step = 1 },
        { .kind = HPS_RULE_ROW_ADAGRAD, .nrow = 1, .lr = 0.1f, .eps = 1e-6f, .scale = 1,
          .step = 1 },
        { .kind = HPS_RULE_ADAM, .nstate = 2, .beta1 = 0.9, .beta2 = 0.999, .lr = 0.1f,
          .eps = 1e-6f, .scale = 1, .step = 2 },
    };

    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        struct hps_dev dev;
        assert_int_equal(hps_dev_cpu.open(&dev, 0, threads), HPS_OK);
        for (size_t i = 0; i < 4 * 4 * 2 * DIMS; i++) {
            const struct hps_rule *r = &rule[i % 4];
            size_t dim = dims[i / 32];
            struct sheet s = sheet_of(kinds[i / 4 % 4], state_kinds[i / 16 % 2], dim,
                                      hps_rule_stride(r, (int)dim) - dim);
            check_gather(&dev, &s);
            check_apply(&dev, &s, r);
            if (s.f.weights != HPS_AS_FP32) check_pool(&dev, &s, i % 2, i / 2 % 2);
            sheet_done(&s);
        }
        hps_dev_cpu.close(&dev);
    }
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chance_is_fair),
        cmocka_unit_test(what_is_not_finite_stays),
        cmocka_unit_test(as_itself_again),
        cmocka_unit_test(int8_has_a_scale),
        cmocka_unit_test(as_on_decoded_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
