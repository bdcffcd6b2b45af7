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
#include "plan/engine.h"
#include "plan/pricer.h"
#include "tests/lib/plan_make.h"

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
        double limit = 0.4 * hps_exact_max_throughput(p, 0, NULL, &(bool){ false }),
               best = INFINITY, tau;
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

/* A walk over all ways to pair the stages of a plan, and all their units; what it saw at best. */
struct walk {
    const struct hps_profile *p;
    struct hps_plan *plan;
    double limit, best;
    bool engine, share;
    const long long *given;     /* (S) units, the larger of two that share; NULL: all */
    long long left[T];
};

static void judge(struct walk *w)
{
    double tau, cost = make_cost(w->p, w->plan, &tau);

    if (w->engine) {
        hps_cost_of(w->plan, w->p);
        struct hps_engine_result r = hps_engine_of(w->plan, w->p);
        tau = 1 / r.examples_s;
        cost = r.cost_usd;
    }
    if (tau * w->limit <= 1 + 1e-9 && make_fits(w->p, w->plan))
        w->best = fmin(w->best, cost * 3600 / w->p->examples);
}

static void all_units(struct walk *w, int s)
{
    if (s == w->plan->S) {
        judge(w);
        return;
    }
    struct hps_plan_stage *g = &w->plan->stage[s];
    int with = hps_plan_partner(w->plan, s);
    if (with >= 0 && with < s) {
        g->units = w->plan->stage[with].units;
        all_units(w, s + 1);
        return;
    }
    long long room = w->left[g->type];
    for (g->units = 1; g->units <= room; g->units++) {
        w->left[g->type] = room - g->units;
        all_units(w, s + 1);
    }
    w->left[g->type] = room;
}

/* The units that are given, where there are as many. */
static void given_units(struct walk *w)
{
    struct hps_plan *plan = w->plan;
    long long used[T] = { 0 };
    bool enough = true;

    for (int s = 0; s < plan->S; s++) {
        int with = hps_plan_partner(plan, s), t = plan->stage[s].type;
        plan->stage[s].units = w->given[s];
        if (with >= 0 && w->given[with] > w->given[s])
            plan->stage[s].units = w->given[with];
        if (with < 0 || with > s)
            used[t] += plan->stage[s].units;
        enough = enough && used[t] <= w->left[t];
    }
    if (enough)
        judge(w);
}

static void all_pairs(struct walk *w, int s)
{
    struct hps_plan *plan = w->plan;

    if (s == plan->S) {
        w->given ? given_units(w) : all_units(w, 0);
        return;
    }
    all_pairs(w, s + 1);
    if (!w->share || hps_plan_partner(plan, s) >= 0)
        return;
    for (int b = s + 1; b < plan->S; b++) {
        if (plan->stage[b].type != plan->stage[s].type || hps_plan_partner(plan, b) >= 0)
            continue;
        plan->share[plan->nshare][0] = s;
        plan->share[plan->nshare++][1] = b;
        all_pairs(w, s + 1);
        plan->nshare--;
    }
}

static double truth(const struct hps_profile *p, const int *type, double limit, bool engine,
                    bool share, const long long *given)
{
    struct walk w = { p, hps_plan_of_assignment(p->L, type), limit, INFINITY, engine, share,
                      given, { 0 } };

    for (int t = 0; t < p->T; t++)
        w.left[t] = hps_cost_capacity(p, t);
    hps_plan_share(w.plan, p->L);
    w.plan->nshare = 0;
    all_pairs(&w, 0);
    hps_plan_free(w.plan);
    return w.best;
}

/* Few units, sometimes little memory or a server, and what a step costs beside its layers. */
static struct hps_profile *small(uint64_t seed)
{
    uint64_t key = hps_rng_key(seed, "small");
    int n = 3 + (int)(3 * hps_rng_real(key, 0));
    struct hps_profile *p = make_profile(seed, n, 2, n > 4 ? 4 : n > 3 ? 7 : 25, 0);

