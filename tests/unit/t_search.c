/* Law: a searching method's plan is valid, priced right and never below the optimum; enumeration
 * and restarted local search find it; a budget of evaluations gives the same plan every time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "plan/compare.h"
#include "plan/moves.h"
#include "tests/lib/plan_make.h"

static const struct hps_sched_opt preset = {
    .objective = "model", .profile = "", .plan = "", .policy = "", .warm = "", .polish = true,
    .throughput_limit = INFINITY, .seed = 1, .evaluations = 4000,
};

/* From tight to loose, some with servers, some at their most throughput. */
struct sample {
    struct hps_profile *p;
    double limit, least;
};

static struct sample sample_of(uint64_t seed)
{
    struct sample x = { .p = make_profile(seed, 4 + (int)(seed % 2), 3, 2 + 3 * (int)(seed % 4),
                                          seed % 5 == 0 ? 2 : 0) };
    bool proven;

    if (seed % 7 == 0 && x.p->type[1].limit > 1) {
        x.p->server_type = 1;
        x.p->server_units = 1;
    }
    x.limit = 0.3 * (double)(seed % 4) * hps_exact_max_throughput(x.p, 0, NULL, &proven);
    x.least = hps_exact_bound(x.p, x.limit, 0, 0, NULL, &proven);
    assert_true(proven && isfinite(x.least));
    return x;
}

static struct hps_plan *search(const struct sample *x, const char *method, int seed,
                               long long evaluations)
{
    struct hps_sched_opt opt = preset;
    struct hps_problem q = { .profile = x->p, .opt = &opt, .throughput_limit = x->limit };
    struct hps_plan *plan;

    opt.method = method;
    opt.seed = seed;
    opt.evaluations = evaluations;
    assert_int_equal(hps_sched_check(&opt), HPS_OK);
    assert_int_equal(hps_sched_search(&plan, &q), HPS_OK);
    return plan;
}

static void check(const struct sample *x, const char *method, long long most, bool finds)
{
    struct hps_plan *plan = search(x, method, 1, most), *again;
    double tau, cost;

    if (!plan) {
        assert_false(finds);
        return;
    }
    cost = make_cost(x->p, plan, &tau);
    assert_int_equal(hps_plan_check(plan, x->p, method), HPS_OK);
    assert_true(tau * x->limit <= 1 + 1e-9);
    assert_true(fabs(plan->cost_usd - cost) <= 1e-12 * cost);
    assert_true(cost >= x->least * (1 - 1e-9));
    assert_true(!finds || cost <= x->least * (1 + 1e-9));
    assert_in_range(plan->evaluations, 1, most);
    again = search(x, method, 1, most);
    assert_int_equal(again->S, plan->S);
    assert_int_equal(again->evaluations, plan->evaluations);
    for (int s = 0; s < plan->S; s++)
        assert_memory_equal(&again->stage[s], &plan->stage[s], sizeof *plan->stage);
    hps_plan_free(again);
    hps_plan_free(plan);
}

static void all_samples(const char *method, bool finds, uint64_t step)
{
    for (uint64_t seed = 0; seed < 60; seed += step) {
        struct sample x = sample_of(seed);
        check(&x, method, preset.evaluations, finds);
        hps_profile_free(x.p);
    }
}

static void brute_is_exact(void **state)
{
    (void)state;
    all_samples("brute", true, 1);
}

/* As large as enumeration goes in a test: up to a million plans. */
static void ten_layers_on_four_types(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        int L = 7 + (int)(seed % 4), T = L < 10 || seed == 3 ? 4 : 3;
        struct sample x = { .p = make_profile(seed, L, T, 8, 0) };
        bool proven;
        x.limit = 0.15 * (double)(1 + seed) * hps_exact_max_throughput(x.p, 0, NULL, &proven);
        x.least = hps_exact_bound(x.p, x.limit, 0, 0, NULL, &proven);
        struct hps_plan *brute = search(&x, "brute", 1, 1 << 21);
        struct hps_plan *learned = search(&x, "rl", 1, 10000);
        assert_true(proven && fabs(brute->cost_usd / x.least - 1) <= 1e-9);
        assert_true(fabs(learned->cost_usd / x.least - 1) <= 1e-9);
        hps_plan_free(brute);
        hps_plan_free(learned);
        hps_profile_free(x.p);
    }
}

