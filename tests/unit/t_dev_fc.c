/* t_dev_fc: fully connected layers of a device, alone and one behind the other, equal their slow
 * double twins on ragged and strided shapes, down to no row at all, for any number of threads, at
 * each precision. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "hw/bf16.h"
#include "tests/lib/dev_case.h"

/* Numbers that bf16 has, so that no operand is rounded. */
static void make_bf16(struct matrix *m)
{
    for (int r = 0; r < m->B; r++)
        for (int c = 0; c < m->width; c++) {
            float *x = m->f + (size_t)r * m->ld + c;
            m->d[r * m->width + c] = (double)(*x = hps_bf16_rounded(*x));
        }
}

static void *packed_for(struct hps_dev *dev, enum hps_precision precision, const struct matrix *w)
{
    const struct hps_dense_ops *dense = dev->ops->dense;
    size_t bytes = dense->fc_packed_bytes
                       ? dense->fc_packed_bytes(dev, precision, w->B, w->width) : 0;
    void *packed = dev->ops->alloc(dev, bytes);

    if (bytes > 0) dense->fc_pack(dev, precision, w->B, w->width, w->f, packed);
    return packed;
}

static void fc_once(struct hps_dev *dev, enum hps_act act, int B, int in, int out, bool add,
                    enum hps_precision precision)
{
    struct matrix x = matrix(B, in, 3), w = matrix(in, out, 0), b = matrix(1, out, 0);
    struct matrix y = matrix(B, out, 2), pre = matrix(B, out, 0), dy = matrix(B, out, 5);
    struct matrix dx = matrix(B, in, 1), dw = matrix(in, out, 0), db = matrix(1, out, 0);
    struct hps_fc fc = { .act = act, .precision = precision, .B = B, .x = tensor(&x), .w = w.f,
                         .b = b.f, .y = tensor(&y), .pre = pre.f };
    struct hps_tensor none = { 0 };

    for (int i = 0; i < in * out; i++)          /* keeps the sums of order 1, as layers do */
        w.d[i] = (double)(w.f[i] /= sqrtf((float)in));
    if (precision == HPS_BF16) make_bf16(&x), make_bf16(&w), make_bf16(&dy);
    void *packed = packed_for(dev, precision, &w);
    fc.packed = packed;
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
    dev->ops->free(dev, packed);
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
                         i % 2 == 1, HPS_FP32);
    EACH_DEV(fc_once, HPS_ACT_RELU, 600, 37, 21, false, HPS_FP32);      /* enough to turn w for */
    EACH_DEV(fc_once, HPS_ACT_TANH, 603, 16, 40, true, HPS_FP32);
}

static void fc_emulated(struct hps_dev *dev, enum hps_act act, int B, int in, int out, bool add)
{
    dev->emulate_bf16 = dev->host;
    if (dev->host || dev->has_bf16) fc_once(dev, act, B, in, out, add, HPS_BF16);
}

static void fc_native(struct hps_dev *dev, enum hps_act act, int B, int in, int out, bool add)
{
    if (dev->has_bf16) fc_once(dev, act, B, in, out, add, HPS_BF16);
}

/* Of operands that bf16 has, products in bf16 are those of fp32. */
static void fc_bf16(void **state)
{
    static const int rows[] = { 0, 1, 7, 33, 700 }, ins[] = { 16, 40, 273 };
    static const int outs[] = { 16, 17, 64, 400 };
    (void)state;

    for (int act = HPS_ACT_NONE; act <= HPS_ACT_RELU; act++)
        for (int b = 0; b < 5; b++)
            for (int i = 0; i < 3; i++) {
                int out = outs[(b + i + act) % 4];
                EACH_DEV(fc_emulated, (enum hps_act)act, rows[b], ins[i], out, i % 2 == 1);
                EACH_DEV(fc_native, (enum hps_act)act, rows[b], ins[i], out, i % 2 == 1);
            }
}

/* One layer forward and backward, with x and y in fp32, or both in bf16; what it makes is in
 * `to`: y as bf16 makes it, dx, dw and db. */
struct made {
    float y[200 * 48], dx[200 * 32], dw[32 * 48], db[48];
};

