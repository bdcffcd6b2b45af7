/* Law: branch and bound finds what trying everything finds - the cheapest plan, the fastest plan,
 * or that none is feasible - and never claims a bound above the truth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "plan/cost.h"
#include "plan/exact/exact_cover_impl.h"
#include "plan/exact/exact_label_impl.h"
#include "plan/sched.h"
#include "tests/lib/plan_make.h"

static int between(uint64_t key, uint64_t index, int least, int most)
{
    return least + (int)(hps_rng_real(key, index) * (most - least + 1));
}

/* Small enough to try everything: more layers, fewer units. */
static struct hps_profile *small(uint64_t seed, int groups)
{
    uint64_t key = hps_rng_key(seed, "size");
    int L = between(key, 0, 1, 8), T = between(key, 1, 1, 3);
    struct hps_profile *p = make_profile(seed, L, T, L > 6 ? 3 : L > 4 ? 5 : 9, groups);

    if (hps_rng_real(key, 2) < 0.2) {
        p->server_type = between(key, 3, 0, T - 1);
        p->server_units = 1;
        if (p->type[p->server_type].limit < 2 && T == 1)
            p->type[p->server_type].limit = 2;
    }
    return p;
}

static void same(double got, double wanted, uint64_t seed)
{
    if (isinf(got) && isinf(wanted))
        return;
    if (!(fabs(got - wanted) <= 1e-9 * fabs(wanted)))
        fail_msg("profile %llu: got %.17g, wanted %.17g", (unsigned long long)seed, got, wanted);
}

/* The plan is what it says: by the design's formulas, within the limits. */
static void honest(const struct hps_plan *plan, const struct hps_profile *p, double limit)
{
    double tau, cost = make_cost(p, plan, &tau);

    assert_int_equal(hps_plan_check(plan, p, "plan"), HPS_OK);
    assert_true(tau * limit <= 1 + 1.001e-9 && make_fits(p, plan));
    assert_true(fabs(plan->cost_usd - cost) <= 1e-12 * cost);
    for (int s = 1; s < plan->S; s++)
        assert_int_not_equal(plan->stage[s].type, plan->stage[s - 1].type);
}

static int check_cheapest(uint64_t seed, const struct hps_profile *p, double limit)
{
    struct hps_plan *plan;
    bool proven;
    double truth = make_best(p, limit, false);
    double bound = hps_exact_bound(p, limit, 0, 0, &plan, &proven);

    assert_true(proven);
    same(bound, truth, seed);
    assert_int_equal(plan != NULL, isfinite(truth));
    if (plan) {
        same(plan->cost_usd, truth, seed);
        assert_true(plan->gap == 0);
        honest(plan, p, limit);
    }
    hps_plan_free(plan);
    return isfinite(truth);
}

static void check_fastest(uint64_t seed, const struct hps_profile *p, double tau)
{
    struct hps_plan *plan;
    bool proven;
    double most = hps_exact_max_throughput(p, 0, &plan, &proven);

    assert_true(proven);
    assert_non_null(plan);
    same(1 / most, tau, seed);
    same(plan->throughput, most, seed);
    honest(plan, p, most);
    hps_plan_free(plan);
}

/* A limit near the edge of feasibility, beyond it, or none. */
static void check(uint64_t seed, int groups, int *feasible)
{
    struct hps_profile *p = small(seed, groups);
    double tau = make_best(p, 0, true);
    static const double share[] = { 0, 0.4, 0.8, 0.97, 1, 1.02 };
    double limit = share[seed % 6] / tau;

    if (isinf(tau)) {
        hps_profile_free(p);
        return;
    }
    *feasible += check_cheapest(seed, p, limit);
    if (seed % 3 == 0)
        check_fastest(seed, p, tau);
    hps_profile_free(p);
}

static void finds_what_enumeration_finds(void **state)
{
    int feasible = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++)
        check(seed, 0, &feasible);
    assert_in_range(feasible, 100, 180);
}

static void finds_it_among_equal_types(void **state)
{
    int feasible = 0;

    (void)state;
    for (uint64_t seed = 1000; seed < 1080; seed++)
        check(seed, 1 + (int)(seed % 2), &feasible);
    assert_in_range(feasible, 40, 79);
}