    p->engine.batch = p->batch * (double)(p->engine.microbatches = 1 + (long long)(seed % 6));
    for (int a = 0; a < 2 * n; a++) {
        p->engine.forward_s[a] = 0.3 * p->oct[a];
        p->engine.once_s[a] = 0.1 * p->oct[a];
        p->layer[a / 2].reads = a < 2 || a / 2 == n - 1;
    }
    for (int t = 0; t < 2; t++) {
        p->engine.read_s[t] = 1e-3 * hps_rng_real(key, 1) / p->batch;
        p->engine.micro_s[t] = 1e-2 * hps_rng_real(key, 2 + (uint64_t)t);
        p->engine.step_s[t] = 1e-1 * hps_rng_real(key, 4 + (uint64_t)t);
    }
    if (seed % 3 == 0)
        make_memory(p, seed);
    if (seed % 5 == 0 && p->type[1].limit > 1)
        p->server_type = p->server_units = 1;
    return p;
}

struct tally { int feasible, same, shared; double worst; };

static void compare(uint64_t seed, bool engine, bool share, struct tally *y)
{
    struct hps_profile *p = small(seed);
    struct hps_sched_opt opt = preset;
    struct hps_problem q = { .profile = p, .opt = &opt };
    int type[8];

    opt.objective = engine ? "engine" : "model";
    opt.share = share;
    for (uint64_t n = 0; n < 6; n++) {
        for (int l = 0; l < p->L; l++)
            type[l] = (int)(2 * hps_rng_real(hps_rng_sub(seed, n), (uint64_t)l));
        q.throughput_limit =
            0.25 * (double)(n % 4) * hps_exact_max_throughput(p, 0, NULL, &(bool){ 0 });
        double best = truth(p, type, q.throughput_limit, engine, share, NULL);
        struct hps_pricer *pr = hps_pricer_new(&q);
        double price = hps_pricer_price(pr, type, INFINITY);
        struct hps_plan *plan = hps_pricer_plan(pr);
        assert_int_equal(isfinite(best), price < pr->ceiling);
        assert_int_equal(isfinite(best), plan != NULL);
        if (plan) {
            struct walk w = { p, plan, q.throughput_limit, INFINITY, engine, share, NULL,
                              { 0 } };
            judge(&w);
            assert_true(fabs(w.best - price) <= 1e-9 * price && price >= best * (1 - 1e-9));
            assert_int_equal(hps_plan_check(plan, p, "it"), HPS_OK);
            y->feasible++;
            y->same += price <= best * (1 + 1e-9);
            y->shared += plan->nshare > 0;
            y->worst = fmax(y->worst, price / best - 1);
        }
        hps_plan_free(plan);
        hps_pricer_free(pr);
    }
    hps_profile_free(p);
}

static void shares_as_is_cheapest(void **state)
{
    struct tally y = { 0 };

    (void)state;
    for (uint64_t seed = 0; seed < 120; seed++)
        compare(seed, false, true, &y);
    assert_in_range(y.feasible, 300, 500);
    assert_in_range(y.shared, 100, 300);
    assert_int_equal(y.same, y.feasible);
}

static void given_units_are_shared_as_is_cheapest(void **state)
{
    int shared = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct hps_profile *p = small(seed);
        struct hps_sched_opt opt = preset;
        struct hps_problem q = { .profile = p, .opt = &opt };
        long long units[8];
        int type[8];
        opt.share = true;
        opt.objective = seed % 2 ? "model" : "engine";
        q.throughput_limit =
            0.3 * (double)(seed % 3) * hps_exact_max_throughput(p, 0, NULL, &(bool){ 0 });
        for (int l = 0; l < p->L; l++) {
            type[l] = l % 2;
            units[l] = 1 + (int)(3 * hps_rng_real(seed, 100 + (uint64_t)l));
        }
        double best = truth(p, type, q.throughput_limit, seed % 2 == 0, true, units);
        struct hps_pricer *pr = hps_pricer_new(&q);
        double price = hps_pricer_given(pr, type, units, INFINITY);
        assert_true(isfinite(best) ? fabs(price / best - 1) <= 1e-9 : price > pr->ceiling);
        struct hps_plan *plan = hps_pricer_plan(pr);
        assert_int_equal(plan != NULL, isfinite(best));
        shared += plan && plan->nshare > 0;
        hps_plan_free(plan);
        hps_pricer_free(pr);
        hps_profile_free(p);
    }
    assert_in_range(shared, 10, 150);
}

