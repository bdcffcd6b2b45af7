/* t_trial_choice: of plans that were tried, the cheapest that keeps the limit is taken, or the
 * fastest where none does or the most is wanted; a lead within what was unsure is a tie, which the
 * earlier plan wins. Against a slow search where all is sure. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "plan/trial_choice.h"

enum { N = 4 };

static double cost(const struct hps_tried_plan *p)
{
    return p->usd_hour * p->step_s;
}

static int slow_choice(const struct hps_tried_plan *plan, double batch, double limit)
{
    int best = 0;
    bool any = false;

    for (int i = 0; i < N; i++)
        any |= batch / plan[i].step_s >= limit;
    for (int i = 0; i < N; i++) {
        bool keeps = batch / plan[i].step_s >= limit;
        bool best_keeps = batch / plan[best].step_s >= limit;
        if (any && keeps && (!best_keeps || cost(&plan[i]) < cost(&plan[best]))) best = i;
        if (!any && plan[i].step_s < plan[best].step_s) best = i;
    }
    return best;
}

static void sure_plans(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 2000; i++) {
        struct hps_tried_plan plan[N];
        double limit = i % 5 == 0 ? 0 : i % 5 == 1 ? INFINITY : 4 * hps_rng_unit(1, i);
        for (uint64_t k = 0; k < N; k++)
            plan[k] = (struct hps_tried_plan){ .step_s = 0.1 + hps_rng_unit(2, N * i + k),
                                               .usd_hour = 1 + hps_rng_unit(3, N * i + k) };
        struct hps_trial_choice c = hps_trial_choose(N, plan, 1, limit);
        assert_int_equal(c.best, slow_choice(plan, 1, limit));
        for (int k = 0; k < N; k++)
            assert_true(hps_trial_is_tie(&plan[k], &plan[c.best], c.by_cost) == (k == c.best));
    }
}

static void a_lead_within_the_spread_is_a_tie(void **state)
{
    struct hps_tried_plan plan[2] = { { .step_s = 1, .unsure_s = 0.03, .usd_hour = 2 },
                                      { .step_s = 0.95, .unsure_s = 0.02, .usd_hour = 2 } };

    (void)state;
    for (int by_cost = 0; by_cost < 2; by_cost++) {
        double limit = by_cost ? 0 : INFINITY;
        plan[1].step_s = 0.96;
        struct hps_trial_choice c = hps_trial_choose(2, plan, 1, limit);
        assert_true(c.best == 0 && c.by_cost == by_cost);
        assert_true(hps_trial_is_tie(&plan[0], &plan[1], by_cost));
        plan[1].step_s = 0.94;
        c = hps_trial_choose(2, plan, 1, limit);
        assert_true(c.best == 1);
        assert_false(hps_trial_is_tie(&plan[0], &plan[1], by_cost));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sure_plans),
        cmocka_unit_test(a_lead_within_the_spread_is_a_tie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
