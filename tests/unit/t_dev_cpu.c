/* t_dev_cpu: each dense operation of the CPU backend equals its slow double twin, on ragged and
 * strided shapes, down to no row at all, for any number of threads; the same call gives the same
 * bits. Bags, tables and rules: t_dev_rows. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/clock.h"
#include "tests/lib/dev_case.h"
#include "hw/cpu/cpu_impl.h"
#include "hw/op_dropout.h"
#include "hw/op_loss.h"
#include "hw/stopwatch.h"

static void fc_once(struct hps_dev *dev, enum hps_act act, int B, int in, int out, bool add)
{
    struct matrix x = matrix(B, in, 3), w = matrix(in, out, 0), b = matrix(1, out, 0);
    struct matrix y = matrix(B, out, 2), pre = matrix(B, out, 0), dy = matrix(B, out, 5);
    struct matrix dx = matrix(B, in, 1), dw = matrix(in, out, 0), db = matrix(1, out, 0);
    struct hps_fc fc = { act, B, tensor(&x), w.f, b.f, tensor(&y), pre.f };
    struct hps_tensor none = { 0 };

    for (int i = 0; i < in * out; i++)          /* keeps the sums of order 1, as layers do */
        w.d[i] = (double)(w.f[i] /= sqrtf((float)in));
    dev->ops->dense->fc_forward(dev, &fc);
    dev->ops->sync(dev);
    twin_fc(act, B, in, out, x.d, w.d, b.d, pre.d, y.d);
    matrix_check(&y, y.d);
    if (act == HPS_ACT_GELU)
        matrix_check(&pre, pre.d);

    if (!add)
        memset(dx.d, 0, (size_t)B * (size_t)in * sizeof *dx.d);
    twin_fc_back(act, B, in, out, x.d, w.d, pre.d, dy.d, dx.d, dw.d, db.d);
    dev->ops->dense->fc_backward(dev, &fc, tensor(&dy), B == 7 && !add ? none : adding(&dx, add),
                                 dw.f, db.f);
    dev->ops->sync(dev);
    if (B != 7 || add)
        matrix_check(&dx, dx.d);
    matrix_check(&dw, dw.d);
    matrix_check(&db, db.d);
    for (int i = 0; i < B * out; i++)
        dy.d[i] *= twin_act_slope(act, pre.d[i]);
    matrix_check(&dy, dy.d);
    struct matrix *all[] = { &x, &w, &b, &y, &pre, &dy, &dx, &dw, &db };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        matrix_done(all[i]);
}

/* relu's slope jumps at 0, where rounding decides; uniform numbers do not come that near. */
static void fc(void **state)
{
    static const int rows[] = { 0, 1, 7, 33, 130 }, ins[] = { 1, 5, 40, 273 };
    static const int outs[] = { 1, 2, 17, 64 };
    (void)state;

    for (int act = HPS_ACT_NONE; act <= HPS_ACT_GELU; act++)
        for (int b = 0; b < 5; b++)
            for (int i = 0; i < 4; i++)
                EACH_DEV(fc_once, (enum hps_act)act, rows[b], ins[i], outs[(b + i + act) % 4],
                         i % 2 == 1);
    EACH_DEV(fc_once, HPS_ACT_RELU, 600, 37, 21, false);        /* enough to turn w for */
    EACH_DEV(fc_once, HPS_ACT_TANH, 603, 16, 40, true);
}

/* One row of B logits through an activation with weight 1, over all magnitudes. */
/* Three layers one behind the other, the last one of width 1, and nobody waits in between: the
 * activation of one may be done by the layer behind it. `more`: something else is added to what the
 * second layer gives to the first, which then has to do its own. */
