/* Law: a stage costs what the design's formula says, to the last digits, whatever stands beside
 * it; the least units for a tau are the least; more units never make a stage slower. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "plan/cost.h"
#include "tests/lib/plan_make.h"

static void near(double got, double wanted, double part)
{
    if (!(fabs(got - wanted) <= part * fabs(wanted)))
        fail_msg("got %.17g, wanted %.17g", got, wanted);
}

static void every_stage_by_the_formula(void **state)
{
    struct hps_profile *p = make_profile(1, 9, 3, 20, 0);

    (void)state;
    p->oct[4 * 3] = 1e9;       /* its neighbours keep their digits */
    struct hps_cost *c = hps_cost_new(p);
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < 9; i++)
            for (int j = i; j < 9; j++)
                for (long long k = 1; k < 300; k = 2 * k + 1)
                    near(hps_cost_stage(c, i, j, t, (double)k).et, make_et(p, i, j, t, k), 4e-15);
    hps_cost_free(c);
    hps_profile_free(p);
}

static void ends_of_the_network_move_nothing(void **state)
{
    struct hps_profile *p = make_profile(2, 3, 1, 4, 0);
    double et;

    (void)state;
    for (int l = 0; l < 3; l++)
        p->oct[l] = p->sync[l] = 0;
    p->oct[1] = 1e-9;
    struct hps_cost *c = hps_cost_new(p);
    et = hps_cost_stage(c, 0, 2, 0, 1).et;
    assert_true(et <= 1e-9 / p->batch);
    near(hps_cost_stage(c, 0, 0, 0, 2).et, p->send[0] / (2 * p->batch), 1e-15);
    near(hps_cost_stage(c, 1, 1, 0, 2).et, (p->recv[1] + p->send[1]) / (2 * p->batch), 1e-15);
    near(hps_cost_stage(c, 2, 2, 0, 2).et, p->recv[2] / (2 * p->batch), 1e-15);
    hps_cost_free(c);
    hps_profile_free(p);
}

/* The design's example of one stage, by hand. */
static void a_plan_by_hand(void **state)
{
    struct hps_profile *p = hps_profile_new(1, 1);
    struct hps_plan *plan = hps_plan_of_assignment(1, &(int){ 0 });

    (void)state;
    p->batch = 100;
    p->examples = 1e6;
    p->epochs = 0.5;
    p->type[0].price_usd_hour = 2;
    p->type[0].limit = 8;
    p->oct[0] = 0.4;
    p->alpha[0] = 0.5;
    p->sync[0] = 0.1;
    p->beta[0] = 1;
    p->server_units = 3;
    plan->stage[0].units = 4;
    hps_cost_of(plan, p);
    near(plan->stage[0].ct, 0.0025, 1e-15);
    near(plan->stage[0].dt, 0.00025, 1e-15);
    near(plan->throughput, 400, 1e-15);
    near(plan->seconds, 1250, 1e-15);
    near(plan->cost_usd, 1250.0 / 3600 * 14, 1e-15);
    assert_true(hps_cost_feasible(plan, p, 400));
    assert_false(hps_cost_feasible(plan, p, 400 * (1 + 2e-9)));
    p->server_units = 5;
    assert_false(hps_cost_feasible(plan, p, 0));
    hps_plan_free(plan);
    hps_profile_free(p);
}

static void one_line(const struct hps_cost_line *x, double tau, long long most)
{
    long long k = hps_cost_line_units(x, tau, most);

    if (k == 0) {
        assert_true(hps_cost_line_et(x, (double)most) > tau);
        return;
    }
    assert_true(hps_cost_line_et(x, (double)k) <= tau);
    assert_true(k == 1 || hps_cost_line_et(x, (double)(k - 1)) > tau);
}

static void units_are_the_least(void **state)
{
    uint64_t key = hps_rng_key(3, "lines"), n = 0;

    (void)state;
    for (int a = 0; a < 3000; a++) {
        double v[4];
        for (int b = 0; b < 4; b++)
            v[b] = hps_rng_real(key, n++) < 0.2 ? 0 : exp2(40 * hps_rng_real(key, n++) - 30);
        struct hps_cost_line x = { v[0], v[1], v[2], v[3], 1 };
        long long most = (long long)exp2(20 * hps_rng_real(key, n++));
        for (long long k = 1; k <= most; k = 3 * k + a % 5) {
            double tau = hps_cost_line_et(&x, (double)k);
            one_line(&x, tau, most);
            one_line(&x, nextafter(tau, 0), most);
            one_line(&x, tau * 1.3, most);
        }
        one_line(&x, INFINITY, most);
        one_line(&x, 0, most);
    }
    assert_int_equal(hps_cost_line_units(&(struct hps_cost_line){ 0, 1, 0, 0, 1 }, 1, 0), 0);
}

static void the_slack_of_a_limit(void **state)
{
    (void)state;
    assert_true(isinf(hps_cost_tau_max(0)));
    for (double limit = 1e-7; limit < 1e12; limit *= 3.7) {
        double tau = hps_cost_tau_max(limit);
        assert_true(tau * limit <= 1 + 1e-9);
        assert_true(nextafter(tau, 1e300) * limit > 1 + 1e-9 || tau * limit == 1 + 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_stage_by_the_formula),
        cmocka_unit_test(ends_of_the_network_move_nothing),
        cmocka_unit_test(a_plan_by_hand),
        cmocka_unit_test(units_are_the_least),
        cmocka_unit_test(the_slack_of_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
