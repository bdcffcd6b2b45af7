/* t_clock_samples: samples span the whole run at equal distances however long it is, and never are
 * more than there is room for; of many workers three curves are kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "step/clock_samples.h"

/* Runs of 2 ms to 4 days, whose first worker finishes a clock a millisecond, the other none. */
static void they_span_the_run(void **state)
{
    static struct hps_clock_samples t;
    (void)state;

    for (int steps = 2; steps < 500000000; steps *= 3) {
        double by = steps > 100000 ? steps / 100000.0 : 1;
        hps_clock_samples_init(&t, 2);
        for (int i = 0; i * by <= steps; i++) {
            double s = 1e-3 * (int)(i * by);
            hps_clock_samples_take(&t, s, (long long[]){ (int)(i * by), 2 }, false);
        }
        hps_clock_samples_take(&t, 1e-3 * steps + 1e-6, (long long[]){ steps, 2 }, true);
        assert_in_range(t.n, steps < HPS_CLOCK_SAMPLES ? 2 : HPS_CLOCK_SAMPLES / 2 - 1,
                        HPS_CLOCK_SAMPLES);
        assert_true(t.s[0] == 0 && t.clock[0][0] == 0);
        assert_int_equal(t.clock[t.n - 1][0], steps);
        for (int i = 1; i < t.n; i++) {
            assert_true(t.s[i] > t.s[i - 1]);
            assert_int_equal(t.clock[i][1], 2);
            if (i < t.n - 1 && by == 1)
                assert_true(t.clock[i][0] == (long long)(1e3 * t.s[i] + 0.5));
        }
    }
}

/* Nothing new at the time of the last one; a sample that must be is taken before its time. */
static void at_its_time(void **state)
{
    static struct hps_clock_samples t;
    (void)state;

    hps_clock_samples_init(&t, 1);
    hps_clock_samples_take(&t, 1, (long long[]){ 1 }, true);
    hps_clock_samples_take(&t, 1, (long long[]){ 2 }, true);
    hps_clock_samples_take(&t, 1.0001, (long long[]){ 3 }, false);
    assert_int_equal(t.n, 1);
    hps_clock_samples_take(&t, 1.0001, (long long[]){ 4 }, true);
    assert_int_equal(t.n, 2);
    assert_int_equal(t.clock[1][0], 4);
}

static void of_many_workers_three(void **state)
{
    enum { W = HPS_CLOCK_CURVES + 1 };
    static struct hps_clock_samples t;
    long long finished[W];
    (void)state;

    for (int w = 0; w < W; w++)
        finished[w] = 100 + (w * 7) % W;
    hps_clock_samples_init(&t, W - 1);
    assert_int_equal(t.ncurve, W - 1);
    hps_clock_samples_init(&t, W);
    assert_int_equal(t.ncurve, 3);
    hps_clock_samples_take(&t, 1, finished, false);
    assert_int_equal(t.clock[0][0], 100);
    assert_int_equal(t.clock[0][1], 100 + W / 2);
    assert_int_equal(t.clock[0][2], 100 + W - 1);
}

static int nothing_held(void **state)
{
    (void)state;
    return hps_mem_held_bytes() != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(they_span_the_run, nothing_held),
        cmocka_unit_test_teardown(at_its_time, nothing_held),
        cmocka_unit_test_teardown(of_many_workers_three, nothing_held),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
