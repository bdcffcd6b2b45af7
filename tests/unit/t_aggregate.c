/* t_aggregate: held gradients of a row add up in the order in which they came, each times its
 * scale; rows are listed once, with how many gradients they have; after a clear nothing is held. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "ps/aggregate.h"

enum { NROW = 50, DIM = 3, STEPS = 5, ROUNDS = 4 };

/* Some of the rows, distinct, in a drawn order. */
static size_t some_rows(uint64_t key, int *row)
{
    size_t n = 0;

    for (int i = 0; i < NROW; i++)
        if (hps_rng_real(key, (uint64_t)i) < 0.4) row[n++] = (i * 7) % NROW;
    return n;
}

static void sums_are_those_of_the_gradients(void **state)
{
    struct hps_aggregate *a = hps_aggregate_new(NROW, DIM);
    int row[NROW];
    float grad[NROW * DIM];

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        float sum[NROW * DIM] = { 0 };
        int count[NROW] = { 0 };
        for (int s = 0; s < STEPS; s++) {
            uint64_t key = hps_rng_key((uint64_t)(round * STEPS + s), "aggregate");
            size_t n = some_rows(key, row);
            float scale = s == 2 ? 0.5f : 1;
            for (size_t i = 0; i < n * DIM; i++)
                grad[i] = (float)hps_rng_real(key, 1000 + i) - 0.5f;
            for (size_t i = 0; i < n; i++) {
                for (int k = 0; k < DIM; k++)
                    sum[row[i] * DIM + k] += scale * grad[i * DIM + (size_t)k];
                count[row[i]]++;
            }
            hps_aggregate_add(a, n, row, grad, scale);
        }
        bool seen[NROW] = { false };
        for (size_t i = 0; i < a->n; i++) {
            int r = a->row[i];
            assert_false(seen[r]);
            seen[r] = true;
            assert_int_equal(a->count[i], count[r]);
            assert_memory_equal(a->sum + i * DIM, sum + r * DIM, DIM * sizeof *sum);
        }
        for (int r = 0; r < NROW; r++)
            assert_int_equal(seen[r], count[r] > 0);
        hps_aggregate_clear(a);
        assert_int_equal(a->n, 0);
    }
    hps_aggregate_free(a);
    hps_aggregate_free(NULL);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(sums_are_those_of_the_gradients) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