static void greedy_is_valid(void **state)
{
    (void)state;
    all_samples("greedy", false, 1);
}

static void local_search_finds_the_optimum(void **state)
{
    (void)state;
    all_samples("ils", true, 1);
}

static void genetic_finds_the_optimum(void **state)
{
    (void)state;
    all_samples("genetic", true, 1);
}

static void learning_finds_the_optimum(void **state)
{
    (void)state;
    all_samples("rl", true, 3);             /* one step after another, all kinds of samples */
    all_samples("rl-rnn", true, 7);
    all_samples("rl-joint", false, 7);
}

/* Without moves and windows: what the policy alone draws, on nearly all problems the best. */
static void pure_learning_finds_most(void **state)
{
    int found = 0, all = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++, all++) {
        struct sample x = sample_of(seed);
        struct hps_sched_opt opt = preset;
        struct hps_problem q = { .profile = x.p, .opt = &opt, .throughput_limit = x.limit,
                                 .argument = "" };
        struct hps_plan *plan;
        opt.method = "rl";
        opt.polish = false;
        assert_int_equal(hps_sched_search(&plan, &q), HPS_OK);
        found += plan && plan->cost_usd <= x.least * (1 + 1e-9);
        hps_plan_free(plan);
        hps_profile_free(x.p);
    }
    assert_true(found >= 0.97 * all);
}

/* Few plans, each thought about for long: of 243 or 1024 it prices 200 and nearly always has the
 * best. */
static void bayes_finds_the_optimum(void **state)
{
    int found = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct sample x = sample_of(seed);
        struct hps_plan *plan = search(&x, "bayes", 1, 200);
        found += plan && plan->cost_usd <= x.least * (1 + 1e-9);
        hps_plan_free(plan);
        if (seed < 4) check(&x, "bayes", 60, false);
        hps_profile_free(x.p);
    }
    assert_true(found >= 19);
}

/* The process is full several times over, and the budget is kept. */
static void bayes_is_bounded(void **state)
{
    struct hps_profile *p = make_profile(7, 12, 8, 9, 0);
    struct hps_sched_opt opt = preset;
    struct hps_problem q = { .profile = p, .opt = &opt, .throughput_limit = 0 };
    struct hps_plan *plan;

    (void)state;
    opt.method = "bayes", opt.evaluations = 600;
    assert_int_equal(hps_sched_search(&plan, &q), HPS_OK);
    assert_int_equal(plan->evaluations, 600);
    hps_plan_free(plan);
    hps_profile_free(p);
}

/* With a budget for the single types and the warm plan alone, the answer is the better of these. */
static void a_warm_start_is_where_the_search_begins(void **state)
{
    int warmer = 0;

    (void)state;
    for (uint64_t seed = 1; seed < 40; seed++) {
        struct sample x = sample_of(seed);
        struct hps_sched_opt opt = preset;
        struct hps_problem q = { .profile = x.p, .opt = &opt, .throughput_limit = x.limit };
        struct hps_plan *cold = search(&x, "ils", 1, x.p->T + 1), *plan;
        struct hps_plan *greedy = search(&x, "greedy", 1, 0);
        opt.method = "ils", opt.warm = "file", opt.plan = "t_search.json";
        if (greedy) {
            assert_int_equal(hps_plan_save(greedy, opt.plan), HPS_OK);
            opt.evaluations = x.p->T + 1;
            assert_int_equal(hps_sched_search(&plan, &q), HPS_OK);
            assert_string_equal(plan->method, "ils");
            assert_string_equal(plan->warm, "file");
            assert_true(plan->cost_usd <= greedy->cost_usd * (1 + 1e-12));
            warmer += !cold || cold->cost_usd > plan->cost_usd * (1 + 1e-9);
            hps_plan_free(plan);
            q.throughput_limit = 1.01 * greedy->throughput;     /* which that plan does not keep */
            assert_int_equal(hps_sched_search(&plan, &q), HPS_OK);
            hps_plan_free(plan);
        }
        hps_plan_free(greedy);
        hps_plan_free(cold);
        hps_profile_free(x.p);
    }
    unlink("t_search.json");
    assert_true(warmer > 5);
}

