/* Law: what was measured as promised changes nothing; under the corrected profile a measured plan
 * costs what was measured; a type that was twice as slow is so everywhere; windows do not drift. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "base/mem.h"
#include "plan/correct.h"
#include "plan/cost.h"
#include "tests/lib/plan_make.h"

enum { L = 7, T = 4 };

/* Layers 0-2 on type 0, 3-4 on type 2, 5-6 on type 0 again: types 1 and 3 are never used. */
static struct hps_plan *a_plan(const struct hps_profile *p)
{
    static const int type[L] = { 0, 0, 0, 2, 2, 0, 0 };
    struct hps_plan *plan = hps_plan_of_assignment(L, type);

    for (int s = 0; s < plan->S; s++)
        plan->stage[s].units = 1 + s;
    hps_cost_of(plan, p);
    return plan;
}

static void measured(struct hps_correct *c, const struct hps_plan *plan, const double *ct_factor,
                     const double *dt_factor)
{
    struct hps_correct_stage got[3];

    for (int s = 0; s < plan->S; s++) {
        const struct hps_plan_stage *g = &plan->stage[s];
        got[s] = (struct hps_correct_stage){ g->ct * ct_factor[s], g->dt * dt_factor[s] };
    }
    hps_correct_note(c, plan, got, 1000);
}

static void near(double got, double wanted)
{
    if (!(fabs(got - wanted) <= 1e-12 * fabs(wanted)))
        fail_msg("got %.17g, wanted %.17g", got, wanted);
}

/* Is every number of `array` of type t `factor` times the first profile's? */
static void times(const double *array, const double *first, int t, double factor)
{
    for (int l = 0; l < L; l++)
        near(array[l * T + t], first[l * T + t] * factor);
}

static void as_promised_changes_nothing(void **state)
{
    struct hps_profile *p = make_profile(1, L, T, 9, 0), *q;
    struct hps_plan *plan = a_plan(p);
    struct hps_correct *c = hps_correct_new(p);

    (void)state;
    assert_true(isnan(hps_correct_type(c, 0)));
    for (int i = 0; i < 5; i++)
        measured(c, plan, (double[]){ 1, 1, 1 }, (double[]){ 1, 1, 1 });
    q = hps_correct_profile(c);
    for (int i = 0; i < L * T; i++) {
        assert_true(q->oct[i] == p->oct[i] && q->sync[i] == p->sync[i]);
        assert_true(q->recv[i] == p->recv[i] && q->send[i] == p->send[i]);
        assert_true(q->alpha[i] == p->alpha[i] && q->beta[i] == p->beta[i]);
    }
    hps_profile_free(q);
    hps_correct_free(c);
    hps_plan_free(plan);
    hps_profile_free(p);
}

static void a_slow_type_is_slow_everywhere(void **state)
{
    struct hps_profile *p = make_profile(2, L, T, 9, 0), *q;
    struct hps_plan *plan = a_plan(p);

    (void)state;
    for (int i = 0; i < L * T; i++)
        p->engine.forward_s[i] = 0.25 * p->oct[i];
    p->engine.batch = 400;
    p->engine.microbatches = 4;
    struct hps_correct *c = hps_correct_new(p);
    for (int i = 0; i < 3; i++) { /* a window more says the same: no drift */
        measured(c, plan, (double[]){ 2, 1, 2 }, (double[]){ 1, 1, 1 });
        q = hps_correct_profile(c);
        times(q->oct, p->oct, 0, 2);
        times(q->engine.forward_s, p->engine.forward_s, 0, 2);
        times(q->oct, p->oct, 2, 1);
        times(q->oct, p->oct, 1, 1); /* never measured: as the best of the others */
        times(q->oct, p->oct, 3, 1);
        near(hps_correct_type(c, 0), 2);
        assert_true(isnan(hps_correct_type(c, 1)));
        hps_profile_free(q);
    }
    hps_correct_free(c);
    hps_plan_free(plan);
    hps_profile_free(p);
}

static void the_plan_costs_what_was_measured(void **state)
{
    const double ct[3] = { 3, 0.25, 1.5 };

    (void)state;
    for (uint64_t seed = 10; seed < 30; seed++) {
        struct hps_profile *p = make_profile(seed, L, T, 9, 0), *q;
        struct hps_plan *plan = a_plan(p), *again = hps_plan_copy(plan);
        struct hps_correct *c = hps_correct_new(p);
        double dt[3];
        for (int s = 0; s < 3; s++) /* longer than the computation: seen */
            dt[s] = 2 * fmax(plan->stage[s].ct * ct[s], plan->stage[s].dt) / plan->stage[s].dt;
        measured(c, plan, ct, dt);
        q = hps_correct_profile(c);
        hps_cost_of(again, q);
        for (int s = 0; s < 3; s++) {
            near(again->stage[s].ct, plan->stage[s].ct * ct[s]);
            near(again->stage[s].dt, plan->stage[s].dt * dt[s]);
        }
        assert_int_equal(hps_profile_check(q, "corrected"), HPS_OK);
        hps_profile_free(q);
        hps_correct_free(c);
        hps_plan_free(again);
        hps_plan_free(plan);
        hps_profile_free(p);
    }
}

