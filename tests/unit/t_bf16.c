/* t_bf16: rounding to bf16 takes the nearest number of 8 bits, the even one of two; every library
 * multiplies rounded operands as three loops in double do, packed or not, stored either way, added
 * or not; native and emulated products agree. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "hw/bf16.h"

static float *filled(size_t n, uint64_t key)
{
    float *x = hps_mem_new(n, sizeof *x);

    for (size_t i = 0; i < n; i++)
        x[i] = (float)hps_rng_unit(key, i) - 0.5f;
    return x;
}

/* Of the two numbers of 8 bits around x the nearer one, or the one with an even last bit. */
static float nearest(float x)
{
    int exponent;
    double mantissa = frexp(x, &exponent) * 256, low = floor(mantissa), over = mantissa - low;
    bool up = over > 0.5 || (over == 0.5 && fmod(low, 2) != 0);

    return (float)ldexp(low + up, exponent - 8);
}

static void rounds_to_nearest(void **state)
{
    static const float ties[] = { 1.00390625f, 1.01171875f, -1.00390625f, 257, 258, 259, 511 };
    (void)state;

    for (size_t i = 0; i < sizeof ties / sizeof *ties; i++)
        assert_true(hps_bf16_rounded(ties[i]) == nearest(ties[i]));
    for (uint64_t i = 0; i < 100000; i++) {
        float x = ldexpf((float)hps_rng_unit(1, i) - 0.5f, (int)(i % 200) - 100);
        assert_true(hps_bf16_rounded(x) == nearest(x));
    }
    assert_true(hps_bf16_rounded(0) == 0);
    assert_true(hps_bf16_rounded(INFINITY) == INFINITY);
    assert_true(hps_bf16_rounded(3.4e38f) == INFINITY);
    assert_true(isnan(hps_bf16_rounded(NAN)));
}

struct shape {
    size_t m, n, k;
};

/* What c (m, ldc) is to be when it was `before`: a and b are stored as in `p`, in fp32. */
static void check(const struct hps_bf16_product *p, const float *a, const float *b, bool tb,
                  const float *before)
{
    for (size_t i = 0; i < p->m; i++) {
        for (size_t j = 0; j < p->n; j++) {
            double sum = p->beta == 0 ? 0 : (double)before[i * p->ldc + j];
            for (size_t l = 0; l < p->k; l++)
                sum += (double)hps_bf16_rounded(p->ta ? a[l * p->m + i] : a[i * p->k + l]) *
                       (double)hps_bf16_rounded(tb ? b[j * p->k + l] : b[l * p->n + j]);
            assert_true(fabs(sum - p->c[i * p->ldc + j]) <= 1e-5 * (1 + (double)p->k / 10));
        }
        for (size_t j = p->n; j < p->ldc; j++)
            assert_true(p->c[i * p->ldc + j] == before[i * p->ldc + j]);
    }
}

static void product(const struct hps_bf16_lib *lib, struct shape s, bool ta, bool packed, bool tb,
                    float beta)
{
    size_t ldc = s.n + 3, na = s.m * s.k, nb = s.k * s.n;
    float *a = filled(na, 1), *b = filled(nb, 2), *c = filled(s.m * ldc, 3);
    float *before = filled(s.m * ldc, 3);
    uint16_t *ra = hps_mem_new(na, sizeof *ra);
    void *rb = hps_mem_new(1, packed ? lib->packed_bytes(s.k, s.n) : nb * sizeof *ra);
    struct hps_bf16_product p = { ta, s.m, s.n, s.k, ra, ta ? s.m : s.k, rb, packed ? 0 : s.n,
                                  beta, c, ldc };

    if (beta == 0) c[0] = NAN;          /* nothing of what was there comes through */
    lib->round(ta ? s.k : s.m, p.lda, a, p.lda, ra, p.lda);
    if (packed)
        lib->pack(s.k, s.n, tb, b, rb);
    else
        lib->round(s.k, s.n, b, s.n, rb, s.n);
    for (int i = 0; i < 2; i++) {       /* made, and kept */
        memcpy(c, before, s.m * ldc * sizeof *c);
        lib->run(&p);
    }
    check(&p, a, b, tb, before);
    hps_mem_free(rb);
    hps_mem_free(ra);
    hps_mem_free(before);
    hps_mem_free(c);
    hps_mem_free(b);
    hps_mem_free(a);
}

static void all_products(const struct hps_bf16_lib *lib)
{
    static const struct shape shape[] = {
        { 1, 16, 16 }, { 5, 17, 19 }, { 64, 48, 33 }, { 130, 400, 273 }, { 400, 33, 260 }
    };

    assert_true(lib->cache_numbers > 0);
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
        for (int beta = 0; beta < 2; beta++) {
            product(lib, shape[i], false, true, false, (float)beta);
            product(lib, shape[i], false, true, true, (float)beta);
            product(lib, shape[i], false, false, false, (float)beta);
            product(lib, shape[i], true, false, false, (float)beta);
        }
}

static void emulated_products(void **state)
{
    (void)state;
    assert_true(hps_bf16_emulated.usable());
    all_products(&hps_bf16_emulated);
}

static void native_products(void **state)
{
    (void)state;
    if (!hps_bf16_native()) {
        printf("no bf16 on this processor: only emulated products are tested\n");
        return;
    }
    all_products(hps_bf16_native());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_to_nearest),
        cmocka_unit_test(emulated_products),
        cmocka_unit_test(native_products),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
