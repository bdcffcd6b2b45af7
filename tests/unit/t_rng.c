/* t_rng: a number depends on (seed, stream, index) alone, so any split draws the same ones; streams
 * differ; a permutation takes each index once; uniform and normal have their moments. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"

/* The reference: these numbers are in every checkpoint's law, so they may never change. The first
 * three are SplitMix64's published outputs for seed 1234567. */
static void test_known(void **state)
{
    (void)state;
    assert_true(hps_rng_bits(1234567, 0) == 6457827717110365317u);
    assert_true(hps_rng_bits(1234567, 1) == 3203168211198807973u);
    assert_true(hps_rng_bits(1234567, 2) == 9817491932198370423u);
}

static void test_split(void **state)
{
    enum { N = 10000 };
    uint64_t key = hps_rng_key(7, "layer h1"), sum = 0, parts = 0;

    (void)state;
    for (uint64_t i = 0; i < N; i++)
        sum += hps_rng_bits(key, i) * (i + 1);
    for (uint64_t ranks = 2; ranks <= 5; ranks++) {
        parts = 0;
        for (uint64_t r = ranks; r-- > 0;)          /* last part first: no hidden state */
            for (uint64_t i = N * r / ranks; i < N * (r + 1) / ranks; i++)
                parts += hps_rng_bits(hps_rng_key(7, "layer h1"), i) * (i + 1);
        assert_true(parts == sum);
    }
}

static void test_streams(void **state)
{
    static const char *const name[] = { "", "a", "b", "ab", "ba", "aa", "layer h1", "layer h2" };
    uint64_t key[64];
    int n = 0;

    (void)state;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        for (uint64_t seed = 0; seed < 4; seed++)
            key[n++] = hps_rng_key(seed, name[i]);
    for (uint64_t i = 0; i < 16; i++)
        key[n++] = hps_rng_sub(hps_rng_key(0, "a"), i);
    for (uint64_t i = 0; i < 16; i++)
        key[n++] = hps_rng_bits(hps_rng_key(0, "a"), i);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            assert_true(key[i] != key[j]);
    /* neighbours have nothing in common: about half of all bits differ, over all pairs */
    double differ = 0;
    for (int i = 1; i < n; i++)
        differ += __builtin_popcountll(key[i] ^ key[i - 1]);
    assert_true(fabs(differ / (n - 1) - 32) < 4 * 4 / sqrt(n - 1));
}

static void moments(const double *x, int n, double mean, double var, double fourth)
{
    double m = 0, v = 0, f = 0, c = 0;

    for (int i = 0; i < n; i++)
        m += x[i] / n;
    for (int i = 0; i < n; i++) {
        double d = x[i] - m;
        v += d * d / n;
        f += d * d * d * d / n;
        if (i)
            c += d * (x[i - 1] - m) / n;
    }
    double off = 5 / sqrt(n);                       /* five standard errors */
    assert_true(fabs(m - mean) < off * sqrt(var));
    assert_true(fabs(v - var) < off * sqrt(fourth - var * var));
    assert_true(fabs(f - fourth) < off * 10 * fourth);
    assert_true(fabs(c) < off * var);               /* neighbours do not correlate */
}

static void test_moments(void **state)
{
    enum { N = 200000 };
    double *unit = hps_mem_new(N, sizeof *unit), *real = hps_mem_new(N, sizeof *real),
           *normal = hps_mem_new(N, sizeof *normal);
    int beyond = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        uint64_t key = hps_rng_key(seed, "moments");
        for (int i = 0; i < N; i++) {
            unit[i] = hps_rng_unit(key, (uint64_t)i);
            real[i] = hps_rng_real(key, (uint64_t)i);
            normal[i] = hps_rng_normal(key, (uint64_t)i);
            assert_true(unit[i] >= 0 && unit[i] < 1 && real[i] >= 0 && real[i] < 1);
            assert_true(fabs(unit[i] - real[i]) <= 0x1p-24);
            beyond += fabs(normal[i]) > 3;
        }
        moments(unit, N, 0.5, 1.0 / 12, 1.0 / 80);
        moments(real, N, 0.5, 1.0 / 12, 1.0 / 80);
        moments(normal, N, 0, 1, 3);
    }
    assert_true(fabs(beyond / (3.0 * N) - 0.0027) < 5 * sqrt(0.0027 / (3.0 * N)));
    hps_mem_free(unit);
    hps_mem_free(real);
    hps_mem_free(normal);
}

static void test_bijection(void **state)
{
    static const uint64_t size[] = { 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 63, 64, 65, 100, 255, 256,
                                     257, 1000, 1023, 1024, 1025, 4097, 65537 };
    char *seen = hps_mem_new(65537, 1);
    uint64_t *span = hps_mem_new(65537, sizeof *span);

    (void)state;
    for (size_t s = 0; s < sizeof size / sizeof *size; s++)
        for (uint64_t key = 0; key < 5; key++) {
            uint64_t first = size[s] * key / 7, n = size[s] - first;    /* several at once, too */
            memset(seen, 0, 65537);
            hps_rng_permute_span(hps_rng_key(key, "p"), first, n, size[s], span);
            for (uint64_t i = 0; i < size[s]; i++) {
                uint64_t at = hps_rng_permute(hps_rng_key(key, "p"), i, size[s]);
                assert_true(at < size[s]);
                assert_true(i < first || span[i - first] == at);
                assert_false(seen[at]);
                seen[at] = 1;
            }
        }
    hps_mem_free(span);
    hps_mem_free(seen);
    for (uint64_t i = 0; i < 1000; i++)             /* the largest range stays in range */
        assert_true(hps_rng_permute(5, i << 51, ((uint64_t)1 << 62) - 1) < ((uint64_t)1 << 62) - 1);
}

/* Over many keys every index lands everywhere equally often, and pairs as well. */
static void test_fair(void **state)
{
    enum { KEYS = 20000 };
    static const uint64_t size[] = { 2, 3, 5, 6, 10 };

    (void)state;
    for (size_t s = 0; s < sizeof size / sizeof *size; s++) {
        uint64_t n = size[s];
        int at[10][10] = { { 0 } }, pair[10][10] = { { 0 } };
        for (uint64_t k = 0; k < KEYS; k++) {
            uint64_t key = hps_rng_sub(99, k), first = hps_rng_permute(key, 0, n);
            for (uint64_t i = 0; i < n; i++)
                at[i][hps_rng_permute(key, i, n)]++;
            pair[first][hps_rng_permute(key, 1, n)]++;
        }
        for (uint64_t i = 0; i < n; i++)
            for (uint64_t j = 0; j < n; j++) {
                double p = 1.0 / (double)n, q = i == j ? 0 : p / (double)(n - 1);
                assert_true(fabs(at[i][j] - KEYS * p) < 5 * sqrt(KEYS * p));
                assert_true(fabs(pair[i][j] - KEYS * q) <= 5 * sqrt(KEYS * q));
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),   cmocka_unit_test(test_split),
        cmocka_unit_test(test_streams), cmocka_unit_test(test_moments),
        cmocka_unit_test(test_bijection), cmocka_unit_test(test_fair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
