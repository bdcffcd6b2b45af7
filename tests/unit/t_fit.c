/* t_fit: layers that are fitted to a trial of one unit make the engine-faithful model give the
 * trial's step, whatever was measured of them; units of a type that are fitted to a pair make it
 * give the pair's step, and leave what one unit does; so do two stages; a server is busy as it
 * was. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "plan/cost.h"
#include "plan/promise.h"
#include "profile/fit.h"

enum { L = 5, T = 2, M = 4, BATCH = 400 };

static uint64_t salt;

static double any(double min, double max)
{
    return min + (max - min) * hps_rng_unit(7, salt++);
}

/* Layer 0 finds rows, layer L - 1 learns nothing. */
static void make_layers(struct hps_layer_time *m)
{
    for (int l = 0; l < L; l++) {
        double work = any(1e-4, 1e-2);
        m[l].forward_s = work * any(0.1, 0.4);
        m[l].once_s = l < L - 1 ? work * any(0.01, 0.2) : 0;
        for (int i = 0; i < 3; i++) {
            m[l].batch[i] = (double)(BATCH / M) / (1 << i);
            m[l].work_s[i] = work * any(0.9, 1.1) / (1 << i);
            m[l].rows_s[i] = l == 0 ? 1e-3 * any(0.5, 1) / (1 << i) : 0;
        }
        m[l].work_s[0] = work;
    }
}

static struct hps_trial make_trial(void)
{
    static const enum hps_region in[] = { HPS_REGION_PULL, HPS_REGION_FORWARD, HPS_REGION_BACKWARD,
                                          HPS_REGION_PUSH, HPS_REGION_UPDATE };
    struct hps_trial t = { .n = 9 };

    for (int i = 0; i < 5; i++) {
        t.region_s[in[i]] = any(1e-3, 1e-1);
        t.step_s += t.region_s[in[i]];
    }
    t.region_s[HPS_REGION_WAIT] = any(0, 1e-3);
    t.step_s += t.region_s[HPS_REGION_WAIT] + any(0, 1e-3);
    return t;
}

/* What profile/measure.c makes of measured layers. */
static void fill(struct hps_profile *p, int t, const struct hps_layer_time *m, double slow,
                 struct hps_fit_rest rest)
{
    for (int l = 0; l < L; l++) {
        int at = l * T + t;
        p->oct[at] = slow * m[l].work_s[0] + m[l].rows_s[0];
        p->engine.forward_s[at] = slow * m[l].forward_s;
        p->engine.once_s[at] = p->oct[at] - slow * (m[l].work_s[0] - m[l].once_s);
        p->alpha[at] = any(0.3, 0.9);
        p->beta[at] = any(0, 1);
        p->sync[at] = any(0, 1e-4);
    }
    p->engine.micro_s[t] = rest.micro_s;
    p->engine.step_s[t] = rest.step_s;
}

static double step_of(const struct hps_profile *p, int t, int units)
{
    int assignment[L] = { t, t, t, t, t };
    struct hps_plan *plan = hps_plan_of_assignment(L, assignment);

    plan->stage[0].units = units;
    hps_cost_of(plan, p);
    double step = hps_promise_step(plan, p).step_s;
    hps_plan_free(plan);
    return step;
}

static struct hps_profile *new_profile(void)
{
    struct hps_profile *p = hps_profile_new(L, T);

    p->batch = BATCH / M;
    p->engine.batch = BATCH;
    p->engine.microbatches = M;
    return p;
}

static void assert_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * want)) fail_msg("%.17g, not %.17g", got, want);
}