/* A policy is for whoever learns: the method, or the one that it begins with. */
static void a_policy_wants_one_that_learns(void **state)
{
    struct hps_sched_opt opt = preset;

    (void)state;
    opt.policy = "policy.h5";
    opt.method = "ils";
    assert_int_equal(hps_sched_check(&opt), HPS_DECK);
    opt.warm = "greedy";
    assert_int_equal(hps_sched_check(&opt), HPS_DECK);
    opt.warm = "rl";
    assert_int_equal(hps_sched_check(&opt), HPS_OK);
}

/* The plan that sched_run makes: with its certificate. */
static struct hps_plan *certified(const struct sample *x, const char *method,
                                  long long evaluations)
{
    struct hps_sched_opt opt = preset;
    struct hps_plan *plan;

    opt.method = method;
    opt.throughput_limit = x->limit;
    opt.evaluations = evaluations;
    assert_int_equal(hps_sched_run(&plan, x->p, &opt), HPS_OK);
    return plan;
}

/* With too few plans for the learned method exact's is taken; beside other methods it is named. */
static void best_takes_the_cheaper(void **state)
{
    int beaten = 0, held = 0;

    (void)state;
    for (uint64_t seed = 8; seed < 40; seed += 4) {     /* no limit: every method has a plan */
        struct sample x = sample_of(seed);
        struct hps_plan *learned = certified(&x, "rl", x.p->T), *best;
        bool cheaper = learned->cost_usd > x.least * (1 + 1e-9);
        assert_string_equal(learned->competitor, cheaper ? "exact" : "");
        assert_true(!cheaper ||
                    fabs(learned->competitor_ratio * learned->cost_usd / x.least - 1) <= 1e-9);
        best = certified(&x, "best", 2000);
        assert_string_equal(best->method, "best");
        assert_string_equal(best->by, "rl");
        assert_string_equal(best->competitor, "exact");
        assert_true(best->gap == 0 && best->competitor_ratio == 0);
        hps_plan_free(best);
        best = certified(&x, "best", x.p->T);
        beaten += strcmp(best->by, "exact") == 0 && best->competitor_ratio > 1 &&
                  best->cost_usd < learned->cost_usd;
        held += strcmp(best->by, "rl") == 0 && best->cost_usd == learned->cost_usd;
        hps_plan_free(best);
        hps_plan_free(learned);
        hps_profile_free(x.p);
    }
    assert_true(beaten > 0);
    assert_int_equal(beaten + held, 8);
}

/* The prices of assignments against all their units walked through, and infeasible ones above
 * every feasible one, the slower the dearer. */
static void prices_are_those_of_the_best_units(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        struct sample x = sample_of(seed);
        struct hps_sched_opt opt = preset;
        struct hps_problem q = { .profile = x.p, .opt = &opt, .throughput_limit = x.limit };
        struct hps_pricer *pr = hps_pricer_new(&q);
        for (int n = 0; n < 20; n++) {
            int type[5];
            hps_moves_random(type, x.p->L, x.p->T, hps_rng_sub(seed, (uint64_t)n));
            struct hps_plan *plan = hps_plan_of_assignment(x.p->L, type);
            double cost = make_best_units(x.p, plan, x.limit, false) * 3600 / x.p->examples;
            double tau = make_best_units(x.p, plan, 0, true), price;
            price = hps_pricer_price(pr, type, INFINITY);
            if (isfinite(cost)) {
                assert_true(fabs(price - cost) <= 1e-9 * cost && price < pr->ceiling);
                assert_true(hps_pricer_price(pr, type, price * 1.001) == price);
                assert_true(isinf(hps_pricer_price(pr, type, price * 0.999)));
            } else if (isfinite(tau)) {
                assert_true(price > pr->ceiling && price < 2 * pr->ceiling);
                assert_true(fabs(price / pr->ceiling - (2 - 1 / (x.limit * tau))) <= 1e-8);
            } else {
                assert_true(price >= 3 * pr->ceiling && isfinite(price));
            }
            hps_plan_free(plan);
        }
        hps_pricer_free(pr);
        hps_profile_free(x.p);
    }
}

