/* t_codec: what is encoded is the nearest number of the encoding, the even one of two, as fp16
 * never infinite unless it was, and NaN if it was; each of the 65536 patterns is decoded to its
 * number, and encoded to itself; no number changes by more than the encoding says. The twins
 * compute with powers of two in double. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "hw/codec.h"

/* Of an encoding in 16 bits: bits of its exponents, digits behind the first. */
struct form {
    const struct hps_codec_ops *codec;
    int exponents, digits;
    bool saturates;
};
static const struct form form[] = { { &hps_codec_bf16, 8, 7, false },
                                    { &hps_codec_fp16, 5, 10, true } };

static float of_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The number of a pattern. */
static double number_of(const struct form *f, uint32_t pattern)
{
    int exponent = (int)(pattern >> f->digits) & ((1 << f->exponents) - 1);
    int bias = (1 << (f->exponents - 1)) - 1;
    double digits = (double)(pattern & ((1u << f->digits) - 1)) / (1 << f->digits);
    double sign = pattern & 0x8000 ? -1 : 1;

    if (exponent == (1 << f->exponents) - 1) return digits > 0 ? NAN : sign * INFINITY;
    if (exponent == 0) return sign * ldexp(digits, 1 - bias);
    return sign * ldexp(1 + digits, exponent - bias);
}

/* The nearest number of the encoding. */
static double nearest(const struct form *f, double x)
{
    int bias = (1 << (f->exponents - 1)) - 1, exponent;
    double max = ldexp(2 - ldexp(1, -f->digits), bias), y;

    if (x == 0 || !isfinite(x)) return x;
    frexp(x, &exponent);
    exponent = exponent < 2 - bias ? 2 - bias : exponent;
    double scaled = ldexp(x, f->digits + 1 - exponent), low = floor(scaled), over = scaled - low;
    bool up = over > 0.5 || (over == 0.5 && fmod(low, 2) != 0);
    y = ldexp(low + up, exponent - f->digits - 1);
    if (fabs(y) <= max) return y;
    return copysign(f->saturates ? max : INFINITY, x);
}

static float coded(const struct form *f, float x)
{
    uint16_t y;

    f->codec->encode(1, 1, &x, &y);
    f->codec->decode(1, 1, &y, &x);
    return x;
}

static void check(const struct form *f, float x)
{
    float got = coded(f, x);
    double due = nearest(f, (double)x), max = f->saturates ? 65504 : 3e38;

    if (isnan(x)) {
        assert_true(isnan(got));
        return;
    }
    assert_true((double)got == due && !signbit(got) == !signbit(x));
    if (!(fabs((double)x) <= max)) return;
    double change = fabs((double)got - (double)x), by_share = f->codec->share * fabs((double)x);
    assert_true(change <= fmax(by_share, f->codec->tiny));
}

static void decodes_every_pattern(void **state)
{
    static uint16_t pattern[65536], again[65536];
    static float x[65536];
    (void)state;

    for (uint32_t i = 0; i < 65536; i++)
        pattern[i] = (uint16_t)i;
    for (size_t k = 0; k < sizeof form / sizeof *form; k++) {
        form[k].codec->decode(1, 65536, pattern, x);
        form[k].codec->encode(64, 1024, x, again);
        for (uint32_t i = 0; i < 65536; i++) {
            double due = number_of(&form[k], i);
            if (isnan(due)) {
                assert_true(isnan(x[i]) && isnan(number_of(&form[k], again[i])));
            } else {
                assert_true((double)x[i] == due && again[i] == i);
            }
        }
    }
}

/* Between two neighbours, and beside the middle of them. */
static void encodes_middles(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof form / sizeof *form; k++)
        for (uint32_t i = 0; i < 0x7fff; i++) {
            float a = (float)number_of(&form[k], i), b = (float)number_of(&form[k], i + 1);
            float mid = (float)(((double)a + (double)b) / 2);
            if (!isfinite(a) || !isfinite(b)) continue;
            check(&form[k], mid);
            check(&form[k], -nextafterf(mid, 0));
            check(&form[k], nextafterf(mid, INFINITY));
        }
}

static void encodes_what_is_drawn(void **state)
{
    static const float special[] = { 0,        -0.0f,     1,          -1,       65504, 65519.996f,
                                     65520,    -65520,    65536,      1e30f,    -1e30f, 3.4e38f,
                                     0x1p-14f, 0x1p-24f,  0x1.8p-24f, 0x1p-25f, 0x1.000002p-25f,
                                     0x1p-26f, -0x1p-126f, 0x1p-149f, INFINITY, -INFINITY, NAN };
    (void)state;

    for (size_t k = 0; k < sizeof form / sizeof *form; k++) {
        for (size_t i = 0; i < sizeof special / sizeof *special; i++)
            check(&form[k], special[i]);
        for (uint64_t i = 0; i < 300000; i++)
            check(&form[k], of_bits((uint32_t)(hps_rng_bits(3, i) >> 16)));
        for (uint64_t i = 0; i < 100000; i++)
            check(&form[k], ldexpf(hps_rng_unit(1, i) - 0.5f, (int)(i % 44) - 26));
    }
}

static void rows_lie_close(void **state)
{
    enum { ROWS = 3, N = 37 };
    float x[ROWS * N], y[ROWS * N];
    uint16_t to[ROWS * N + 1];
    (void)state;

    for (size_t i = 0; i < ROWS * N; i++)
        x[i] = hps_rng_unit(5, i) - 0.5f;
    for (size_t k = 0; k < sizeof form / sizeof *form; k++) {
        const struct hps_codec_ops *c = form[k].codec;
        to[ROWS * N] = 0xabcd;
        c->encode(ROWS, N, x, to);
        assert_true(ROWS * c->bytes(N) == ROWS * N * sizeof *to && to[ROWS * N] == 0xabcd);
        for (size_t r = 0; r < ROWS; r++)
            c->decode(1, N, to + r * N, y + r * N);
        for (size_t i = 0; i < ROWS * N; i++)
            assert_true(y[i] == coded(&form[k], x[i]));
    }
}

static void finds_names(void **state)
{
    (void)state;
    assert_ptr_equal(hps_codec_find("fp32"), &hps_codec_fp32);
    assert_ptr_equal(hps_codec_find("bf16"), &hps_codec_bf16);
    assert_ptr_equal(hps_codec_find("fp16"), &hps_codec_fp16);
    assert_null(hps_codec_find("fp8"));
    assert_true(!hps_codec_converts(&hps_codec_fp32) && hps_codec_converts(&hps_codec_fp16));
    assert_int_equal(hps_codec_fp32.bytes(7), 28);
    assert_int_equal(hps_codec_fp16.bytes(7), 14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_every_pattern), cmocka_unit_test(encodes_middles),
        cmocka_unit_test(encodes_what_is_drawn), cmocka_unit_test(rows_lie_close),
        cmocka_unit_test(finds_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
