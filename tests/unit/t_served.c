/* Law: dedicated servers are one more term of tau; where a plan chooses them, no other type and
 * number of them, with any other stages, is cheaper or faster than what exact proves, and no method
 * finds one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "plan/cost.h"
#include "plan/pricer.h"
#include "plan/promise.h"
#include "plan/provision.h"
#include "tests/lib/plan_check.h"
#include "tests/lib/plan_make.h"

/* Servers work less than stages or more, sometimes not at all, or memory is what counts. */
static struct hps_profile *served(uint64_t seed, int L, int T, long long limit, int groups)
{
    struct hps_profile *p = make_profile(seed, L, T, limit, groups);
    uint64_t key = hps_rng_key(seed, "served");

    p->server_auto = true;
    p->server_type = -1;
    if (seed % 3 == 0) make_memory(p, seed);
    p->type[0].limit++;
    for (int t = 0; t < T; t++) {
        p->type[t].gpu = p->type[t].gpu && seed % 2;
        for (int l = 0; l < L; l++)
            p->serve[l * T + t] =
                seed % 5 == 1 ? 0
                              : 0.4 * (double)(1 + 4 * (seed / 5 % 3)) * p->oct[l * T + t] *
                                    hps_rng_real(key, (uint64_t)l);
    }
    return p;
}

/* 6 s of 2 examples on a server; the stage needs 1.5 s of an example on 2 units. */
static void a_plan_by_hand(void **state)
{
    struct hps_profile *p = hps_profile_new(1, 1);
    struct hps_plan *plan = hps_plan_of_assignment(1, &(int){ 0 });

    (void)state;
    p->batch = 2;
    p->examples = 900;
    p->epochs = 2;
    p->oct[0] = 6;
    p->alpha[0] = 1;
    p->serve[0] = 6;
    p->type[0].price_usd_hour = 3;
    p->type[0].limit = 5;
    p->server_units = 1;
    plan->stage[0].units = 2;
    hps_cost_of(plan, p);
    make_near(hps_cost_server_et(plan, p), 3);
    make_near(plan->throughput, 1.0 / 3);
    make_near(plan->cost_usd, 1800 * 3 / 3600.0 * 9);
    make_near(hps_promise_step(plan, p).step_s, 8 * (1.5 + 3)); /* it waits for its rows */
    p->server_auto = true;
    p->server_units = 0;
    plan->server_units = 2;
    hps_cost_of(plan, p);
    make_near(plan->throughput, 1 / 1.5);
    make_near(plan->cost_usd, 1800 * 1.5 / 3600.0 * 12);
    assert_int_equal(hps_plan_check(plan, p, "plan"), HPS_OK);
    plan->server_units = 4;
    assert_int_equal(hps_plan_check(plan, p, "too many"), HPS_DECK);
    assert_false(hps_cost_feasible(plan, p, 0));
    plan->server_units = 0;
    assert_int_equal(hps_plan_check(plan, p, "none"), HPS_DECK);
    plan->server_units = 1;
    plan->server_type = 1;
    assert_int_equal(hps_plan_check(plan, p, "no type"), HPS_DECK);
    plan->server_type = 0;
    p->type[0].gpu = true;
    assert_int_equal(hps_plan_check(plan, p, "a GPU"), HPS_DECK);
    hps_plan_free(plan);
    hps_profile_free(p);
}

static void the_fewest_are_the_best(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 2000; n++) {
        uint64_t key = hps_rng_key(n, "fewest");
        struct hps_cost_servers x = { .work = n % 7 ? exp(4 * hps_rng_real(key, 0)) : 0,
                                      .min = 1 + (long long)(4 * hps_rng_real(key, 1)),
                                      .max = 5 + (long long)(90 * hps_rng_real(key, 2)) };
        long long wish = 1 + (long long)(100 * hps_rng_real(key, 3));
        double tau = n % 2 ? x.work / (double)wish : exp(4 * hps_rng_real(key, 4) - 2);
        long long got = hps_cost_server_units(&x, tau);
        assert_in_range(got, x.min, x.max + 1);
        assert_true(got > x.max || x.work / (double)got <= tau);
        assert_true(got == x.min || x.work / (double)(got - 1) > tau);
    }
}