static void tower_once(struct hps_dev *dev, enum hps_act act, int B, const int *width, bool more)
{
    struct matrix x[4], dx[4], w[3], b[3], pre[3], dw[3], db[3], extra = matrix(B, width[1], 2);
    struct hps_fc fc[3];

    for (int l = 0; l < 4; l++) {
        x[l] = matrix(B, width[l], 3 - l);
        dx[l] = matrix(B, width[l], l);
    }
    for (int l = 0; l < 3; l++) {
        int in = width[l], out = width[l + 1];
        w[l] = matrix(in, out, 0), b[l] = matrix(1, out, 0), pre[l] = matrix(B, out, 0);
        dw[l] = matrix(in, out, 0), db[l] = matrix(1, out, 0);
        for (int i = 0; i < in * out; i++)
            w[l].d[i] = (double)(w[l].f[i] /= sqrtf((float)in));
        fc[l] = (struct hps_fc){ l < 2 ? act : HPS_ACT_NONE, B, tensor(&x[l]), w[l].f, b[l].f,
                                 tensor(&x[l + 1]), pre[l].f };
        dev->ops->dense->fc_forward(dev, &fc[l]);
        twin_fc(l < 2 ? act : HPS_ACT_NONE, B, in, out, x[l].d, w[l].d, b[l].d, pre[l].d,
                x[l + 1].d);
    }
    for (int l = 2; l >= 0; l--) {
        int in = width[l], out = width[l + 1];
        if (l != 1)                                 /* the second one adds to what is there */
            memset(dx[l].d, 0, (size_t)B * (size_t)in * sizeof *dx[l].d);
        twin_fc_back(l < 2 ? act : HPS_ACT_NONE, B, in, out, x[l].d, w[l].d, pre[l].d,
                     dx[l + 1].d, dx[l].d, dw[l].d, db[l].d);
        dev->ops->dense->fc_backward(dev, &fc[l], tensor(&dx[l + 1]), adding(&dx[l], l == 1),
                                     dw[l].f, db[l].f);
        if (l == 1 && more)
            dev->ops->dense->copy(dev, B, tensor(&extra), adding(&dx[1], true));
        for (int i = 0; l == 1 && more && i < B * in; i++)
            dx[1].d[i] += extra.d[i];
    }
    dev->ops->sync(dev);
    matrix_check(&dx[0], dx[0].d);
    for (int l = 0; l < 3; l++) {
        matrix_check(&dw[l], dw[l].d);
        matrix_check(&db[l], db[l].d);
        struct matrix *all[] = { &w[l], &b[l], &pre[l], &dw[l], &db[l] };
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            matrix_done(all[i]);
    }
    for (int l = 0; l < 4; l++) {
        matrix_done(&x[l]);
        matrix_done(&dx[l]);
    }
    matrix_done(&extra);
}

/* What is kept for operations finds its size in the first round, where it makes them wait. */
static void tower_twice(struct hps_dev *dev, enum hps_act act, int B, const int *width, bool more)
{
    tower_once(dev, act, B, width, more);
    tower_once(dev, act, B, width, more);
}

/* Also where the two layers cut their rows into unlike parts: a wide one into more. */
static void tower(void **state)
{
    static const int width[][4] = { { 5, 17, 64, 1 }, { 20, 16, 400, 1 }, { 40, 400, 24, 1 } };
    static const int rows[] = { 0, 1, 33, 700 };
    (void)state;

    for (int act = HPS_ACT_NONE; act <= HPS_ACT_GELU; act++)
        for (int k = 0; k < 12; k++)
            EACH_DEV(tower_twice, (enum hps_act)act, rows[k % 4], width[k / 4], (k + act) % 3 == 0);
}

/* y (n) = act(x) */
static void act_alone(struct hps_dev *dev, enum hps_act act, int n, const float *x, float *y)
{
    static float pre[4000];
    const float one = 1, zero = 0;
    struct hps_fc fc = { act, n, hps_tensor_of(x, 1), &one, &zero, hps_tensor_of(y, 1), pre };
    dev->ops->dense->fc_forward(dev, &fc);
    dev->ops->sync(dev);
}

