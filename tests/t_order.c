/* t_order: in 1F1B every micro-batch goes forward before back, each once, never more than the
 * flights are under way, and stages that wait for each other's messages never wait for ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "train/order.h"

enum { MOST = 9 };

static void each_once_forward_first(void **state)
{
    (void)state;
    for (int S = 1; S < MOST; S++)
        for (int s = 0; s < S; s++)
            for (int M = 1; M < MOST; M++) {
                struct hps_todo list[2 * MOST];
                int fwd = 0, bwd = 0;
                hps_order_1f1b(S, s, M, list);
                for (int i = 0; i < 2 * M; i++) {
                    assert_int_equal(list[i].m, list[i].backward ? bwd++ : fwd++);
                    assert_true(bwd <= fwd);
                    assert_true(fwd - bwd <= hps_order_flights(S, s, M));
                }
                assert_int_equal(fwd, M);
                assert_int_equal(bwd, M);
            }
}

/* May stage s do this now? A forward needs the stage before to have done it, a backward the stage
 * behind. */
static int may(const struct hps_todo *t, int s, int S, int fwd[], int bwd[])
{
    if (t->backward) return s == S - 1 ? fwd[s] > t->m : bwd[s + 1] > t->m;
    return s == 0 || fwd[s - 1] > t->m;
}

static void never_waits_for_ever(void **state)
{
    (void)state;
    for (int S = 1; S < MOST; S++)
        for (int M = 1; M < MOST; M++) {
            struct hps_todo list[MOST][2 * MOST];
            int at[MOST] = { 0 }, fwd[MOST] = { 0 }, bwd[MOST] = { 0 }, done = 0, moved = 1;
            for (int s = 0; s < S; s++)
                hps_order_1f1b(S, s, M, list[s]);
            while (moved) {
                moved = 0;
                for (int s = 0; s < S; s++) {
                    if (at[s] == 2 * M || !may(&list[s][at[s]], s, S, fwd, bwd)) continue;
                    *(list[s][at[s]].backward ? &bwd[s] : &fwd[s]) += 1;
                    at[s]++;
                    done++;
                    moved = 1;
                }
            }
            assert_int_equal(done, 2 * M * S);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_once_forward_first),
        cmocka_unit_test(never_waits_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