static void what_all_have_in_common_the_unknown_have(void **state)
{
    struct hps_profile *p = make_profile(5, L, T, 9, 0), *q;
    struct hps_plan *plan = a_plan(p);

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct hps_correct *c = hps_correct_new(p);
        double f = (double[]){ 0.5, 1.25, 8 }[i];
        measured(c, plan, (double[]){ f, 1.125 * f, f }, (double[]){ 1, 1, 1 });
        q = hps_correct_profile(c);
        times(q->oct, p->oct, 1, (double[]){ 1, 1.25, 1.5 }[i]);
        hps_profile_free(q);
        hps_correct_free(c);
    }
    hps_plan_free(plan);
    hps_profile_free(p);
}

static void hidden_communication_says_nothing(void **state)
{
    struct hps_profile *p = make_profile(3, L, T, 9, 0), *q;
    struct hps_plan *plan = a_plan(p);
    struct hps_correct *c = hps_correct_new(p);
    struct hps_correct_stage got[3];

    (void)state;
    for (int s = 0; s < 3; s++) {
        double ct = 10 * plan->stage[s].dt;
        got[s] = (struct hps_correct_stage){ ct, s == 0 ? ct / 2 : 0 };
    }
    hps_correct_note(c, plan, got, 50);
    q = hps_correct_profile(c);
    for (int t = 0; t < T; t++) {
        times(q->sync, p->sync, t, 1);
        times(q->recv, p->recv, t, 1);
        times(q->send, p->send, t, 1);
    }
    hps_profile_free(q);
    hps_correct_free(c);
    hps_plan_free(plan);
    hps_profile_free(p);
}

static void what_is_past_fades(void **state)
{
    struct hps_profile *p = make_profile(4, L, T, 9, 0);
    struct hps_plan *plan = a_plan(p);
    struct hps_correct *c = hps_correct_new(p);

    (void)state;
    measured(c, plan, (double[]){ 8, 8, 8 }, (double[]){ 1, 1, 1 });
    measured(c, plan, (double[]){ 1, 1, 1 }, (double[]){ 1, 1, 1 });
    near(hps_correct_type(c, 2), (8 * 0.5 + 1) / 1.5);
    for (int i = 0; i < 40; i++)
        measured(c, plan, (double[]){ 1, 1, 1 }, (double[]){ 1, 1, 1 });
    assert_true(fabs(hps_correct_type(c, 2) - 1) < 1e-9);
    hps_correct_free(c);
    hps_plan_free(plan);
    hps_profile_free(p);
}

static void the_trial_counts_once(void **state)
{
    struct hps_profile *p = make_profile(6, L, T, 9, 0), *q;
    struct hps_plan *plan = a_plan(p);

    (void)state;
    p->engine.trial = 1.5;
    struct hps_correct *c = hps_correct_new(p);
    measured(c, plan, (double[]){ 1.5, 1.5, 1.5 }, (double[]){ 1, 1, 1 });
    q = hps_correct_profile(c);
    times(q->oct, p->oct, 0, 1.5);
    assert_true(q->engine.trial == 0);
    hps_profile_free(q);
    hps_correct_free(c);
    hps_plan_free(plan);
    hps_profile_free(p);
}

static bool better(double rate, double usd, double new_rate, double new_usd, double limit)
{
    return hps_correct_better((struct hps_correct_price){ rate, usd },
                              (struct hps_correct_price){ new_rate, new_usd }, limit, 0.1);
}

static void better_is_by_more_than_the_margin(void **state)
{
    (void)state;
    assert_true(better(100, 1.2, 100, 1, 0));
    assert_false(better(100, 1.05, 100, 1, 0));
    assert_true(better(100, 1.2, 50, 1, 50));   /* cheaper, the limit is kept */
    assert_false(better(100, 1.2, 50, 1, 80));  /* it is not                  */
    assert_true(better(50, 1, 80, 3, 80));      /* too slow now: money is second */
    assert_false(better(50, 1, 54, 3, 80));
    assert_true(better(50, 1.2, 50, 1, 80));
    assert_false(better(75, 1, 1000, 3, 80));   /* more than the limit is no merit */
    assert_false(better(50, 1, 50, 1, 50));     /* the same plan */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_promised_changes_nothing),
        cmocka_unit_test(a_slow_type_is_slow_everywhere),
        cmocka_unit_test(the_plan_costs_what_was_measured),
        cmocka_unit_test(what_all_have_in_common_the_unknown_have),
        cmocka_unit_test(hidden_communication_says_nothing),
        cmocka_unit_test(what_is_past_fades),
        cmocka_unit_test(the_trial_counts_once),
        cmocka_unit_test(better_is_by_more_than_the_margin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