static void activations(void **state)
{
    struct hps_dev dev = open_dev(1);
    float x[4000], y[4000];
    (void)state;

    for (int i = 0; i < 4000; i++)
        x[i] = (i % 2 ? -1.0f : 1.0f) * powf(10, (float)i / 4000 * 8 - 6);
    for (int act = HPS_ACT_NONE; act <= HPS_ACT_GELU; act++) {
        act_alone(&dev, (enum hps_act)act, 4000, x, y);
        for (int i = 0; i < 4000; i++) {
            double want = twin_act((enum hps_act)act, (double)x[i]);
            double scale = act == HPS_ACT_GELU ? fabs((double)x[i]) : fabs(want) + 1e-30;
            assert_true(fabs((double)y[i] - want) <= 1e-6 * scale);
        }
    }
    x[0] = NAN;
    for (int act = HPS_ACT_NONE; act <= HPS_ACT_GELU; act++) {
        act_alone(&dev, (enum hps_act)act, 20, x, y);
        assert_true(isnan(y[0]) && !isnan(y[1]));
    }
    dev.ops->close(&dev);
}

/* On a card the deck may let operands be rounded: a product of ones and a bit that is lost. */
static void precision(void **state)
{
    static const char *const words[] = { "fp32", "tf32", "bf16" };
    static const float bit[] = { 0x1p-20f, 0x1p-12f, 0x1p-9f };     /* two are lost to tf32 */
    float zero[2] = { 0 };
    (void)state;

    for (int p = 0; p < 3; p++)
        for (int k = 0; k < 3; k++) {
            struct hps_dev dev = open_dev(1);
            float x[2] = { 1 + bit[k], 1 }, w[4] = { 1, 0, 0, 1 }, y[2];
            dev.precision = hps_dev_precision(words[p]);
            struct hps_fc fc = { .B = 1, .x = hps_tensor_of(x, 2), .w = w, .b = zero,
                                 .y = hps_tensor_of(y, 2) };
            dev.ops->dense->fc_forward(&dev, &fc);
            dev.ops->sync(&dev);
            assert_true(y[1] == 1 && (y[0] == 1) == (!dev.host && p > 0 && k <= p));
            dev.ops->close(&dev);
        }
}

static void copy_once(struct hps_dev *dev, int B, int width, bool add)
{
    struct matrix x = matrix(B, width, 3), y = matrix(B, width, 1);

    dev->ops->dense->copy(dev, B, tensor(&x), adding(&y, add));
    dev->ops->sync(dev);
    for (int i = 0; i < B * width; i++)
        y.d[i] = x.d[i] + (add ? y.d[i] : 0);
    matrix_check(&y, y.d);
    matrix_done(&x);
    matrix_done(&y);
}

static void copy(void **state)
{
    (void)state;
    for (int B = 0; B < 40; B += 13)
        EACH_DEV(copy_once, B, 37, B % 2 == 1);
}

static void dropout_once(struct hps_dev *dev, int B, int width, float p)
{
    struct matrix x = matrix(B, width, 2), y = matrix(B, width, 4);
    double *want = hps_mem_new((size_t)B * (size_t)width + 1, sizeof *want);
    long long *example = hps_mem_new((size_t)B + 1, sizeof *example);

    for (int b = 0; b < B; b++)
        example[b] = 1000000007LL * b % 977;
    twin_dropout(B, width, (double)p, 42, example, x.d, want);
    dev->ops->layers->dropout->run(dev, B, p, 42, example, tensor(&x), tensor(&y));
    dev->ops->sync(dev);
    matrix_check(&y, want);
    dev->ops->layers->dropout->run(dev, B, p, 42, example, tensor(&x), adding(&y, true));
    dev->ops->sync(dev);
    int kept = 0;
    for (int i = 0; i < B * width; i++) {
        kept += want[i] != 0;
        want[i] *= 2;
    }
    matrix_check(&y, want);
    if (B * width > 1000)
        assert_true(fabs((double)kept / (B * width) - 1 + (double)p) < 0.05);
    hps_mem_free(want);
    hps_mem_free(example);
    matrix_done(&x);
    matrix_done(&y);
}

