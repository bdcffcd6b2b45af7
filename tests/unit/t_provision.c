/* Law: the units of given stages are the best of all units: the cheapest that keep both limits, or
 * the fastest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "plan/provision.h"
#include "tests/lib/plan_make.h"

static struct hps_plan *random_plan(uint64_t key, const struct hps_profile *p)
{
    int assignment[64];

    for (int l = 0; l < p->L; l++)
        assignment[l] = (int)(hps_rng_real(key, 100 + (uint64_t)l) * p->T);
    return hps_plan_of_assignment(p->L, assignment);
}

static void near(double got, double wanted)
{
    if (isinf(got) && isinf(wanted))
        return;
    if (!(fabs(got - wanted) <= 1e-9 * fabs(wanted)))
        fail_msg("got %.17g, wanted %.17g", got, wanted);
}

static void check(uint64_t seed, int *feasible, int *refused)
{
    uint64_t key = hps_rng_key(seed, "plan");
    int L = 1 + (int)(hps_rng_real(key, 0) * 5), T = 1 + (int)(hps_rng_real(key, 1) * 3);
    struct hps_profile *p = make_profile(seed, L, T, L > 3 ? 9 : 25, 0);
    struct hps_plan *plan = random_plan(key, p);

    if (seed % 4 == 0 && p->type[0].limit > 1)
        p->server_units = 1;
    if (seed % 3 == 0)
        make_memory(p, seed);
    struct hps_cost *c = hps_cost_new(p);
    double least = make_best_units(p, plan, 0, true);
    near(hps_provision_min_tau(plan, p, c), least);
    if (isfinite(least)) {
        near(1 / plan->throughput, least);
        double limit = (double)(seed % 5) / 4 / least;
        double truth = make_best_units(p, plan, limit, false);
        assert_true(hps_provision(plan, p, c, limit));
        near(plan->cost_usd, truth);
        assert_true(hps_cost_feasible(plan, p, limit));
        assert_false(hps_provision(plan, p, c, 1.001 / least));
        near(1 / plan->throughput, least);
        ++*feasible;
    } else {
        assert_false(hps_provision(plan, p, c, 0));
        assert_int_equal(plan->stage[0].units, 0);
        ++*refused;
    }
    hps_cost_free(c);
    hps_plan_free(plan);
    hps_profile_free(p);
}

static void best_of_all_units(void **state)
{
    int feasible = 0, refused = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 600; seed++)
        check(seed, &feasible, &refused);
    assert_in_range(feasible, 300, 599);
    assert_in_range(refused, 10, 200);
}

/* Thousands of units of a type: what is found is feasible, and one unit less anywhere is not, or
 * dearer. */
static void no_neighbour_is_better(void **state)
{
    (void)state;
    for (uint64_t seed = 1000; seed < 1040; seed++) {
        struct hps_profile *p = make_profile(seed, 8, 4, 5000, 0);
        struct hps_plan *plan = random_plan(hps_rng_key(seed, "plan"), p);
        struct hps_cost *c = hps_cost_new(p);
        double limit = 0.9 / hps_provision_min_tau(plan, p, c);
        assert_true(hps_provision(plan, p, c, limit));
        double cost = plan->cost_usd;
        for (int s = 0; s < plan->S; s++)
            for (int d = -1; d <= 1; d += 2) {
                if (plan->stage[s].units + d < 1)
                    continue;
                plan->stage[s].units += d;
                hps_cost_of(plan, p);
                assert_true(!hps_cost_feasible(plan, p, limit) ||
                            plan->cost_usd >= cost * (1 - 1e-9));
                plan->stage[s].units -= d;
            }
        hps_cost_free(c);
        hps_plan_free(plan);
        hps_profile_free(p);
    }
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_of_all_units),
        cmocka_unit_test(no_neighbour_is_better),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
