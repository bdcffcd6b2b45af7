/* t_gpu_group: GPUs may work as a group where each rank has one of its own and all have the same
 * release of NCCL; else the ranks that are in the way are named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "hw/gpu_group.h"

enum { N = 4 };

/* Four ranks, two a host, a card each. */
static void make(struct hps_gpu_group_fact fact[N])
{
    memset(fact, 0, N * sizeof *fact);
    for (int r = 0; r < N; r++) {
        fact[r].rank = 10 + r;
        fact[r].version = 22809;
        snprintf(fact[r].host, sizeof fact[r].host, "n%d", r / 2);
        snprintf(fact[r].gpu, sizeof fact[r].gpu, "0000:0%d:00.0", r % 2);
    }
}

static void a_card_each(void **state)
{
    struct hps_gpu_group_fact fact[N];
    char why[256] = "as it was";

    (void)state;
    make(fact);
    for (int n = 1; n <= N; n++)
        assert_true(hps_gpu_group_possible(n, fact, why, sizeof why));
    assert_string_equal(why, "as it was");
}

static void one_card(void **state)
{
    struct hps_gpu_group_fact fact[N];
    char why[256];

    (void)state;
    make(fact);
    memcpy(fact[3].gpu, fact[2].gpu, sizeof fact[3].gpu);
    assert_true(hps_gpu_group_possible(3, fact, why, sizeof why));
    assert_false(hps_gpu_group_possible(N, fact, why, sizeof why));
    assert_string_equal(why, "ranks 12 and 13 are on one GPU, 0000:00:00.0 of n1");
}

static void no_library(void **state)
{
    struct hps_gpu_group_fact fact[N];
    char why[256];

    (void)state;
    make(fact);
    fact[2].version = 0;
    snprintf(fact[2].why, sizeof fact[2].why, "HETERPS_NCCL=0");
    assert_false(hps_gpu_group_possible(N, fact, why, sizeof why));
    assert_string_equal(why, "rank 12 on n1: HETERPS_NCCL=0");
    fact[2].version = 22100;
    assert_false(hps_gpu_group_possible(N, fact, why, sizeof why));
    assert_string_equal(why, "ranks 10 and 12 have unlike releases of it, 22809 and 22100");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_card_each),
        cmocka_unit_test(one_card),
        cmocka_unit_test(no_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