/* No other number is better where stages wait for a share of what servers do. */
static void the_best_number(void **state)
{
    int feasible = 0, more = 0;

    (void)state;
    for (uint64_t n = 0; n < 3000; n++) {
        uint64_t key = hps_rng_key(n, "number");
        struct hps_provision_servers x = {
            .can = { .work = n % 7 ? exp(4 * hps_rng_real(key, 0)) : 0,
                     .price = n % 11 ? hps_rng_real(key, 1) : 0,
                     .min = 1 + (long long)(4 * hps_rng_real(key, 2)),
                     .max = 5 + (long long)(40 * hps_rng_real(key, 3)) },
            .wait = n % 4 ? 1.0 / (double)(n % 4) : 0
        };
        double tau = exp(4 * hps_rng_real(key, 4) - 2), rate = 5 * hps_rng_real(key, 5);
        double tau_max = n % 3 ? tau * (0.9 + hps_rng_real(key, 6)) : INFINITY, best = INFINITY;
        long long most = n % 5 ? 50 : 1 + (long long)(20 * hps_rng_real(key, 7));
        for (long long k = x.can.min; k <= x.can.max && k <= most; k++) {
            double et = x.can.work / (double)k, all = fmax(et, tau + x.wait * et);
            if (all <= tau_max) best = fmin(best, all * (rate + x.can.price * (double)k));
        }
        double got = hps_provision_serve_best(&x, tau, rate, tau_max, most);
        assert_int_equal(isfinite(got), isfinite(best));
        if (isinf(best)) continue;
        assert_in_range(x.units, x.can.min, x.can.max < most ? x.can.max : most);
        make_near(got * (rate + x.can.price * (double)x.units), best);
        feasible++;
        more += x.units > hps_cost_server_units(&x.can, tau);
    }
    assert_in_range(feasible, 1500, 2900);
    assert_in_range(more, 200, feasible);
}

/* ---- enumeration ---- */

static void check_exact(const struct hps_profile *p, double limit, double least)
{
    struct hps_plan *plan;
    bool proven;
    double tau;

    make_near(hps_exact_bound(p, limit, 0, 0, &plan, &proven), least);
    assert_true(proven);
    assert_int_equal(plan != NULL, isfinite(least));
    if (plan) {
        make_near(make_cost(p, plan, &tau), least);
        make_near(plan->cost_usd, least);
        assert_true(plan->gap == 0 && tau * limit <= 1 + 1.001e-9 && make_fits(p, plan));
        assert_int_equal(hps_plan_check(plan, p, "exact"), HPS_OK);
        assert_true(hps_cost_feasible(plan, p, limit));
    }
    hps_plan_free(plan);
}

static void check_method(const struct hps_profile *p, const char *method, double limit,
                         double least)
{
    struct hps_sched_opt opt = make_preset;
    struct hps_plan *plan;
    double tau;

    opt.method = method;
    opt.throughput_limit = limit;
    if (hps_sched_run(&plan, p, &opt)) {
        assert_string_not_equal(method, "brute");
        return;
    }
    double cost = make_cost(p, plan, &tau);
    assert_int_equal(hps_plan_check(plan, p, method), HPS_OK);
    assert_true(hps_cost_feasible(plan, p, limit));
    make_near(plan->cost_usd, cost);
    make_near(plan->lower_bound_usd, least);
    assert_true(cost >= least * (1 - 1e-9));
    if (strcmp(method, "brute") == 0)
        make_near(cost, least);
    hps_plan_free(plan);
}

static void check(struct hps_profile *p, uint64_t seed, int *feasible)
{
    static const double share[] = { 0, 0.5, 0.9, 0.98, 1 };
    static const char *const method[] = { "ils", "greedy", "genetic", "bayes", "rl", "rl-joint",
                                          "heuristic", "single:t0" };
    double tau = make_best(p, 0, true), limit = share[seed % 5] / tau;
    double least = make_best(p, limit, false);
    struct hps_plan *plan;
    bool proven;

    check_exact(p, limit, least);
    if (isfinite(tau)) {
        make_near(hps_exact_max_throughput(p, 0, &plan, &proven), 1 / tau);
        assert_true(proven);
        assert_int_equal(hps_plan_check(plan, p, "fastest"), HPS_OK);
        hps_plan_free(plan);
    }
    if (isfinite(least)) {
        check_method(p, "brute", limit, least);
        check_method(p, method[seed % 8], limit, least);
    }
    *feasible += isfinite(least);
    hps_profile_free(p);
}

static void what_enumeration_finds(void **state)
{
    int feasible = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 240; seed++)
        check(served(seed, 1 + (int)(seed % 4), 1 + (int)(seed % 3), 8, 0), seed, &feasible);
    assert_in_range(feasible, 150, 239);
}

static void among_equal_types(void **state)
{
    int feasible = 0;

    (void)state;
    for (uint64_t seed = 1000; seed < 1060; seed++)
        check(served(seed, 3, 3, 6, 1), seed, &feasible);
    assert_in_range(feasible, 30, 60);
}

static void for_several_workers(void **state)
{
    int feasible = 0;

    (void)state;
    for (uint64_t seed = 2000; seed < 2100; seed++) {
        struct hps_profile *p = served(seed, 1 + (int)(seed % 3), 1 + (int)(seed % 2), 12, 0);
        p->workers = 2 + (int)(seed % 2);
        check(p, seed, &feasible);
    }
    assert_in_range(feasible, 40, 99);
}