static void a_spent_budget_prices_nothing(void **state)
{
    struct sample x = sample_of(3);
    struct hps_sched_opt opt = preset;
    struct hps_problem q = { .profile = x.p, .opt = &opt, .throughput_limit = 0 };
    int type[5] = { 0 };

    (void)state;
    opt.evaluations = 2;
    struct hps_pricer *pr = hps_pricer_new(&q);
    assert_null(hps_pricer_plan(pr));
    assert_true(isfinite(hps_pricer_prefix(pr, 2, type, INFINITY)) && isinf(pr->best));
    assert_true(isfinite(hps_pricer_price(pr, type, INFINITY)) && isfinite(pr->best));
    assert_true(hps_pricer_over(pr) && isinf(hps_pricer_price(pr, type, INFINITY)));
    assert_true(pr->evaluations == 2);
    hps_pricer_free(pr);
    hps_profile_free(x.p);
    opt = preset, opt.evaluations = 0, opt.method = "genetic";
    assert_int_equal(hps_sched_check(&opt), HPS_DECK);
    opt.method = "ils";
    assert_int_equal(hps_sched_check(&opt), HPS_DECK);
    opt.seconds = 1;
    assert_int_equal(hps_sched_check(&opt), HPS_OK);
}

static void brute_refuses_what_it_cannot_reach(void **state)
{
    struct hps_profile *p = make_profile(1, 16, 64, 9, 0);
    struct hps_sched_opt opt = preset;
    struct hps_plan *plan;

    (void)state;
    opt.method = "brute";
    opt.throughput_limit = 0;
    assert_int_equal(hps_sched_run(&plan, p, &opt), HPS_DECK);
    assert_null(plan);
    opt.evaluations = 0, opt.seconds = 1e6;
    assert_int_equal(hps_sched_run(&plan, p, &opt), HPS_DECK);
    hps_profile_free(p);
}

/* Stages of what a move made of `now`, one move of each kind; every move changes something. */
static void moves_move_stages(void **state)
{
    const int now[6] = { 0, 0, 1, 1, 1, 2 };
    uint64_t all = hps_moves_count(6, 3);
    bool whole = false, shifted = false, cut = false, split = false, swapped = false;
    int next[6], moves = 0;

    (void)state;
    for (uint64_t n = 0; n < all; n++) {
        if (!hps_moves_apply(next, now, 6, 3, n))
            continue;
        assert_memory_not_equal(next, now, sizeof now);
        moves++;
        whole = whole || memcmp(next, (int[]){ 0, 0, 2, 2, 2, 2 }, sizeof next) == 0;
        shifted = shifted || memcmp(next, (int[]){ 0, 0, 0, 1, 1, 2 }, sizeof next) == 0;
        cut = cut || memcmp(next, (int[]){ 0, 0, 1, 1, 0, 2 }, sizeof next) == 0;
        split = split || memcmp(next, (int[]){ 0, 0, 1, 2, 1, 2 }, sizeof next) == 0;
        swapped = swapped || memcmp(next, (int[]){ 1, 1, 0, 0, 0, 2 }, sizeof next) == 0;
    }
    assert_true(whole && shifted && cut && split && swapped);
    /* of a stage of n layers 2 n - 1 parts and n - 2 layers inside, each on 2 other types; 3 pairs
     * of stages */
    assert_int_equal(moves, (3 + 5 + 1 + 1) * 2 + 3);
}

