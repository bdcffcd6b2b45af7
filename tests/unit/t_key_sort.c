/* t_key_sort: items of 32 and 64 bits of key are in order, and equal keys in the order they had. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/key_sort.h"
#include "base/rng.h"

enum { N = 5000 };

struct narrow {
    uint32_t key, number;
};
struct wide {
    uint64_t key, number;
};

static void test_narrow(void **state)
{
    static struct narrow item[N], spare[N];

    (void)state;
    for (unsigned bits = 1; bits <= 32; bits += 5) {
        for (uint32_t i = 0; i < N; i++)
            item[i] = (struct narrow){ (uint32_t)(hps_rng_bits(bits, i) >> 32) >> (32 - bits), i };
        const struct narrow *sorted = hps_key_sort(item, spare, N, sizeof *item, false);
        assert_true(sorted == item || sorted == spare);
        for (size_t i = 1; i < N; i++)
            assert_true(sorted[i - 1].key < sorted[i].key ||
                        (sorted[i - 1].key == sorted[i].key &&
                         sorted[i - 1].number < sorted[i].number));
    }
}

static void test_wide(void **state)
{
    static struct wide item[N], spare[N];

    (void)state;
    for (unsigned bits = 1; bits <= 64; bits += 9) {
        for (uint64_t i = 0; i < N; i++)
            item[i] = (struct wide){ hps_rng_bits(bits, i) >> (64 - bits), i };
        const struct wide *sorted = hps_key_sort(item, spare, N, sizeof *item, true);
        for (size_t i = 1; i < N; i++)
            assert_true(sorted[i - 1].key < sorted[i].key ||
                        (sorted[i - 1].key == sorted[i].key &&
                         sorted[i - 1].number < sorted[i].number));
    }
}

/* Where all keys are 0, or there is nothing, nothing moves. */
static void test_nothing(void **state)
{
    struct narrow item[2] = { { 0, 1 }, { 0, 2 } }, spare[2];

    (void)state;
    assert_ptr_equal(hps_key_sort(item, spare, 2, sizeof *item, false), item);
    assert_ptr_equal(hps_key_sort(item, spare, 0, sizeof *item, false), item);
    assert_int_equal(item[0].number, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_narrow), cmocka_unit_test(test_wide),
                                        cmocka_unit_test(test_nothing) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