static void kept_once(struct hps_dev *dev, enum hps_act act, bool kept, struct made *to)
{
    enum { B = 200, IN = 32, OUT = 48, LDX = IN + 3, LDY = OUT + 5 };
    static float x[B * IN], w[IN * OUT], b[OUT], dy[B * OUT];
    static uint16_t x16[B * LDX], y16[B * LDY];
    struct hps_fc fc = { .act = act, .precision = HPS_BF16, .B = B, .x = hps_tensor_of(x, IN),
                         .w = w, .b = b, .y = hps_tensor_of(to->y, OUT) };
    struct matrix wm = { IN, OUT, OUT, w, NULL };

    *to = (struct made){ 0 };
    twin_fill_f(1, B * IN, x);
    twin_fill_f(2, IN * OUT, w);
    twin_fill_f(3, OUT, b);
    twin_fill_f(4, B * OUT, dy);
    void *packed = packed_for(dev, HPS_BF16, &wm);
    fc.packed = packed;
    if (kept) {
        hps_bf16_round(B, IN, x, IN, x16, LDX);
        fc.x = (struct hps_tensor){ .rounded = x16, .ld = LDX, .width = IN };
        fc.y = (struct hps_tensor){ .rounded = y16, .ld = LDY, .width = OUT };
    }
    dev->ops->dense->fc_forward(dev, &fc);
    dev->ops->dense->fc_backward(dev, &fc, hps_tensor_of(dy, OUT), hps_tensor_of(to->dx, IN),
                                 to->dw, to->db);
    dev->ops->sync(dev);
    for (int i = 0; i < B * OUT; i++) {
        uint32_t bits = (uint32_t)y16[i / OUT * LDY + i % OUT] << 16;
        if (kept)
            memcpy(&to->y[i], &bits, sizeof bits);
        else
            to->y[i] = hps_bf16_rounded(to->y[i]);
    }
    dev->ops->free(dev, packed);
}

static void kept_alike(struct hps_dev *dev, enum hps_act act, bool emulated)
{
    static struct made plain, kept;

    if (!dev->ops->dense->keeps_rounded) return;
    dev->precision = HPS_BF16;
    dev->emulate_bf16 = emulated;
    if (!dev->ops->dense->keeps_rounded(dev)) return;
    kept_once(dev, act, false, &plain);
    kept_once(dev, act, true, &kept);
    assert_memory_equal(&plain, &kept, sizeof plain);
}

/* Inputs and outputs in bf16 change no bit. */
static void kept_rounded(void **state)
{
    (void)state;
    for (int emulated = 0; emulated < 2; emulated++) {
        EACH_DEV(kept_alike, HPS_ACT_NONE, emulated);
        EACH_DEV(kept_alike, HPS_ACT_RELU, emulated);
    }
}

/* Layers of unlike widths one behind the other in bf16, which threads are in at the same time: the
 * gradients have the same bits each time. */
static void many_once(struct hps_dev *dev, float *made, size_t nmade)
{
    enum { B = 1500, LAYERS = 4 };
    static const int width[LAYERS + 1] = { 273, 64, 400, 16, 200 };
    float *x[LAYERS + 1], *dx[LAYERS + 1], *w[LAYERS], b[400] = { 0 };
    void *packed[LAYERS];
    struct hps_fc fc[LAYERS];
    size_t at = 0;

    for (int l = 0; l <= LAYERS; l++) {
        size_t n = (size_t)B * (size_t)width[l];
        x[l] = hps_mem_new(n, sizeof **x);
        dx[l] = hps_mem_new(n, sizeof **dx);
        twin_fill_f(1, n, l == 0 ? x[0] : dx[l]);
    }
    for (int l = 0; l < LAYERS; l++) {
        struct matrix m = { width[l], width[l + 1], (size_t)width[l + 1], NULL, NULL };
        size_t n = (size_t)m.B * (size_t)m.width;
        w[l] = m.f = hps_mem_new(n, sizeof **w);
        twin_fill_f(2, n, w[l]);
        packed[l] = packed_for(dev, HPS_BF16, &m);
        fc[l] = (struct hps_fc){ .act = HPS_ACT_RELU, .precision = HPS_BF16, .B = B,
                                 .x = hps_tensor_of(x[l], width[l]), .w = w[l], .b = b,
                                 .y = hps_tensor_of(x[l + 1], width[l + 1]), .packed = packed[l] };
        dev->ops->dense->fc_forward(dev, &fc[l]);
    }
    for (int l = LAYERS - 1; l >= 0; l--) {
        size_t n = (size_t)width[l] * (size_t)width[l + 1];
        assert_true(at + n + 400 <= nmade);
        dev->ops->dense->fc_backward(dev, &fc[l], hps_tensor_of(dx[l + 1], width[l + 1]),
                                     hps_tensor_of(dx[l], width[l]), made + at, made + at + n);
        at += n + 400;
    }
    dev->ops->sync(dev);
    for (int l = 0; l <= LAYERS; l++) {
        hps_mem_free(x[l]);
        hps_mem_free(dx[l]);
    }
    for (int l = 0; l < LAYERS; l++) {
        hps_mem_free(w[l]);
        dev->ops->free(dev, packed[l]);
    }
}

