/* t_topk: of any numbers exactly those go that a slow twin chooses, which sorts all of them by
 * magnitude, then by index; they arrive as they were, and 0 stays in their places, all else as it
 * was. A message has as many words as is said, and of one number in a hundred 5.1 bytes each. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/world.h"
#include "comm/topk.h"

enum { MAX = 70000, GUARD = 0x5a5a5a5a };

static float x[MAX], left[MAX], got[MAX], twin[MAX];
static uint32_t message[2 * MAX + 64];
static int order[MAX];

static uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* NaN, whose bits are above those of infinity, is the largest. */
static int by_magnitude(const void *a, const void *b)
{
    int i = *(const int *)a, j = *(const int *)b;
    uint32_t p = bits_of(x[i]) & 0x7fffffff, q = bits_of(x[j]) & 0x7fffffff;

    return p != q ? (p < q) - (p > q) : (i > j) - (i < j);
}

/* Numbers of a kind: of one size; of all sizes; few values, so many are equal; all 0 but some; with
 * NaN, infinity and denormals. */
enum kind { ALIKE, WIDE, FEW, ZERO, STRANGE, KINDS };

static void fill(enum kind kind, size_t n)
{
    const uint64_t key = hps_rng_key(3, "topk");

    for (size_t i = 0; i < n; i++) {
        float r = hps_rng_unit(key, i) - 0.5f, size = hps_rng_unit(key, i + MAX);
        x[i] = kind == FEW ? (float)(int)(r * 5) : r;
        if (kind == WIDE || kind == STRANGE) x[i] = ldexpf(r, (int)(size * 200) - 100);
        if (kind == ZERO && size < 0.99f) x[i] = size < 0.5f ? -0.0f : 0;
        if (kind != STRANGE) continue;
        if (i % 97 == 5) x[i] = r < 0 ? -NAN : NAN;
        if (i % 89 == 7) x[i] = r < 0 ? -INFINITY : INFINITY;
        if (i % 7 == 1) x[i] = ldexpf(r, -140);
    }
}

static void check(size_t n, size_t k)
{
    size_t words = hps_topk_words(n, k);

    for (size_t i = 0; i < n; i++)
        order[i] = (int)i;
    qsort(order, n, sizeof *order, by_magnitude);
    memset(twin, 0, n * sizeof *twin);
    memset(got, 0, n * sizeof *got);
    memcpy(left, x, n * sizeof *left);
    for (size_t i = 0; i < k; i++)
        twin[order[i]] += x[order[i]];
    message[words] = GUARD;
    hps_topk_take(n, left, k, message);
    assert_int_equal(message[words], GUARD);
    hps_topk_add(n, k, message, got);
    assert_memory_equal(got, twin, n * sizeof *got);
    for (size_t i = 0; i < k; i++) {
        assert_int_equal(bits_of(left[order[i]]), 0);
        left[order[i]] = x[order[i]];
    }
    assert_memory_equal(left, x, n * sizeof *left);
}

static void is_what_a_slow_twin_chooses(void **state)
{
    static const size_t size[] = { 1, 2, 31, 32, 33, 1000, 4096, 65537 };

    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
            size_t n = size[i], some[] = { 0, 1, 2, n / 100, n / 7, n / 2, n - 1, n };
            fill((enum kind)kind, n);
            for (size_t j = 0; j < sizeof some / sizeof *some; j++)
                if (some[j] <= n) check(n, some[j]);
        }
}

static void has_its_bytes(void **state)
{
    (void)state;
    assert_int_equal(hps_topk_words(0, 0), 0);
    assert_int_equal(hps_topk_count(0, 0.01), 0);
    assert_int_equal(hps_topk_count(1, 1e-6), 1);
    assert_int_equal(hps_topk_count(1000, 0.01), 10);
    assert_int_equal(hps_topk_count(1001, 0.01), 11);
    assert_int_equal(hps_topk_count(1001, 1), 1001);
    size_t k = hps_topk_count(1 << 20, 0.01);
    assert_true(4.0 * (double)hps_topk_words(1 << 20, k) / (double)k < 5.1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(is_what_a_slow_twin_chooses),
                                        cmocka_unit_test(has_its_bytes) };

    hps_begin(&argc, &argv, false);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return hps_end(failed || hps_mem_held_bytes() != 0 ? HPS_FAIL : HPS_OK);
}
