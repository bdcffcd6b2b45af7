/* t_gemm: every library multiplies as three loops do, stored either way, added or not; the one
 * that is taken is the first that this processor can use. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "hw/gemm.h"

static float *filled(size_t n, uint64_t key)
{
    float *x = hps_mem_new(n, sizeof *x);

    for (size_t i = 0; i < n; i++)
        x[i] = (float)hps_rng_unit(key, i) - 0.5f;
    return x;
}

static void check(const struct hps_gemm_lib *lib, bool ta, bool tb, size_t m, size_t n, size_t k,
                  float beta)
{
    size_t lda = (ta ? m : k) + 3, ldb = (tb ? k : n) + 1, ldc = n + 2;
    float *a = filled((ta ? k : m) * lda, 1), *b = filled((tb ? n : k) * ldb, 2);
    float *c = filled(m * ldc, 3), *before = filled(m * ldc, 3);

    if (beta == 0)
        c[0] = NAN;             /* nothing of what was there comes through */
    lib->run(&(struct hps_gemm){ ta, tb, m, n, k, a, lda, b, ldb, beta, c, ldc });
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = beta == 0 ? 0 : (double)beta * before[i * ldc + j];
            for (size_t l = 0; l < k; l++)
                sum += (double)(ta ? a[l * lda + i] : a[i * lda + l]) *
                       (double)(tb ? b[j * ldb + l] : b[l * ldb + j]);
            assert_true(fabs(sum - c[i * ldc + j]) <= 1e-5 * (1 + (double)k / 10));
        }
        for (size_t j = n; j < ldc; j++)
            assert_true(c[i * ldc + j] == before[i * ldc + j]);
    }
    hps_mem_free(before);
    hps_mem_free(c);
    hps_mem_free(b);
    hps_mem_free(a);
}

static void all_multiply_alike(void **state)
{
    static const size_t size[][3] = { { 1, 1, 1 }, { 5, 7, 3 }, { 64, 48, 33 }, { 130, 17, 260 } };
    (void)state;

    for (const struct hps_gemm_lib *const *lib = hps_gemm_libs; *lib; lib++)
        for (int i = 0; (*lib)->usable() && i < 4; i++)
            for (int way = 0; way < 8; way++)
                check(*lib, way & 1, way & 2, size[i][0], size[i][1], size[i][2],
                      way & 4 ? 1 : 0);
}

static void first_usable_one(void **state)
{
    const struct hps_gemm_lib *const *lib = hps_gemm_libs;
    (void)state;

    while (*lib && *lib != hps_gemm_lib()) {
        assert_false((*lib)->usable());
        lib++;
    }
    assert_non_null(*lib);
    assert_true((*lib)->usable() && (*lib)->cache_floats > 0);
    while (lib[1])
        lib++;
    assert_true((*lib)->usable());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_multiply_alike),
        cmocka_unit_test(first_usable_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
