/* Law: the pricer's price of a plan is what its units cost by the formulas, whoever chose them;
 * what keeps the limits is cheaper than what does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "plan/cost.h"
#include "plan/pricer.h"
#include "plan_make.h"

enum { L = 6, T = 3 };

static const struct hps_sched_opt preset = {
    .method = "ils", .objective = "model", .profile = "", .plan = "", .policy = "", .warm = "",
    .polish = true, .seed = 1,
};

static void random_types(int *type, uint64_t key)
{
    for (int l = 0; l < L; l++)
        type[l] = (int)(hps_rng_real(key, (uint64_t)l) * T);
}

/* A plan of random types and units, at most one more than the type has. */
static struct hps_plan *random_plan(const struct hps_profile *p, uint64_t key, int *type,
                                    long long *units)
{
    random_types(type, key);
    struct hps_plan *plan = hps_plan_of_assignment(L, type);
    for (int s = 0; s < plan->S; s++) {
        double most = (double)p->type[plan->stage[s].type].limit + 1;
        units[s] = 1 + (long long)(hps_rng_real(key, 100 + (uint64_t)s) * most);
        plan->stage[s].units = units[s];
    }
    return plan;
}

static void given_units_cost_what_they_cost(void **state)
{
    int kind[3] = { 0 };

    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct hps_profile *p = make_profile(seed, L, T, 9, 0);
        double limit = 0.4 * hps_exact_most(p, 0, NULL, &(bool){ false }), best = INFINITY, tau;
        long long units[L];
        int type[L];
        struct hps_problem q = { .profile = p, .opt = &preset, .throughput_limit = limit };
        struct hps_pricer *pr = hps_pricer_new(&q);
        for (uint64_t n = 0; n < 20; n++) {
            struct hps_plan *plan = random_plan(p, hps_rng_sub(seed, n), type, units);
            double cost = make_cost(p, plan, &tau) * 3600 / p->examples;
            double price = hps_pricer_given(pr, type, units, INFINITY);
            bool slow = tau * limit > 1 + 1e-9;
            hps_cost_of(plan, p);
            if (hps_cost_feasible(plan, p, limit)) {
                assert_true(fabs(price - cost) <= 1e-12 * cost && price < pr->ceiling);
                best = fmin(best, cost);
                kind[0]++;
            } else if (hps_cost_feasible(plan, p, 0)) {
                assert_true(slow && price > pr->ceiling && price < 2 * pr->ceiling);
                kind[1]++;
            } else {
                assert_true(price > 2 * pr->ceiling && isfinite(price));
                kind[2]++;
            }
            assert_true(isinf(hps_pricer_given(pr, type, units, price)));
            hps_plan_free(plan);
        }
        struct hps_plan *plan = hps_pricer_plan(pr);
        assert_int_equal(plan != NULL, isfinite(best));
        if (plan)
            assert_true(fabs(make_cost(p, plan, &tau) * 3600 / p->examples - best) <= 1e-12 * best);
        hps_plan_free(plan);
        hps_pricer_free(pr);
        hps_profile_free(p);
    }
    for (int a = 0; a < 3; a++)
        assert_in_range(kind[a], 50, 5900);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(given_units_cost_what_they_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