/* A pool where stages want several units for their memory, or have no place. */
static void finds_it_where_memory_is_short(void **state)
{
    int feasible = 0, short_of = 0;
    double free_cost;

    (void)state;
    for (uint64_t seed = 6000; seed < 6100; seed++) {
        struct hps_profile *p = small(seed, seed % 5 == 0 ? 2 : 0);
        double limit = (double)(seed % 4) / 4 / make_best(p, 0, true);
        free_cost = isfinite(limit) ? hps_exact_bound(p, limit, 0, 0, NULL, &(bool){ 0 }) : 0;
        make_memory(p, seed);
        if (isfinite(limit)) {
            feasible += check_cheapest(seed, p, limit);
            short_of += make_best(p, limit, false) > free_cost * (1 + 1e-9);
        }
        if (seed % 3 == 0 && isfinite(make_best(p, 0, true)))
            check_fastest(seed, p, make_best(p, 0, true));
        hps_profile_free(p);
    }
    assert_in_range(feasible, 30, 90);
    assert_in_range(short_of, 20, 95);
}

/* The type with most units in use gets one fewer than that; false when none has two. */
static bool cut(struct hps_profile *p, const struct hps_plan *plan)
{
    long long used[3] = { 0 };
    int most = 0;

    if (p->server_units > 0)
        used[p->server_type] = p->server_units;
    for (int s = 0; s < plan->S; s++)
        used[plan->stage[s].type] += plan->stage[s].units;
    for (int t = 0; t < p->T; t++)
        most = used[t] > used[most] ? t : most;
    p->type[most].limit = used[most] - 1;
    return used[most] > 1;
}

/* A limit below what the best plan uses, again and again: few plans are left, then none. */
static void finds_the_last_plan_that_the_limits_leave(void **state)
{
    int feasible = 0, none = 0;

    (void)state;
    for (uint64_t seed = 7000; seed < 7040; seed++) {
        struct hps_profile *p = small(seed, seed % 4 == 3 ? 2 : 0);
        double limit = 0.3 / make_best(p, 0, true);
        struct hps_plan *plan = NULL;
        if (isfinite(limit) && limit > 0)
            hps_exact_bound(p, limit, 0, 0, &plan, &(bool){ 0 });
        for (int n = 0; plan && n < 12 && cut(p, plan); n++) {
            int more = check_cheapest(seed, p, limit);
            hps_plan_free(plan);
            hps_exact_bound(p, limit, 0, 0, &plan, &(bool){ 0 });
            feasible += more;
            none += !more;
        }
        hps_plan_free(plan);
        hps_profile_free(p);
    }
    assert_in_range(feasible, 20, 100);
    assert_in_range(none, 15, 40);
}

/* Where only plans nearly as fast as the fastest will do, a small budget has one. */
static void finds_a_plan_at_the_edge(void **state)
{
    (void)state;
    for (uint64_t seed = 8000; seed < 8012; seed++) {
        struct hps_profile *p = make_profile(seed, 16, 5, 8, seed % 3 == 2 ? 3 : 0);
        struct hps_plan *plan;
        bool proven;
        double most = hps_exact_max_throughput(p, 0, NULL, &proven);
        assert_true(proven);
        hps_exact_bound(p, 0.999 * most, 0, 20000, &plan, &proven);
        assert_non_null(plan);
        honest(plan, p, 0.999 * most);
        hps_plan_free(plan);
        hps_profile_free(p);
    }
}

static void bounds_what_is_cut_inside_one_type(void **state)
{
    (void)state;
    for (uint64_t seed = 2000; seed < 2030; seed++) {
        struct hps_profile *p = make_profile(seed, 5, 2, 4, 0);
        double limit = 0.7 / make_best(p, 0, true);
        struct hps_exact_request wish = { .throughput_limit = limit, .cuts = true };
        bool proven;
        same(hps_exact_solve(p, &wish, NULL, &proven), make_best_cuts(p, limit), seed);
        assert_true(proven);
        hps_profile_free(p);
    }
}

static double cost_of(const struct hps_profile *p, double limit)
{
    bool proven;

    return hps_exact_bound(p, limit, 0, 0, NULL, &proven);
}

