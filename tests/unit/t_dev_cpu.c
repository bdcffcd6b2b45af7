/* t_dev_cpu: each dense operation of the CPU backend equals its slow double twin, on ragged and
 * strided shapes, down to no row at all, for any number of threads; the same call gives the same
 * bits. Fully connected layers: t_dev_fc. Bags, tables and rules: t_dev_rows. */
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

/* One row of B logits through an activation with weight 1, over all magnitudes. */
/* y (n) = act(x) */
static void act_alone(struct hps_dev *dev, enum hps_act act, int n, const float *x, float *y)
{
    static float pre[4000];
    const float one = 1, zero = 0;
    struct hps_fc fc = { .act = act, .B = n, .x = hps_tensor_of(x, 1), .w = &one, .b = &zero,
                         .y = hps_tensor_of(y, 1), .pre = pre };
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

static void copy_to(struct hps_dev *dev, struct hps_tensor y, const void *arg)
{
    const struct matrix *x = arg;

    dev->ops->dense->copy(dev, x->B, tensor(x), y);
}

/* By way of a tensor in bf16. */
static void copy_twice(struct hps_dev *dev, struct hps_tensor y, const void *arg)
{
    static uint16_t between[40 * 40];
    const struct matrix *x = arg;
    struct hps_tensor to = { .rounded = between, .ld = 39, .width = x->width };

    copy_to(dev, to, arg);
    dev->ops->dense->copy(dev, x->B, to, y);
}

static void copy_once(struct hps_dev *dev, int B, int width, bool add)
{
    struct matrix x = matrix(B, width, 3), y = matrix(B, width, 1);

    rounded_check(dev, &x, copy_to, &x);
    rounded_check(dev, &x, copy_twice, &x);
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
        struct hps_fc fc = { .act = HPS_ACT_TANH, .B = B, .x = tensor(&x), .w = w.f, .b = b.f,
                             .y = tensor(&y[i]) };
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
    struct hps_tensor to = { .data = y, .ld = WIDTH, .width = WIDTH, .add = true };
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

    if (dev.host) hps_cpu_parallel_for(&dev, 1e9, multiply, &p);      /* of a CPU alone */
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
        cmocka_unit_test(activations), cmocka_unit_test(copy), cmocka_unit_test(dropout),
        cmocka_unit_test(logistic), cmocka_unit_test(logistic_edges), cmocka_unit_test(norm),
        cmocka_unit_test(same_bits), cmocka_unit_test(memory), cmocka_unit_test(streams),
        cmocka_unit_test(stopwatch), cmocka_unit_test(no_remainders_next_to_zero),
        cmocka_unit_test(nothing_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
