/* t_dev_norm: what a batch norm and its meetings ask of a device - moments, the columns of forward
 * and backward, blends, factors, parts that are added up - equals its plain double twin, on ragged
 * and strided shapes, down to no row at all, for any number of threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "tests/lib/dev_case.h"
#include "hw/op_batch_norm.h"

static void moments_once(struct hps_dev *dev, int B, int width, double *sums)
{
    struct matrix x = matrix(B, width, 3), z = matrix(B, width, 1);

    dev->ops->layers->batch_norm->moments(dev, B, tensor(&x), tensor(&z), sums);
    dev->ops->sync(dev);
    for (int c = 0; c < width; c++) {
        double first = 0, second = 0;
        for (int b = 0; b < B; b++) {
            first += x.d[b * width + c];
            second += x.d[b * width + c] * z.d[b * width + c];
        }
        assert_true(fabs(sums[c] - first) <= 1e-12 * (B + 1));
        assert_true(fabs(sums[width + c] - second) <= 1e-12 * (B + 1));
    }
    matrix_done(&x);
    matrix_done(&z);
}

static const int widths[] = { 1, 2, 7, 33, 300 };
enum { WIDTHS = sizeof widths / sizeof *widths, MAX_N = 300 };

static void moments(void **state)
{
    static const int rows[] = { 0, 1, 2, 7, 130, 1100 };
    static double sums[2 * MAX_N];
    (void)state;

    for (size_t b = 0; b < sizeof rows / sizeof *rows; b++)
        for (int w = 0; w < WIDTHS; w++) {
            memset(sums, 0x7f, sizeof sums);
            EACH_DEV(moments_once, rows[b], widths[w], sums);
        }
}

/* A norm of `rows` rows, its sums, and what its stats were before. */
struct columns {
    struct hps_batch_norm norm;
    struct matrix gain, stats, running, p, r, q, dgain, dshift;
    double sums[2 * MAX_N], want[2 * MAX_N];
};

static void columns_new(struct columns *k, int rows, int width)
{
    struct matrix *one[] = { &k->gain, &k->p, &k->r, &k->q, &k->dgain, &k->dshift };
    double n = rows;

    for (size_t i = 0; i < sizeof one / sizeof *one; i++)
        *one[i] = matrix(1, width, 2);
    k->stats = matrix(2, width, 0);
    k->running = matrix(2, width, 0);
    for (int c = 0; c < width; c++) {
        double mean = k->stats.d[c], var = c == 1 ? -1e-3 : fabs(k->stats.d[width + c]);
        k->stats.f[width + c] = (float)fabs(k->stats.d[width + c]);
        k->stats.d[width + c] = (double)k->stats.f[width + c];
        k->sums[c] = n * mean;
        k->sums[width + c] = n * (var + mean * mean);   /* below 0 by rounding: none at all */
    }
    memcpy(k->want, k->sums, sizeof k->want);
    k->norm = (struct hps_batch_norm){ rows, width, 1e-2, 0.25, k->gain.f, k->stats.f };
}

static void columns_done(struct columns *k)
{
    struct matrix *all[] = { &k->gain, &k->stats, &k->running, &k->p, &k->r, &k->q, &k->dgain,
                             &k->dshift };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        matrix_done(all[i]);
}

static double rate_of(const struct columns *k, int c)
{
    return 1 / sqrt(k->stats.d[k->norm.width + c] + k->norm.epsilon);
}

static void forward_once(struct hps_dev *dev, int rows, int width, bool measure)
{
    struct columns k;
    double n = rows, sample = rows > 1 ? n / (n - 1) : 1;

    columns_new(&k, rows, width);
    for (int c = 0; c < width && measure; c++) {
        double mean = k.sums[c] / n, var = fmax(k.sums[width + c] / n - mean * mean, 0);
        k.stats.d[c] = mean;
        k.stats.d[width + c] = var;
        if (rows < 2) continue;
        k.running.d[c] = 0.75 * k.running.d[c] + 0.25 * mean;
        k.running.d[width + c] = 0.75 * k.running.d[width + c] + 0.25 * var * sample;
    }
    for (int c = 0; c < width; c++)
        k.p.d[c] = k.gain.d[c] * rate_of(&k, c);
    dev->ops->layers->batch_norm->forward(dev, &k.norm, measure ? k.sums : NULL, k.running.f,
                                          k.p.f);
    dev->ops->sync(dev);
    matrix_check(&k.stats, k.stats.d);
    matrix_check(&k.running, k.running.d);
    matrix_check(&k.p, k.p.d);
    assert_memory_equal(k.sums, k.want, sizeof k.sums);
    columns_done(&k);
}

static void forward(void **state)
{
    static const int rows[] = { 1, 2, 3, 1000 };
    (void)state;

    for (int i = 0; i < 4; i++)
        for (int w = 0; w < WIDTHS; w++)
            EACH_DEV(forward_once, rows[i], widths[w], (i + w) % 3 > 0);
}

