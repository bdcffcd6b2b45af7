/* t_work: every part of the work is done once, by a thread of those that may; what parts do in turn
 * they do in their order, however long each takes before; cuts meet, and cover all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/parallel.h"

enum { MAX_N = 40, THREADS = 3 };

struct order {
    struct hps_parallel work;
    struct hps_parallel_ordered turn;
    int n, part[MAX_N];          /* in the order in which they had their turn */
    int done[MAX_N], who[MAX_N];
};

static void part(void *job, int t)
{
    struct order *o = job;

    o->who[t] = hps_parallel_me();
    o->done[t]++;
    usleep(t % 3 == 0 ? 300 : 10);
    hps_parallel_take(&o->turn, t);
    o->part[o->n++] = t;
    hps_parallel_pass(&o->turn, t);
}

static void in_turn(void **state)
{
    (void)state;
    for (int n = 1; n <= MAX_N; n += 13)
        for (int threads = 1; threads <= THREADS; threads++) {
            struct order o = { .work = { n, threads } };
            hps_parallel_for(&o.work, part, &o);
            assert_int_equal(o.n, n);
            for (int t = 0; t < n; t++) {
                assert_int_equal(o.part[t], t);
                assert_int_equal(o.done[t], 1);
                assert_in_range(o.who[t], 0, threads - 1);
            }
        }
}

static void cuts(void **state)
{
    static const size_t things[] = { 0, 1, 7, 8192, 100000, 5000000 };

    (void)state;
    for (int i = 0; i < 6; i++)
        for (int threads = 1; threads <= THREADS; threads++) {
            struct hps_parallel w = hps_parallel_of(things[i], threads);
            assert_true(w.n >= 1);
            assert_int_equal(hps_parallel_cut(&w, things[i], 0), 0);
            for (int t = 0; t < w.n; t++)
                assert_true(hps_parallel_cut(&w, things[i], t) <=
                            hps_parallel_cut(&w, things[i], t + 1));
            assert_int_equal(hps_parallel_cut(&w, things[i], w.n), things[i]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(in_turn), cmocka_unit_test(cuts) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