/* No rule gives the best units there, so the search is a local one: of 50000 such plans it missed
 * one. */
static void units_are_best_for_the_engine(void **state)
{
    struct tally y = { 0 }, z = { 0 };

    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        compare(seed, true, false, &y);
        compare(seed, true, true, &z);
    }
    assert_in_range(y.feasible, 160, 240);
    if (y.same != y.feasible || z.same != z.feasible)
        fail_msg("%d of %d, %d of %d; at worst %g, %g", y.same, y.feasible, z.same, z.feasible,
                 y.worst, z.worst);
    assert_in_range(z.shared, 80, 160);
}

/* Over all assignments: no bound above the best plan, the plan of exact no cheaper than it, and
 * under the engine model too. */
static void bounds_hold_whatever_is_asked(void **state)
{
    int closed = 0, cheaper = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct hps_profile *p = small(seed);
        struct hps_sched_opt opt = preset;
        struct hps_plan *plain, *best, *exact;
        opt.throughput_limit =
            0.2 * (double)(seed % 5) * hps_exact_max_throughput(p, 0, NULL, &(bool){ 0 });
        struct hps_problem q = { .profile = p, .opt = &opt,
                                 .throughput_limit = opt.throughput_limit };
        hps_exact_bound(p, opt.throughput_limit, 0, 0, &plain, &(bool){ 0 });
        opt.share = seed % 2;
        opt.objective = seed % 3 ? "model" : "engine";
        opt.method = "brute";
        opt.evaluations = 1000;
        if (plain && hps_sched_run(&best, p, &opt) == HPS_OK) {
            assert_int_equal(hps_sched_exact.run(&q, 1, &exact), HPS_OK);
            assert_true(best->lower_bound_usd <= best->cost_usd * (1 + 1e-9));
            assert_non_null(exact);
            if (exact) {
                assert_true(exact->lower_bound_usd <= best->cost_usd * (1 + 1e-9));
                assert_true(hps_sched_usd(&q, exact) >= hps_sched_usd(&q, best) * (1 - 1e-9));
                closed += best->gap == 0;
                cheaper += best->cost_usd < plain->cost_usd * (1 - 1e-9);
            }
            hps_plan_free(exact);
            hps_plan_free(best);
        }
        hps_plan_free(plain);
        hps_profile_free(p);
    }
    assert_in_range(closed, 10, 59);
    assert_in_range(cheaper, 1, 30);
}

static struct hps_plan *plan_at(const struct hps_sched *method, const struct hps_profile *p,
                                bool share, double limit)
{
    struct hps_sched_opt opt = preset;
    struct hps_problem q = { .profile = p, .opt = &opt, .throughput_limit = limit };
    struct hps_plan *plan;

    opt.share = share;
    opt.objective = "engine";
    opt.evaluations = 20000;
    assert_int_equal(method->run(&q, 1, &plan), HPS_OK);
    return plan;
}

/* Where hardly any plan is fast enough for the engine, exact has one when brute has. */
static void exact_finds_what_the_engine_can_keep(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 24; seed++) {
        struct hps_profile *p = small(seed);
        double least = 0, most = hps_exact_max_throughput(p, 0, NULL, &(bool){ 0 });
        for (int n = 0; n < 8; n++) {
            struct hps_plan *plan = plan_at(&hps_sched_brute, p, seed % 2, (least + most) / 2);
            *(plan ? &least : &most) = (least + most) / 2;
            hps_plan_free(plan);
        }
        struct hps_plan *plan = least > 0 ? plan_at(&hps_sched_exact, p, seed % 2, least) : NULL;
        assert_int_equal(plan != NULL, least > 0);
        hps_plan_free(plan);
        hps_profile_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_as_is_cheapest),
        cmocka_unit_test(given_units_are_shared_as_is_cheapest),
        cmocka_unit_test(units_are_best_for_the_engine),
        cmocka_unit_test(bounds_hold_whatever_is_asked),
        cmocka_unit_test(exact_finds_what_the_engine_can_keep),
        cmocka_unit_test(given_units_cost_what_they_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