static void dropout(void **state)
{
    (void)state;
    EACH_DEV(dropout_once, 0, 5, 0.5f);
    EACH_DEV(dropout_once, 1, 5, 0.0f);
    EACH_DEV(dropout_once, 64, 50, 0.3f);
}

static void logistic_once(struct hps_dev *dev, int B, bool add)
{
    struct matrix x = matrix(B, 1, 2), dx = matrix(B, 1, 1), label = matrix(1, B, 0);
    struct matrix score = matrix(1, B, 0);
    double sum = 10, want;

    for (int b = 0; b < B; b++) {
        x.f[(size_t)b * x.ld] *= b % 3 == 0 ? 300.0f : 4.0f;
        label.f[b] = b % 4 == 0 ? 0.25f : (float)(b % 2);
        label.d[b] = (double)label.f[b];
    }
    twin_widen(B, 1, x.f, x.ld, x.d);
    double *slope = hps_mem_new((size_t)B + 1, sizeof *slope);
    want = 10 + twin_logistic(B, x.d, label.d, 0.5, score.d, slope);
    for (int b = 0; b < B; b++)
        dx.d[b] = slope[b] + (add ? dx.d[b] : 0);
    struct hps_loss loss = { B, tensor(&x), label.f, 0.5f, score.f, &sum, adding(&dx, add) };
    dev->ops->layers->loss->logistic(dev, &loss);
    dev->ops->sync(dev);
    assert_true(fabs(sum - want) <= 1e-12 * fabs(want));
    matrix_check(&score, score.d);
    matrix_check(&dx, dx.d);
    hps_mem_free(slope);
    struct matrix *all[] = { &x, &dx, &label, &score };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        matrix_done(all[i]);
}

static void logistic(void **state)
{
    (void)state;
    EACH_DEV(logistic_once, 0, false);
    EACH_DEV(logistic_once, 1, true);
    EACH_DEV(logistic_once, 1000, false);
}

/* Far out the loss is |x| or e^-|x|, to the last digits; a NaN is not lost on the way. */
static void logistic_edges(void **state)
{
    struct hps_dev dev = open_dev(1);
    struct hps_tensor no = { 0 };
    float xs[] = { 1000, -1000, 1000, -1000, 90, 0 }, labels[] = { 1, 0, 0, 1, 1, 1 };
    double wants[] = { 0, 0, 1000, 1000, exp(-90), log(2) };
    (void)state;

    for (int i = 0; i < 6; i++) {
        double sum = 0;
        struct hps_loss loss = { 1, hps_tensor_of(&xs[i], 1), &labels[i], 1, NULL, &sum, no };
        dev.ops->layers->loss->logistic(&dev, &loss);
        dev.ops->sync(&dev);
        assert_true(fabs(sum - wants[i]) <= 1e-6 * wants[i]);
    }
    double sum = 0;
    float nan = NAN, score;
    struct hps_loss loss = { 1, hps_tensor_of(&nan, 1), labels, 1, &score, &sum, no };
    dev.ops->layers->loss->logistic(&dev, &loss);
    dev.ops->sync(&dev);
    assert_true(isnan(sum) && isnan(score));
    dev.ops->close(&dev);
}

static void norm_once(struct hps_dev *dev, int n)
{
    struct matrix x = matrix(1, n, 0);
    double want = 0, got = -1;

    for (int i = 0; i < n; i++)
        want += x.d[i] * x.d[i];
    dev->ops->dense->norm2(dev, (size_t)n, x.f, &got);
    assert_true(fabs(got - want) <= 1e-12 * want);
    matrix_done(&x);
}