static void many_times(struct hps_dev *dev, int times)
{
    enum { N = 100000 };
    static float first[N], next[N];

    if (!dev->host) return;
    dev->emulate_bf16 = !dev->has_bf16;
    memset(first, 0, sizeof first);
    many_once(dev, first, N);
    for (int i = 0; i < times; i++) {
        memset(next, 0, sizeof next);
        many_once(dev, next, N);
        assert_memory_equal(first, next, sizeof first);
    }
}

static void many_layers(void **state)
{
    (void)state;
    EACH_DEV(many_times, 12);
}

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
        fc[l] = (struct hps_fc){ .act = l < 2 ? act : HPS_ACT_NONE, .B = B, .x = tensor(&x[l]),
                                 .w = w[l].f, .b = b[l].f, .y = tensor(&x[l + 1]),
                                 .pre = pre[l].f };
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

/* Large products have the precision of the device, small ones are fp32 instead of bf16. */
static void product_precision(void **state)
{
    struct hps_dev dev = { .precision = HPS_BF16 };
    (void)state;

    assert_true(hps_dev_product(&dev, 16, 16) == HPS_BF16);
    assert_true(hps_dev_product(&dev, 15, 400) == HPS_FP32);
    assert_true(hps_dev_product(&dev, 400, 1) == HPS_FP32);
    dev.precision = HPS_TF32;
    assert_true(hps_dev_product(&dev, 1, 1) == HPS_TF32);
}

/* Operands may be rounded: a product of ones and a bit that is lost. A CPU takes tf32 as fp32. */
static void precision(void **state)
{
    enum { N = 16 };
    static const float bit[] = { 0x1p-20f, 0x1p-12f, 0x1p-9f };     /* two are lost to tf32 */
    float x[N], w[N * N] = { 0 }, y[N], zero[N] = { 0 };
    (void)state;

    for (int i = 0; i < N; i++)
        w[i * N + i] = 1;
    for (enum hps_precision p = HPS_FP32; p <= HPS_BF16; p++)
        for (int k = 0; k < 3; k++) {
            struct hps_dev dev = open_dev(1);
            dev.emulate_bf16 = dev.host && !dev.has_bf16;
            const struct hps_dense_ops *dense = dev.ops->dense;
            size_t bytes = dense->fc_packed_bytes ? dense->fc_packed_bytes(&dev, p, N, N) : 0;
            void *packed = hps_mem_new(bytes, 1);
            if (bytes > 0) dense->fc_pack(&dev, p, N, N, w, packed);
            for (int i = 0; i < N; i++)
                x[i] = i == 0 ? 1 + bit[k] : 1;
            struct hps_fc fc = { .B = 1, .precision = p, .x = hps_tensor_of(x, N), .w = w,
                                 .b = zero, .y = hps_tensor_of(y, N), .packed = packed };
            dense->fc_forward(&dev, &fc);
            dev.ops->sync(&dev);
            bool rounds = p == HPS_BF16 || (p == HPS_TF32 && !dev.host);
            assert_true(y[1] == 1 && (y[0] == 1) == (rounds && k <= (int)p));
            dev.ops->close(&dev);
            hps_mem_free(packed);
        }
}

static void nothing_held(void **state)
{
    (void)state;
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fc), cmocka_unit_test(tower), cmocka_unit_test(fc_bf16),
        cmocka_unit_test(kept_rounded), cmocka_unit_test(many_layers), cmocka_unit_test(precision),
        cmocka_unit_test(product_precision),
        cmocka_unit_test(nothing_held),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
