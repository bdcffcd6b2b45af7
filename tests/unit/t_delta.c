/* t_delta: what is encoded as differences is decoded to the same numbers, and takes the bytes that
 * its differences need: rows that ascend, marked ones among them, any numbers, the largest and the
 * smallest that there are. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "ps/delta.h"

enum { N = 5000 };

/* There and back; returns the bytes. */
static size_t turn(enum hps_delta list, size_t n, const int *x)
{
    unsigned char *code = hps_mem_new(HPS_DELTA_MAX * n + 1, 1);
    int *back = hps_mem_new(n + 1, sizeof *back);

    code[HPS_DELTA_MAX * n] = 0xab;
    size_t bytes = hps_delta_encode(list, n, x, code);
    assert_true(bytes >= n && bytes <= HPS_DELTA_MAX * n && code[HPS_DELTA_MAX * n] == 0xab);
    assert_int_equal(hps_delta_decode(list, n, code, back), bytes);
    assert_memory_equal(back, x, n * sizeof *x);
    hps_mem_free(back);
    hps_mem_free(code);
    return bytes;
}

static void of_given_lists(void **state)
{
    static const int near[] = { 0, 1, 2, 3, 131, 132 }, far[] = { 5, INT_MAX - 1, INT_MAX };
    static const int marked[] = { ~0, 1, ~2, 60, ~INT_MAX };
    static const int any[] = { 0, INT_MIN, INT_MAX, -1, INT_MIN, 7, 7, -64, -63 };
    (void)state;

    assert_int_equal(turn(HPS_DELTA_ROWS, 0, near), 0);
    assert_int_equal(turn(HPS_DELTA_ROWS, 6, near), 6);         /* 127 between 3 and 131 */
    assert_int_equal(turn(HPS_DELTA_ROWS, 3, far), 1 + 5 + 1);
    assert_int_equal(turn(HPS_DELTA_MARKED, 5, marked), 4 + 5);
    assert_int_equal(turn(HPS_DELTA_ANY, 6, near), 5 + 2);      /* 128 is 256 with a sign */
    turn(HPS_DELTA_ANY, sizeof any / sizeof *any, any);
}

static void of_drawn_lists(void **state)
{
    static int row[N], marked[N], any[N];
    (void)state;

    for (int step = 0; step < 60; step++) {
        uint64_t key = hps_rng_sub(3, (uint64_t)step);
        uint64_t most = step < 10 ? 100 : (uint64_t)1 << step % 18;
        size_t n = hps_rng_below(key, N, N);
        int64_t at = -1;
        for (size_t i = 0; i < n; i++) {
            at += 1 + (int64_t)hps_rng_below(key, i, most);
            row[i] = (int)at;
            marked[i] = hps_rng_bits(key, i) & 1 ? ~(int)at : (int)at;
            any[i] = (int)(uint32_t)hps_rng_bits(key, i);
        }
        size_t bytes = turn(HPS_DELTA_ROWS, n, row);
        assert_true(most > 128 || bytes == n);
        turn(HPS_DELTA_MARKED, n, marked);
        turn(HPS_DELTA_ANY, n, any);
        turn(HPS_DELTA_ANY, n, row);
    }
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(of_given_lists),
                                        cmocka_unit_test(of_drawn_lists) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