static void all_methods_side_by_side(void **state)
{
    struct hps_profile *p = make_profile(4, 5, 3, 9, 0);
    struct hps_sched_opt opt = preset;
    struct hps_compare *c;
    bool proven;

    (void)state;
    opt.method = "all";
    opt.evaluations = 1100;
    assert_int_equal(hps_compare_run(&c, p, &opt), HPS_OK);
    assert_true(fabs(c->throughput_limit / hps_exact_max_throughput(p, 0, NULL, &proven) - 1) <=
                1e-12);
    assert_int_equal(c->n, 10 + 3);
    assert_true(c->proven && c->plan[0]->cost_usd == c->lower_bound_usd);
    for (int a = 0; a < c->n; a++)
        if (c->plan[a]) {
            assert_true(a == 0 || (c->plan[a - 1] && c->plan[a]->cost_usd >=
                                                         c->plan[a - 1]->cost_usd * (1 - 1e-9)));
            assert_string_equal(c->plan[a]->method, c->method[a]);
            assert_true(c->plan[a]->cost_usd >= c->lower_bound_usd);
            assert_true(c->plan[a]->gap >= 0 && c->plan[a]->gap < 1);
        }
    char *text = hps_compare_text(c);
    json_t *tree;
    assert_int_equal(hps_json_parse(&tree, "text", "heterps-plans-1", text, strlen(text)), HPS_OK);
    json_t *first = json_array_get(json_object_get(tree, "plans"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "method")), c->method[0]);
    json_decref(tree);
    hps_mem_free(text);
    hps_compare_free(c);
    opt.throughput_limit = 1e12;
    assert_int_equal(hps_compare_run(&c, p, &opt), HPS_DECK);
    hps_compare_free(c);
    hps_profile_free(p);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

/* Under the engine's model `exact` has no proof, but nearly everywhere a plan where enumeration has
 * one, also where that which is cheapest under the paper's model is too slow. */
static void exact_serves_the_engine(void **state)
{
    int other = 0, missed = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct hps_profile *p = make_profile(seed, 4, 3, 4, 0);
        struct hps_sched_opt opt = preset;
        bool proven;
        struct hps_problem q = { .profile = p,
                                 .opt = &opt,
                                 .throughput_limit =
                                     0.6 * hps_exact_max_throughput(p, 0, NULL, &proven) };
        struct hps_plan *all, *exact, *model;
        opt.objective = "engine";
        opt.evaluations = 100000;
        opt.method = "brute";
        assert_int_equal(hps_sched_search(&all, &q), HPS_OK);
        opt.method = "exact";
        assert_int_equal(hps_sched_search(&exact, &q), HPS_OK);
        hps_exact_bound(p, q.throughput_limit, 0, 0, &model, &proven);
        missed += all && !exact;
        assert_true(all || !exact);
        if (exact) {
            hps_sched_adapt(&q, &model);
            other += !model;
            assert_true(hps_sched_usd(&q, exact) >= hps_sched_usd(&q, all) * (1 - 1e-9));
        }
        hps_plan_free(model);
        hps_plan_free(exact);
        hps_plan_free(all);
        hps_profile_free(p);
    }
    assert_true(other > 0 && missed <= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_serves_the_engine),
        cmocka_unit_test(brute_is_exact),
        cmocka_unit_test(ten_layers_on_four_types),
        cmocka_unit_test(greedy_is_valid),
        cmocka_unit_test(local_search_finds_the_optimum),
        cmocka_unit_test(genetic_finds_the_optimum),
        cmocka_unit_test(learning_finds_the_optimum),
        cmocka_unit_test(pure_learning_finds_most),
        cmocka_unit_test(bayes_finds_the_optimum),
        cmocka_unit_test(bayes_is_bounded),
        cmocka_unit_test(a_warm_start_is_where_the_search_begins),
        cmocka_unit_test(a_policy_wants_one_that_learns),
        cmocka_unit_test(best_takes_the_cheaper),
        cmocka_unit_test(prices_are_those_of_the_best_units),
        cmocka_unit_test(a_spent_budget_prices_nothing),
        cmocka_unit_test(brute_refuses_what_it_cannot_reach),
        cmocka_unit_test(moves_move_stages),
        cmocka_unit_test(all_methods_side_by_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
