/* dev_case.c - see dev_case.h. */
#include "dev_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "hw/bf16.h"

/* Sums of a few hundred products of order 1 lose about sqrt(n) * 6e-8 of the largest; one part in
 * 1e5 leaves room for the longest here and is what the layers are promised. A sum whose terms
 * cancel to less than 1 is held against 1. */
#define CLOSE 1e-5
#define GUARD 12345.0f

struct matrix matrix(int B, int width, int gap)
{
    static uint64_t salt;
    struct matrix m = { B, width, (size_t)width + (size_t)gap, NULL, NULL };
    size_t n = (size_t)B * m.ld;

    m.f = hps_mem_new(n + 1, sizeof *m.f);
    m.d = hps_mem_new((size_t)B * (size_t)width + 1, sizeof *m.d);
    twin_fill_f(++salt, n, m.f);
    for (size_t i = 0; i < n; i++)
        if (i % m.ld >= (size_t)width)
            m.f[i] = GUARD;
    twin_widen(B, width, m.f, m.ld, m.d);
    return m;
}

void matrix_done(struct matrix *m)
{
    hps_mem_free(m->f);
    hps_mem_free(m->d);
}

struct hps_tensor tensor(const struct matrix *m)
{
    return hps_tensor_view(m->f, m->ld, m->width);
}

struct hps_tensor adding(const struct matrix *m, bool add)
{
    return (struct hps_tensor){ .data = m->f, .ld = m->ld, .width = m->width, .add = add };
}

/* m's floats are the doubles `want`, and its gaps are whole. */
void matrix_check(const struct matrix *m, const double *want)
{
    size_t n = (size_t)m->B * (size_t)m->width;
    double *got = hps_mem_new(2 * n + 2, sizeof *got), *ones = got + n + 1;

    twin_widen(m->B, m->width, m->f, m->ld, got);
    memcpy(ones, want, n * sizeof *want);
    got[n] = ones[n] = 1;
    assert_true(twin_error(n + 1, got, ones) < CLOSE);
    for (size_t i = 0; i < (size_t)m->B * m->ld; i++)
        if (i % m->ld >= (size_t)m->width)
            assert_true(m->f[i] == GUARD);
    hps_mem_free(got);
}

struct hps_dev open_dev(int nthread)
{
    struct hps_dev dev = { 0 };

    assert_int_equal(HPS_TEST_DEV.open(&dev, 0, nthread), HPS_OK);
    assert_true(dev.slow >= 1);
    return dev;
}

static void rounded_once(struct hps_dev *dev, const struct matrix *y,
                         void (*write)(struct hps_dev *dev, struct hps_tensor to, const void *arg),
                         const void *arg)
{
    enum { GAP = 3, GUARD_BITS = 0x7777 };
    size_t width = (size_t)y->width, ld = width + GAP, n = (size_t)y->B * ld;
    uint16_t *to = hps_mem_new(n + 1, sizeof *to), want;

    for (size_t i = 0; i < n; i++)
        to[i] = GUARD_BITS;
    write(dev, (struct hps_tensor){ .rounded = to, .ld = ld, .width = y->width }, arg);
    dev->ops->sync(dev);
    for (size_t i = 0; i < n; i++) {
        want = GUARD_BITS;
        if (i % ld < width) hps_bf16_round(1, 1, y->f + i / ld * y->ld + i % ld, 1, &want, 1);
        if (to[i] != want)
            fail_msg("row %zu, column %zu: %#x, not %#x", i / ld, i % ld, to[i], want);
    }
    hps_mem_free(to);
}

void rounded_check(struct hps_dev *dev, const struct matrix *y,
                   void (*write)(struct hps_dev *dev, struct hps_tensor to, const void *arg),
                   const void *arg)
{
    const struct hps_dense_ops *dense = dev->ops->dense;
    enum hps_precision before = dev->precision;

    dev->precision = HPS_BF16;
    for (int native = 0; native <= dev->has_bf16; native++) {
        dev->emulate_bf16 = !native;
        if (dense->keeps_rounded && dense->keeps_rounded(dev)) rounded_once(dev, y, write, arg);
    }
    dev->emulate_bf16 = false;
    dev->precision = before;
}