/* Cheaper, faster, more or less asked for: never dearer. */
static void never_dearer_for_a_better_pool(void **state)
{
    (void)state;
    for (uint64_t seed = 3000; seed < 3040; seed++) {
        struct hps_profile *p = make_profile(seed, 12, 5, 20, 0);
        double most = hps_exact_max_throughput(p, 0, NULL, &(bool){ false }), limit = 0.8 * most;
        double before = cost_of(p, limit), after;
        uint64_t key = hps_rng_key(seed, "change");
        int t = between(key, 0, 0, 4), l = between(key, 1, 0, 11);

        assert_true(cost_of(p, 0.9 * limit) <= before * (1 + 1e-9));
        p->type[t].limit += 3;
        after = cost_of(p, limit);
        assert_true(after <= before * (1 + 1e-9));
        p->oct[l * 5 + t] *= 0.7;
        before = after;
        after = cost_of(p, limit);
        assert_true(after <= before * (1 + 1e-9));
        p->type[t].price_usd_hour *= 0.8;
        assert_true(cost_of(p, limit) <= after * (1 + 1e-9));
        hps_profile_free(p);
    }
}

/* Stopped early, the bound is below what the whole search proves, and the gap says so. */
static void honest_when_it_is_stopped(void **state)
{
    int open = 0;

    (void)state;
    for (uint64_t seed = 4000; seed < 4010; seed++) {
        struct hps_profile *p = make_profile(seed, 14, 8, 12, 0);
        double most = hps_exact_max_throughput(p, 0, NULL, &(bool){ false }), limit = 0.9 * most;
        double truth = cost_of(p, limit);
        for (long long n = 1; n < 200; n *= 3) {
            struct hps_plan *plan;
            bool proven;
            double bound = hps_exact_bound(p, limit, 0, n, &plan, &proven);
            assert_true(bound <= truth * (1 + 1e-9));
            if (plan) {
                assert_true(plan->cost_usd >= truth * (1 - 1e-9));
                assert_true(proven ? plan->gap == 0 : plan->gap > 0);
                assert_true(fabs(plan->cost_usd * (1 - plan->gap) - bound) <= 1e-9 * truth);
            }
            open += !proven;
            hps_plan_free(plan);
        }
        hps_profile_free(p);
    }
    assert_in_range(open, 5, 50);
}