static void norm(void **state)
{
    (void)state;
    EACH_DEV(norm_once, 0);
    EACH_DEV(norm_once, 1);
    EACH_DEV(norm_once, 100003);
}

/* A layer large enough to wake the threads. */
static void same_bits(void **state)
{
    struct hps_dev dev = open_dev(2);
    int B = 512, in = 100, out = 60;
    struct matrix x = matrix(B, in, 0), w = matrix(in, out, 0), b = matrix(1, out, 0);
    struct matrix y[2] = { matrix(B, out, 0), matrix(B, out, 0) };
    struct matrix dx[2] = { matrix(B, in, 0), matrix(B, in, 0) };
    struct matrix dw[2] = { matrix(in + 1, out, 0), matrix(in + 1, out, 0) };
    (void)state;

    memcpy(dw[1].f, dw[0].f, (size_t)(in + 1) * (size_t)out * sizeof(float));
    for (int i = 0; i < 2; i++) {
        struct matrix dy = matrix(B, out, 0);
        twin_fill_f(1, (size_t)B * (size_t)out, dy.f);
        struct hps_fc fc = { HPS_ACT_TANH, B, tensor(&x), w.f, b.f, tensor(&y[i]), NULL };
        dev.ops->dense->fc_forward(&dev, &fc);
        dev.ops->dense->fc_backward(&dev, &fc, tensor(&dy), tensor(&dx[i]), dw[i].f,
                                    dw[i].f + in * out);
        dev.ops->sync(&dev);
        matrix_done(&dy);
    }
    assert_memory_equal(y[0].f, y[1].f, (size_t)B * (size_t)out * sizeof(float));
    assert_memory_equal(dx[0].f, dx[1].f, (size_t)B * (size_t)in * sizeof(float));
    assert_memory_equal(dw[0].f, dw[1].f, (size_t)(in + 1) * (size_t)out * sizeof(float));
    struct matrix *all[] = { &x, &w, &b, y, y + 1, dx, dx + 1, dw, dw + 1 };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        matrix_done(all[i]);
    dev.ops->close(&dev);
}

static void memory(void **state)
{
    struct hps_dev dev = open_dev(1);
    int from[3] = { 1, 2, 3 }, to[3] = { 0 };
    (void)state;

    int *p = dev.ops->alloc(&dev, sizeof from);
    assert_int_equal(p[0] | p[1] | p[2], 0);
    dev.ops->copy_to_device(&dev, p, from, sizeof from);
    dev.ops->sync(&dev);
    dev.ops->copy_to_host(&dev, to, p, sizeof to);
    assert_memory_equal(from, to, sizeof to);
    dev.ops->zero(&dev, p, sizeof from);
    dev.ops->sync(&dev);
    assert_int_equal(p[0] | p[1] | p[2], 0);
    dev.ops->free(&dev, p);
    dev.ops->free(&dev, NULL);
    assert_true(dev.ops->dense->gemm_s(&dev, 64, 48, 32, 3) > 0);
    dev.ops->close(&dev);
    assert_null(hps_dev_find("abacus"));
}

