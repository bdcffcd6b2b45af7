/* t_runs: sorted runs, empty ones too, become one sorted list with all words in it, and of equal
 * ones those of earlier runs come first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/kway_merge.h"
#include "base/rng.h"

enum { MAX_N = 4000, TAIL = 12 };

static int by_word(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Runs of 0 to 2 * mean words of few different keys; the tail says which word it was. */
static void check(int nrun, size_t mean)
{
    static uint64_t word[MAX_N], spare[MAX_N], want[MAX_N];
    size_t at[32], n = 0;

    for (int i = 0; i < nrun; i++) {
        size_t first = at[i] = n;
        uint64_t key = 0;
        n += hps_rng_bits(1, (uint64_t)i) % (2 * mean + 1);
        for (size_t k = first; k < n; k++) {
            key += hps_rng_bits(2, k) % 3 ? 0 : hps_rng_bits(3, k) % 9;
            want[k] = word[k] = key << TAIL | k;
        }
    }
    at[nrun] = n;
    qsort(want, n, sizeof *want, by_word);
    assert_memory_equal(hps_kway_merge(word, spare, nrun, at, TAIL), want, n * sizeof *want);
}

static void merged(void **state)
{
    (void)state;
    for (int nrun = 1; nrun < 32; nrun++)
        for (size_t mean = 0; mean < 64; mean += mean + 1)
            check(nrun, mean);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(merged) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