static void the_same_every_time(void **state)
{
    struct hps_profile *p = make_profile(5000, 20, 10, 12, 0);
    double most = hps_exact_max_throughput(p, 0, NULL, &(bool){ false });
    struct hps_plan *a, *b;
    bool proven;

    (void)state;
    hps_exact_bound(p, 0.6 * most, 0, 150, &a, &proven);
    hps_exact_bound(p, 0.6 * most, 0, 150, &b, &proven);
    assert_non_null(a);
    char *x = hps_plan_text(a), *y = hps_plan_text(b);
    assert_string_equal(x, y);
    hps_mem_free(x);
    hps_mem_free(y);
    hps_plan_free(a);
    hps_plan_free(b);
    hps_profile_free(p);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

/* Whatever the prices of layers, they bound the best plan, and what they leave of it finds it. */
static int check_cover(uint64_t seed, const struct hps_profile *p, double limit)
{
    struct hps_cost *c = hps_cost_new(p);
    struct hps_exact_model *m = hps_exact_model_new(p, c, hps_cost_tau_max(limit), false, false);
    struct hps_exact_leaf *leaf = hps_exact_leaf_new(m);
    struct hps_exact_view *v = hps_exact_view_new(m);
    struct hps_exact_cover *x = hps_exact_cover_new(m);
    double truth = make_best(p, limit, false) * 3600 / p->examples / p->epochs;
    int *id = hps_mem_new((size_t)m->narc, sizeof *id), bounds = 0;

    for (int a = 0; a < m->narc; a++)
        id[a] = a;
    if (isfinite(truth) && hps_exact_view_fill(v, hps_exact_min_tau(m), m->tau_max, m->narc, id,
                                               (struct hps_exact_branch){ HPS_EXACT_ANY, 0, 0 })) {
        hps_exact_view_drop(v, INFINITY);
        hps_exact_cover_begin(x, v);
        for (int n = 0; n < 5; n++) {
            double bound = hps_exact_cover_bound(x, v, truth * 1.1, 7 * n);
            assert_true(bound <= truth * (1 + 1e-9));
            bounds += bound > 0.9 * truth;
        }
        hps_exact_cover_drop(x, v, truth * (1 + 1e-9));
        assert_true(hps_exact_cover_close(x, v, leaf, 1000000));
        same(leaf->best, truth, seed);
    }
    hps_mem_free(id);
    hps_exact_cover_free(x);
    hps_exact_view_free(v);
    hps_exact_leaf_free(leaf);
    hps_exact_model_free(m);
    hps_cost_free(c);
    return bounds;
}

static void layers_bound_the_best_plan(void **state)
{
    int bounds = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct hps_profile *p = small(seed, seed % 3 == 0 ? 1 : 0);
        double tau = make_best(p, 0, true);
        if (isfinite(tau))
            bounds += check_cover(seed, p, (seed % 2 ? 0.97 : 0.999) / tau);
        hps_profile_free(p);
    }
    assert_in_range(bounds, 100, 1000);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

/* The least of the intervals' bounds, at whatever prices. */
static double by_labels(const struct hps_exact_model *m, double ratio, double cut)
{
    struct hps_exact_leaf *leaf = hps_exact_leaf_new(m);
    struct hps_exact_view *v = hps_exact_view_new(m);
    struct hps_exact_label *x = hps_exact_label_new(m);
    int *id = hps_mem_new((size_t)m->narc, sizeof *id), rounds = 0;
    double least = cut;

    for (int a = 0; a < m->narc; a++)
        id[a] = a;
    for (double t = hps_exact_min_tau(m); t <= m->tau_max; t *= ratio) {
        if (!hps_exact_view_fill(v, t, fmin(t * ratio, m->tau_max), m->narc, id,
                                 (struct hps_exact_branch){ HPS_EXACT_ANY, 0, 0 }))
            continue;
        leaf->best = cut;
        hps_exact_view_bound(v, leaf, rounds++ % 20);
        for (int g = 0; g < m->G; g++)
            v->dual.busy[g] = true;
        least = fmin(least, hps_exact_label_bound(x, v, leaf, cut, 1000000));
    }
    hps_mem_free(id);
    hps_exact_label_free(x);
    hps_exact_view_free(v);
    hps_exact_leaf_free(leaf);
    return least;
}

/* Inside an interval a stage has the units that it needs at its end and is paid for its beginning:
 * the bound is below the truth by no more than that. Among equal types it knows the sum alone. */
static void labels_keep_every_limit(void **state)
{
    const double ratio = 1.05;
    int checked = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct hps_profile *p = small(seed, seed % 4 == 0 ? 1 : 0);
        double tau = make_best(p, 0, true), limit = (seed % 2 ? 0.97 : 0.7) / tau;
        struct hps_cost *c = hps_cost_new(p);
        struct hps_exact_model *m =
            hps_exact_model_new(p, c, hps_cost_tau_max(limit), false, false);
        double truth = make_best(p, limit, false) * 3600 / p->examples / p->epochs;
        if (isfinite(truth)) {
            double bound = by_labels(m, ratio, 1.1 * truth);
            assert_true(bound <= truth * (1 + 1e-9));
            assert_true(bound >= truth / ratio * (1 - 1e-9) || seed % 4 == 0);
            checked++;
        }
        hps_exact_model_free(m);
        hps_cost_free(c);
        hps_profile_free(p);
    }
    assert_in_range(checked, 50, 100);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_bound_the_best_plan),
        cmocka_unit_test(labels_keep_every_limit),
        cmocka_unit_test(finds_what_enumeration_finds),
        cmocka_unit_test(finds_it_among_equal_types),
        cmocka_unit_test(finds_it_where_memory_is_short),
        cmocka_unit_test(finds_the_last_plan_that_the_limits_leave),
        cmocka_unit_test(finds_a_plan_at_the_edge),
        cmocka_unit_test(bounds_what_is_cut_inside_one_type),
        cmocka_unit_test(never_dearer_for_a_better_pool),
        cmocka_unit_test(honest_when_it_is_stopped),
        cmocka_unit_test(the_same_every_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