/* Larger problems: as cheap as the cheapest of all problems with given servers. */
static void the_best_of_all_given(void **state)
{
    int feasible = 0;

    (void)state;
    for (uint64_t seed = 4000; seed < 4016; seed++) {
        struct hps_profile *p = served(seed, 7, 3, 24, 0);
        bool proven;
        double most = hps_exact_max_throughput(p, 0, NULL, &proven), best = INFINITY, fastest = 0;
        double limit = 0.2499999 * (double)(seed % 5) * most;
        double got = hps_exact_bound(p, limit, 0, 0, NULL, &proven);
        struct hps_profile of = *p;
        assert_true(proven);
        of.server_auto = false;
        for (of.server_type = 0; of.server_type < p->T; of.server_type++)
            for (long long n = hps_memory_min_servers(p, of.server_type);
                 n <= p->type[of.server_type].limit && !p->type[of.server_type].gpu; n++) {
                of.server_units = n;
                best = fmin(best, hps_exact_bound(&of, limit, 0, 0, NULL, &proven));
                if (n % 3 == 0 || n == 1)
                    fastest = fmax(fastest, hps_exact_max_throughput(&of, 0, NULL, &proven));
            }
        make_near(got, best);
        assert_true(fastest <= most * (1 + 1e-9));
        feasible += isfinite(best);
        hps_profile_free(p);
    }
    assert_in_range(feasible, 10, 16);
}

/* One type is given, or all that there is. */
static void of_a_given_type_and_number(void **state)
{
    int feasible = 0;

    (void)state;
    for (uint64_t seed = 3000; seed < 3120; seed++) {
        struct hps_profile *p = served(seed, 3, 2, 7, 0);
        p->server_type = 0;
        p->server_auto = seed % 2;
        p->server_units = p->server_auto ? 0 : 1;
        check(p, seed, &feasible);
    }
    assert_in_range(feasible, 70, 119);
}

/* ---- the engine ---- */

/* The best of all units and servers for these stages, under the engine-faithful model. */
static double engine_truth(const struct hps_profile *p, struct hps_plan *plan, int s,
                           long long *left, double limit)
{
    double best = INFINITY;

    if (s == plan->S) {
        hps_cost_of(plan, p);
        struct hps_engine_result r = hps_engine_of(plan, p);
        return r.examples_s * (1 + 1e-9) >= limit && make_fits(p, plan) ? r.cost_usd : INFINITY;
    }
    long long *room = &left[plan->stage[s].type], all = *room;
    for (long long k = 1; k <= all; k++) {
        plan->stage[s].units = k;
        *room = all - k;
        best = fmin(best, engine_truth(p, plan, s + 1, left, limit));
    }
    *room = all;
    return best;
}

static double engine_best(const struct hps_profile *p, const int *type, double limit)
{
    struct hps_plan *plan = hps_plan_of_assignment(p->L, type);
    double best = INFINITY;

    for (int t = 0; t < p->T; t++)
        for (long long n = 1; n <= p->type[t].limit && !p->type[t].gpu; n++) {
            long long left[2] = { p->type[0].limit, p->type[1].limit };
            left[t] -= n;
            plan->server_type = t;
            plan->server_units = n;
            best = fmin(best, engine_truth(p, plan, 0, left, limit));
        }
    hps_plan_free(plan);
    return best;
}

static void the_engine_chooses_too(void **state)
{
    int feasible = 0, same = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 120; seed++) {
        struct hps_profile *p = served(seed, 3, 2, 6, 0);
        struct hps_sched_opt opt = make_preset;
        struct hps_problem q = { .profile = p, .opt = &opt };
        int type[] = { (int)(seed % 2), (int)(seed / 2 % 2), (int)(seed / 4 % 2) };
        opt.objective = "engine";
        p->engine.batch = 3 * p->batch;
        p->engine.microbatches = 3;
        p->server_dense = seed % 3 == 1;      /* those of no known memory */
        p->engine.step_s[0] = 0.01;
        q.throughput_limit =
            0.15 * (double)(seed % 4) * hps_exact_max_throughput(p, 0, NULL, &(bool){ 0 });
        double best = engine_best(p, type, q.throughput_limit);
        struct hps_pricer *pr = hps_pricer_new(&q);
        double price = hps_pricer_price(pr, type, INFINITY);
        struct hps_plan *plan = hps_pricer_plan(pr);
        assert_int_equal(plan != NULL, isfinite(best));
        if (plan) {
            struct hps_engine_result r = hps_engine_of(plan, p);
            make_near(price * p->examples / 3600, r.cost_usd);
            assert_int_equal(hps_plan_check(plan, p, "engine"), HPS_OK);
            assert_true(r.cost_usd >= best * (1 - 1e-9));
            assert_true(r.step_s >= p->engine.batch / plan->throughput * (1 - 1e-12));
            same += r.cost_usd <= best * (1 + 1e-9);
            feasible++;
        }
        hps_plan_free(plan);
        hps_pricer_free(pr);
        hps_profile_free(p);
    }
    assert_in_range(feasible, 60, 119);
    assert_in_range(same, feasible - 2, feasible);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_by_hand),         cmocka_unit_test(the_fewest_are_the_best),
        cmocka_unit_test(the_best_number),
        cmocka_unit_test(what_enumeration_finds), cmocka_unit_test(among_equal_types),
        cmocka_unit_test(for_several_workers),    cmocka_unit_test(of_a_given_type_and_number),
        cmocka_unit_test(the_best_of_all_given),  cmocka_unit_test(the_engine_chooses_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