static void backward_once(struct hps_dev *dev, int rows, int width)
{
    struct columns k;
    double n = rows;

    columns_new(&k, rows, width);
    dev->ops->layers->batch_norm->gradients(dev, &k.norm, k.sums, k.dgain.f, k.dshift.f);
    dev->ops->sync(dev);
    for (int c = 0; c < width; c++) {
        double rate = rate_of(&k, c), by = k.gain.d[c] * rate, *s = k.want;
        s[width + c] = rate * (s[width + c] - k.stats.d[c] * s[c]);
        assert_true(k.sums[c] == s[c]);
        assert_true(fabs(k.sums[width + c] - s[width + c]) <= 1e-12 * (n + 1));
        k.dgain.d[c] += s[width + c];
        k.dshift.d[c] += s[c];
        k.q.d[c] = by;
        k.p.d[c] = -by * rate * s[width + c] / n;
        k.r.d[c] = -by * s[c] / n;
    }
    dev->ops->layers->batch_norm->backward(dev, &k.norm, k.sums, k.p.f, k.r.f, k.q.f);
    dev->ops->sync(dev);
    struct matrix *made[] = { &k.dgain, &k.dshift, &k.p, &k.r, &k.q, &k.stats };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        matrix_check(made[i], made[i]->d);
    columns_done(&k);
}

static void backward(void **state)
{
    (void)state;
    for (int w = 0; w < WIDTHS; w++)
        EACH_DEV(backward_once, 3 + 40 * w, widths[w]);
}

static void blend_once(struct hps_dev *dev, int B, int width, bool both, bool add)
{
    struct matrix x = matrix(B, width, 3), z = matrix(B, width, 1), y = matrix(B, width, 2);
    struct matrix k = matrix(4, width, 0);
    const double *p = k.d, *m = p + width, *r = m + width, *q = r + width;
    const float *f = k.f;
    struct hps_tensor none = { 0 };

    for (int i = 0; i < B * width; i++) {
        int c = i % width;
        y.d[i] = (add ? y.d[i] : 0) + p[c] * (x.d[i] - m[c]) + r[c] + (both ? q[c] * z.d[i] : 0);
    }
    struct hps_blend of = { f, f + width, f + 2 * width, both ? f + 3 * width : NULL, tensor(&x),
                            both ? tensor(&z) : none };
    dev->ops->layers->batch_norm->blend(dev, B, &of, adding(&y, add));
    dev->ops->sync(dev);
    matrix_check(&y, y.d);
    for (int i = 0; i < B * width; i++)
        y.d[i] = -3 * x.d[i];
    dev->ops->dense->scale(dev, B, -3, tensor(&x), tensor(&y));
    dev->ops->sync(dev);
    matrix_check(&y, y.d);
    struct matrix *all[] = { &x, &z, &y, &k };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        matrix_done(all[i]);
}

static void blend(void **state)
{
    static const int rows[] = { 0, 1, 19, 600 };
    (void)state;

    for (int i = 0; i < 4; i++)
        for (int w = 0; w < WIDTHS; w++)
            EACH_DEV(blend_once, rows[i], widths[w], w % 2 == 1, (i + w) % 3 == 0);
}

/* In the order of the parts: the bits of a plain loop. */
static void reduce_once(struct hps_dev *dev, int k, int n)
{
    size_t all = (size_t)k * (size_t)n + 1;
    float *x = hps_mem_new(all, sizeof *x), *to = hps_mem_new((size_t)n + 1, sizeof *to);
    double *xs = hps_mem_new(all, sizeof *xs), *tos = hps_mem_new((size_t)n + 1, sizeof *tos);

    twin_fill_f((uint64_t)(k + n), all, x);
    twin_fill((uint64_t)(k + n + 1), all, xs);
    to[n] = 5;
    tos[n] = 5;
    dev->ops->dense->reduce(dev, k, (size_t)n, x, to);
    dev->ops->dense->reduce_doubles(dev, k, (size_t)n, xs, tos);
    dev->ops->sync(dev);
    for (int i = 0; i < n; i++) {
        float sum = x[i];
        double wide = xs[i];
        for (int r = 1; r < k; r++) {
            sum += x[r * n + i];
            wide += xs[r * n + i];
        }
        assert_memory_equal(&sum, &to[i], sizeof sum);
        assert_memory_equal(&wide, &tos[i], sizeof wide);
    }
    assert_true(to[n] == 5 && tos[n] == 5);
    hps_mem_free(x);
    hps_mem_free(to);
    hps_mem_free(xs);
    hps_mem_free(tos);
}

static void reduce(void **state)
{
    static const int n[] = { 0, 1, 2, 31, 1000, 70001 };
    (void)state;

    for (int k = 1; k < 6; k++)
        for (int i = 0; i < 6; i++)
            EACH_DEV(reduce_once, k, n[i]);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments), cmocka_unit_test(forward), cmocka_unit_test(backward),
        cmocka_unit_test(blend), cmocka_unit_test(reduce),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