static void one_unit_takes_the_trials_step(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        struct hps_layer_time m[L], before[L];
        struct hps_profile *p = new_profile();
        double slow = i % 2 ? 3 : 1, max_micro_s = i % 3 ? 1e-5 : 1;
        struct hps_trial trial = make_trial();
        make_layers(m);
        for (int l = 0; l < L; l++)
            before[l] = m[l];
        struct hps_fit_rest rest = hps_fit_layers(m, L, M, slow, &trial, max_micro_s);
        fill(p, 1, m, slow, rest);
        assert_true(rest.micro_s >= 0 && rest.micro_s <= max_micro_s && rest.step_s >= 0);
        assert_near(step_of(p, 1, 1), trial.step_s);
        for (int l = 1; l < L; l++)     /* shares of the layers, and of their sizes, stay */
            assert_near(m[l].forward_s / m[0].forward_s,
                        before[l].forward_s / before[0].forward_s);
        for (int l = 0; l < L; l++)
            assert_near(m[l].work_s[2] / m[l].work_s[0],
                        before[l].work_s[2] / before[l].work_s[0]);
        hps_profile_free(p);
    }
}

/* Time in a region where the layers had none is the step's. */
static void nothing_is_lost(void **state)
{
    struct hps_layer_time m[L] = { { .forward_s = 0 } };
    struct hps_trial trial = make_trial();
    struct hps_fit_rest rest = hps_fit_layers(m, L, M, 1, &trial, 1e-6);

    (void)state;
    assert_near(rest.step_s + M * rest.micro_s, trial.step_s);
    for (int l = 0; l < L; l++)
        assert_true(m[l].work_s[0] == 0 && m[l].rows_s[0] == 0);
}

static void check_in_bounds(const struct hps_profile *p)
{
    assert_int_equal(hps_profile_check(p, "fitted"), HPS_OK);
    for (int i = 0; i < L * T; i++)
        assert_true(p->sync[i] >= 0 && p->alpha[i] >= 0 && p->alpha[i] <= 1);
}

/* Where that is no less than half of one unit's and no more than all of it. */
static void two_units_take_the_pairs_step(void **state)
{
    static const double of_model[] = { 0.3, 0.8, 0.99, 1, 1.01, 1.3, 3 };

    (void)state;
    for (int i = 0; i < 70; i++) {
        struct hps_layer_time m[L];
        struct hps_profile *p = new_profile();
        struct hps_trial trial = make_trial();
        for (int t = 0; t < T; t++) {
            make_layers(m);
            fill(p, t, m, 1, hps_fit_layers(m, L, M, 1, &trial, 1e-5));
            snprintf(p->type[t].name, sizeof p->type[t].name, "t%d", t);
            p->type[t].limit = 9;
        }
        for (int l = 0; l < L; l++) {
            snprintf(p->layer[l].name, sizeof p->layer[l].name, "l%d", l);
            snprintf(p->layer[l].type, sizeof p->layer[l].type, "fc");
            if (i % 2) p->sync[l * T] = 0;      /* no communication is known */
        }
        p->examples = p->epochs = 1;
        double one = step_of(p, 0, 1), two = step_of(p, 0, 2), other = step_of(p, 1, 2);
        double want = of_model[i / 10] * two;
        double min = (one - p->engine.step_s[0] - M * p->engine.micro_s[0]) / 2 +
                     p->engine.step_s[0] + M * p->engine.micro_s[0];
        assert_near(hps_fit_pair(p, 0, want, 0), two);
        if (want <= one)
            assert_near(step_of(p, 0, 2), fmax(want, min));
        else                                    /* alpha is 0 there, sync may not be enough */
            assert_true(step_of(p, 0, 2) >= one * (1 - 1e-9) &&
                        step_of(p, 0, 2) <= want * (1 + 1e-9));
        assert_near(step_of(p, 0, 1), one);
        assert_near(step_of(p, 1, 2), other);
        check_in_bounds(p);
        hps_profile_free(p);
    }
}

static double step_of_cut(const struct hps_profile *p, int cut)
{
    struct hps_plan *plan = hps_plan_new(L, 2);

    plan->stage[0] = (struct hps_plan_stage){ .last = cut - 1, .type = 1, .units = 1 };
    plan->stage[1] = (struct hps_plan_stage){ .first = cut, .last = L - 1, .units = 1 };
    hps_cost_of(plan, p);
    double step = hps_promise_step(plan, p).step_s;
    hps_plan_free(plan);
    return step;
}

