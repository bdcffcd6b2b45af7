/* t_find: the place of a number is how many distinct ones came before its first sight: the same as
 * by looking through a list, in any pieces, step after step, through every growth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/find.h"

enum { MOST = 3000 };

/* n numbers out of `spread`, put in pieces, against the list. */
static void compare(struct hps_find *find, uint64_t seed, int n, uint64_t spread, int piece)
{
    static long long key[MOST], list[MOST];
    static int place[MOST];
    int count = 0;

    for (int i = 0; i < n; i++)     /* numbers far apart, so that whole words are compared */
        key[i] = (long long)(hps_rng_bits(hps_rng_key(seed, "find"), (uint64_t)i) % spread << 40);
    hps_find_begin(find);
    assert_int_equal(hps_find_count(find), 0);
    for (int i = 0; i < n; i += piece)
        hps_find_put(find, (size_t)(n - i < piece ? n - i : piece), key + i, place + i);
    for (int i = 0; i < n; i++) {
        int at = 0;
        while (at < count && list[at] != key[i])
            at++;
        if (at == count)
            list[count++] = key[i];
        assert_int_equal(place[i], at);
    }
    assert_int_equal(hps_find_count(find), count);
    for (int i = 0; i < count; i++)
        assert_true(hps_find_keys(find)[i] == list[i]);
}

static void test_places(void **state)
{
    struct hps_find *find = hps_find_new();

    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++) {
        compare(find, seed, 0, 1, 1);
        compare(find, seed, 1, 1, 1);
        compare(find, seed, 700, 3, 64);
        compare(find, seed, 700, 600, 1);
        compare(find, seed, MOST, 1 << 20, 1000);       /* nearly all distinct: it grows */
        compare(find, seed, MOST, 500, 63);
    }
    hps_find_free(find);
    hps_find_free(NULL);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

/* A full run of numbers that follow each other, as rows of a block do. */
static void test_runs(void **state)
{
    struct hps_find *find = hps_find_new();
    long long key[256];
    int place[256];

    (void)state;
    for (int again = 0; again < 2; again++)
        for (int first = 0; first < 1 << 17; first += 256) {
            for (int i = 0; i < 256; i++)
                key[i] = first + i;
            hps_find_put(find, 256, key, place);
            for (int i = 0; i < 256; i++)
                assert_int_equal(place[i], first + i);
        }
    hps_find_free(find);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