/* What one stream made another one reads behind it, the host behind an event; in any order else. */
static void streams_once(struct hps_dev *dev, int round)
{
    enum { N = 100 };
    const struct hps_dev_ops *ops = dev->ops;
    float *from = ops->pin(dev, N * sizeof *from), *to = ops->pin(dev, N * sizeof *to);
    float *x = ops->alloc(dev, N * sizeof *x), *y = ops->alloc(dev, N * sizeof *y);
    struct hps_event *start = ops->event_new(dev), *end = ops->event_new(dev);

    assert_true(ops->event_done(dev, end));
    for (int i = 0; i < N; i++) {
        assert_true(from[i] == 0 && to[i] == 0);
        from[i] = (float)(i + round);
    }
    ops->event_record(dev, start, HPS_STREAM_FEED);
    ops->copy_to_device_async(dev, HPS_STREAM_FEED, x, from, N * sizeof *x);
    ops->stream_wait(dev, HPS_STREAM_COMPUTE, HPS_STREAM_FEED);
    ops->dense->copy(dev, 1, hps_tensor_of(x, N), hps_tensor_of(y, N));
    ops->event_record(dev, end, HPS_STREAM_COMPUTE);
    ops->stream_wait_event(dev, HPS_STREAM_SEND, end);
    ops->copy_to_host_async(dev, HPS_STREAM_SEND, to, y, N * sizeof *to);
    ops->event_record(dev, end, HPS_STREAM_SEND);
    ops->event_wait(dev, end);
    assert_memory_equal(from, to, N * sizeof *to);
    assert_true(ops->event_done(dev, start) && ops->event_done(dev, end));
    assert_true(ops->event_elapsed_s(dev, start, end) >= 0);
    ops->event_free(dev, start);
    ops->event_free(dev, end);
    ops->event_free(dev, NULL);
    ops->free(dev, x);
    ops->free(dev, y);
    ops->unpin(dev, from);
    ops->unpin(dev, to);
    ops->unpin(dev, NULL);
}

static void stopwatch_once(struct hps_dev *dev, int rows)
{
    enum { WIDTH = 700 };
    size_t n = (size_t)rows * WIDTH;
    float *x = dev->ops->alloc(dev, n * sizeof *x), *y = dev->ops->alloc(dev, n * sizeof *y);
    struct hps_tensor to = { y, WIDTH, WIDTH, true };
    struct hps_stopwatch watch;

    hps_stopwatch_init(&watch, dev, hps_now_s);
    for (int i = 0; i < 3; i++) {
        double began_s = hps_now_s();
        hps_stopwatch_begin(&watch);
        dev->ops->dense->copy(dev, rows, hps_tensor_of(x, WIDTH), to);
        double took_s = hps_stopwatch_end(&watch);
        assert_true(took_s > 0 && took_s < 1.001 * (hps_now_s() - began_s));
    }
    hps_stopwatch_done(&watch);
    dev->ops->free(dev, x);
    dev->ops->free(dev, y);
}

/* What is waited for takes some time, and no more than went by. */
static void stopwatch(void **state)
{
    (void)state;
    EACH_DEV(stopwatch_once, 300);
}

static void streams(void **state)
{
    (void)state;
    for (int round = 0; round < 40; round++)
        EACH_DEV(streams_once, round);
}

static void multiply(const void *job, int t, int n)
{
    float *product = *(float *const *)job;
    volatile float tiny = 1e-20f;
    (void)n;
    product[t] = tiny * tiny;
}

/* On every thread: a product of 1e-40 would be such a remainder. */
static void no_remainders_next_to_zero(void **state)
{
    struct hps_dev dev = open_dev(2);
    float product[2] = { 1, 1 }, *p = product;
    (void)state;

    if (dev.host) hps_cpu_parallel_for(&dev, 1e9, multiply, &p);      /* a CPU's own trouble */
#if defined(__SSE__) || defined(__aarch64__)
    assert_true(!dev.host || product[0] == 0);
    assert_true(!dev.host || dev.nthread == 1 || product[1] == 0);
#endif
    dev.ops->close(&dev);
}

static void nothing_held(void **state)
{
    (void)state;
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fc), cmocka_unit_test(tower), cmocka_unit_test(activations),
        cmocka_unit_test(precision), cmocka_unit_test(copy), cmocka_unit_test(dropout),
        cmocka_unit_test(logistic), cmocka_unit_test(logistic_edges), cmocka_unit_test(norm),
        cmocka_unit_test(same_bits), cmocka_unit_test(memory), cmocka_unit_test(streams),
        cmocka_unit_test(stopwatch), cmocka_unit_test(no_remainders_next_to_zero),
        cmocka_unit_test(nothing_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