/* A clock is of 400 examples, and serve of 100: of 3 ms in all, servers are busy for 12 ms of it.
 * Measured were 18 ms, sure to nothing or to a third: then of 6 ms of difference half is fitted. */
static void a_server_is_busy_as_measured(void **state)
{
    struct hps_profile *p = new_profile();

    (void)state;
    p->workers = 3;
    assert_near(1 + hps_fit_serve(p, 1, 18e-3, 0), 1);
    for (int l = 0; l < L; l++)
        assert_true(p->serve[l * T + 1] == 0);
    p->serve[0 * T + 1] = 2e-3;
    p->serve[3 * T + 1] = 1e-3;
    p->serve[0 * T] = 7;
    assert_near(hps_fit_serve(p, 1, 18e-3, 1.0 / 3), 12e-3);
    assert_near(p->serve[0 * T + 1], 2.5e-3);
    assert_near(p->serve[3 * T + 1], 1.25e-3);
    assert_near(hps_fit_serve(p, 1, 6e-3, 0), 15e-3);
    assert_near(p->serve[0 * T + 1], 1e-3);
    assert_near(p->serve[3 * T + 1], 0.5e-3);
    assert_near(p->serve[0 * T], 7);
    hps_fit_serve(p, 1, 6.06e-3, 0.2);          /* noise */
    assert_true(fabs(p->serve[0 * T + 1] / 1e-3 - 1) < 1e-4);
    hps_profile_free(p);
}

/* All that messages need, too. */
static struct hps_profile *filled_profile(void)
{
    struct hps_profile *p = new_profile();
    struct hps_trial trial = make_trial();
    struct hps_layer_time m[L];

    for (int t = 0; t < T; t++) {
        make_layers(m);
        fill(p, t, m, 1, hps_fit_layers(m, L, M, 1, &trial, 1e-5));
    }
    for (int at = 0; at < L * T; at++)
        p->recv[at] = p->send[at] = any(1e-4, 1e-3);
    p->examples = p->epochs = 1;
    return p;
}

/* Where units that copy their messages can explain it; one unit's step stays. */
static void two_stages_take_their_step(void **state)
{
    static const double of_model[] = { 0.5, 1, 1.02, 1.1, 100 };

    (void)state;
    for (int i = 0; i < 60; i++) {
        struct hps_profile *p = filled_profile();
        int cut = 1 + i % (L - 1);
        double one = step_of(p, 1, 1), before = step_of_cut(p, cut);
        double want = of_model[i % 5] * before;
        assert_near(hps_fit_move(p, 1, 0, cut, want, 0), before);
        double got = step_of_cut(p, cut);
        assert_true(p->engine.move >= 0 && p->engine.move <= 8);
        if (want <= before)
            assert_near(got, before);
        else
            assert_true(fabs(got - want) < 1e-6 * want || (p->engine.move > 7.99 && got < want));
        assert_near(step_of(p, 1, 1), one);
        hps_profile_free(p);
    }
}

/* What is within the noise moves nothing, and `move` is what is expected of it. */
static void noise_is_not_fitted(void **state)
{
    (void)state;
    struct hps_profile *p = filled_profile();
    double two = step_of(p, 0, 2);

    hps_fit_pair(p, 0, 1.01 * two, 0.2);
    assert_true(fabs(step_of(p, 0, 2) / two - 1) < 1e-4);
    hps_fit_move(p, 1, 0, 3, step_of_cut(p, 3), 1e3);
    assert_true(fabs(p->engine.move - 1) < 1e-3);
    hps_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_unit_takes_the_trials_step),
        cmocka_unit_test(nothing_is_lost),
        cmocka_unit_test(two_units_take_the_pairs_step),
        cmocka_unit_test(two_stages_take_their_step),
        cmocka_unit_test(noise_is_not_fitted),
        cmocka_unit_test(a_server_is_busy_as_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
