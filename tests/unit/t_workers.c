/* Law: W workers are priced and planned as one worker whose unit is W units: what enumeration finds
 * over the units that W divides, every method of search knows of; plans of other workers, or whose
 * units cannot be divided, are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "plan/cost.h"
#include "plan/promise.h"
#include "plan/sched.h"
#include "tests/lib/plan_check.h"
#include "tests/lib/plan_make.h"

/* 8 s of computation for 2 examples on a unit, half of them parallel; a quarter of the 4 s of
 * communication is. */
static struct hps_profile *by_hand(struct hps_plan **plan)
{
    struct hps_profile *p = hps_profile_new(1, 1);

    p->batch = 2;
    p->examples = 900;
    p->epochs = 2;
    p->workers = 2;
    p->oct[0] = 8;
    p->alpha[0] = 0.5;
    p->sync[0] = 4;
    p->beta[0] = 0.25;
    p->type[0].price_usd_hour = 3;
    p->type[0].limit = 9;
    strcpy(p->type[0].name, "t");
    strcpy(p->layer[0].name, "l");
    strcpy(p->layer[0].type, "embedding");
    *plan = hps_plan_of_assignment(1, &(int){ 0 });
    (*plan)->stage[0].units = 8;
    hps_cost_of(*plan, p);
    return p;
}

/* A worker has 4 units: 2.5 s of computation and 1.625 of communication for an example. */
static void a_plan_by_hand(void **state)
{
    struct hps_plan *plan;
    struct hps_profile *p = by_hand(&plan);

    (void)state;
    assert_int_equal(plan->workers, 2);
    make_near(plan->stage[0].ct, 2.5 / 2);
    make_near(plan->stage[0].dt, 1.625 / 2);
    make_near(plan->throughput, 0.8);
    make_near(plan->seconds, 2 * 900 * 1.25);
    make_near(plan->cost_usd, plan->seconds / 3600 * 24);
    assert_int_equal(hps_cost_capacity(p, 0), 4);
    assert_true(hps_cost_feasible(plan, p, 0.8));
    p->type[0].limit = 7;
    assert_false(hps_cost_feasible(plan, p, 0));
    hps_plan_free(plan);
    hps_profile_free(p);
}

/* Of a worker's step of 8 examples: 20 s of computation; all 8 units sum gradients (3 s) and
 * exchange rows (1 s on one unit) there and back. */
static void a_clock_by_hand(void **state)
{
    struct hps_plan *plan;
    struct hps_profile *p = by_hand(&plan);
    double sums = 2 * 4 * (3 + 1.0 / 4) * 7 / 8;

    (void)state;
    make_near(hps_engine_of(plan, p).step_s, 20 + sums);
    make_near(hps_promise_step(plan, p).step_s, 20 + sums);
    make_near(hps_promise_step(plan, p).examples_s, 16 / (20 + sums));
    make_near(hps_promise_step(plan, p).seconds, 1800 / 16.0 * (20 + sums));
    make_near(hps_promise_step(plan, p).cost_usd, 1800 / 16.0 * (20 + sums) / 3600 * 24);
    p->engine.batch = 2;
    p->engine.microbatches = 1;
    make_near(hps_engine_of(plan, p).step_s, 5 + sums / 4);
    hps_plan_free(plan);
    hps_profile_free(p);
}

static void check_parts(const struct hps_plan *plan, const struct hps_profile *p, double compute,
                        double pull, double reduce)
{
    struct hps_promise_parts x = hps_promise_parts(plan, p, 0);

    make_near(x.seconds[HPS_PROMISE_COMPUTE], compute);
    make_near(x.seconds[HPS_PROMISE_PULL], pull);
    make_near(x.seconds[HPS_PROMISE_REDUCE], reduce);
    make_near(x.seconds[HPS_PROMISE_MESSAGE], 0);
    make_near(x.seconds[HPS_PROMISE_WAIT], 0);
}

/* Of the same step: rows are pulled and pushed, dense gradients are summed by the units, or by
 * servers, who then get and send them with the rows. */
static void parts_by_hand(void **state)
{
    struct hps_plan *plan;
    struct hps_profile *p = by_hand(&plan);
    double sums = 2 * 4 * (3 + 1.0 / 4) * 7 / 8;
    double served = 2 * 4 * (3 * (3.0 / 4 + 5.0 / 8) + 1.0 / 4);

    (void)state;
    check_parts(plan, p, 20, sums, 0);
    strcpy(p->layer[0].type, "fc");
    check_parts(plan, p, 20, 0, sums);
    p->server_units = 1;
    p->server_dense = true;
    p->serve[0] = 0.5;
    hps_cost_of(plan, p);
    check_parts(plan, p, 20, served + 8 * 0.5 / 2, 0);
    p->serve[0] = 50;               /* of both workers' 16 examples: 400 s */
    hps_cost_of(plan, p);
    check_parts(plan, p, 20, 400 - 20, 0);
    hps_plan_free(plan);
    hps_profile_free(p);
}

/* ---- enumeration ---- */

static struct hps_profile *small(uint64_t seed)
{
    struct hps_profile *p = make_profile(seed, 1 + (int)(seed % 4), 1 + (int)(seed % 3), 13,
                                         seed % 5 == 0 ? 1 : 0);

    p->workers = 2 + (int)(seed % 2);
    if (seed % 4 == 0)
        make_memory(p, seed);
    if (seed % 7 == 0)
        p->server_units = 1;
    return p;
}

static void check(const struct hps_profile *p, const char *method, double limit, double least)
{
    struct hps_sched_opt opt = make_preset;
    struct hps_plan *plan;
    double tau;

    opt.method = method;
    opt.throughput_limit = limit;
    if (hps_sched_run(&plan, p, &opt)) {
        assert_string_not_equal(method, "exact");
        assert_string_not_equal(method, "brute");
        return;
    }
    double cost = make_cost(p, plan, &tau);
    assert_int_equal(hps_plan_check(plan, p, method), HPS_OK);
    assert_true(hps_cost_feasible(plan, p, limit) && tau * limit <= 1 + 1e-9);
    make_near(plan->cost_usd, cost);
    make_near(plan->lower_bound_usd, least);
    assert_true(cost >= least * (1 - 1e-9));
    if (strcmp(method, "exact") == 0 || strcmp(method, "brute") == 0)
        make_near(cost, least);
    hps_plan_free(plan);
}

static void what_enumeration_finds(void **state)
{
    static const char *const method[] = { "exact", "brute", "ils", "greedy", "genetic", "bayes",
                                          "rl", "rl-joint", "heuristic", "single:t0" };
    static const double share[] = { 0, 0.5, 0.9, 1 };
    int feasible = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 150; seed++) {
        struct hps_profile *p = small(seed);
        double tau = make_best(p, 0, true), limit = share[seed % 4] / tau;
        bool proven;
        double least = make_best(p, limit, false);
        make_near(hps_exact_bound(p, limit, 0, 0, NULL, &proven), least);
        assert_true(proven);
        if (isfinite(tau))
            make_near(hps_exact_max_throughput(p, 0, NULL, &proven), 1 / tau);
        for (size_t m = 0; isfinite(least) && m < sizeof method / sizeof *method; m++)
            if (m < 2 || seed % 8 == m - 2)
                check(p, method[m], limit, least);
        feasible += isfinite(least);
        hps_profile_free(p);
    }
    assert_in_range(feasible, 70, 149);
}

/* ---- one worker of larger units ---- */

static void scale(double *x, size_t n, double by)
{
    for (size_t i = 0; i < n; i++)
        x[i] *= by;
}

/* W is a power of two, so that all numbers have the same digits. */
static struct hps_profile *larger_units(const struct hps_profile *p)
{
    char *text = hps_profile_text(p);
    struct hps_profile *q;
    size_t n = (size_t)p->L * (size_t)p->T;
    double W = p->workers, *table[] = { NULL, NULL, NULL, NULL, NULL, NULL };

    assert_int_equal(hps_profile_parse(&q, "the same", text, strlen(text)), HPS_OK);
    hps_mem_free(text);
    table[0] = q->oct;
    table[1] = q->sync;
    table[2] = q->recv;
    table[3] = q->send;
    table[4] = q->engine.forward_s;
    table[5] = q->engine.once_s;
    for (size_t a = 0; a < sizeof table / sizeof *table; a++)
        scale(table[a], n, 1 / W);
    scale(q->engine.read_s, (size_t)p->T, 1 / W);
    q->engine.batch *= W;
    for (int t = 0; t < p->T; t++) {
        q->type[t].price_usd_hour *= W;
        q->type[t].limit /= p->workers;
    }
    q->workers = 1;
    return q;
}

static struct hps_profile *pool_of(uint64_t seed, bool engine)
{
    struct hps_profile *p = make_profile(seed, 5, 3, 30, 0);

    p->workers = seed % 2 ? 4 : 2;
    p->engine.batch = 4 * p->batch;
    p->engine.microbatches = 4;
    p->engine.move = 0.5;
    for (int t = 0; t < p->T; t++) {
        p->type[t].limit += p->workers;
        p->engine.micro_s[t] = 1e-3;
        p->engine.step_s[t] = 1e-2;
        p->engine.read_s[t] = 1e-6;
    }
    for (int l = 0; l < p->L; l++)
        p->layer[l].reads = l != 1;
    if (engine)         /* more units sum with each other */
        scale(p->sync, (size_t)p->L * (size_t)p->T, 0);
    return p;
}

static struct hps_plan *search(const struct hps_profile *p, const struct hps_sched_opt *opt,
                               double limit)
{
    struct hps_problem q = { .profile = p, .opt = opt, .throughput_limit = limit };
    struct hps_plan *plan;

    assert_int_equal(hps_sched_search(&plan, &q), HPS_OK);
    return plan;
}

static void same_plans(const struct hps_sched_opt *opt, uint64_t seed)
{
    struct hps_profile *p = pool_of(seed, hps_sched_engine(opt)), *q = larger_units(p);
    bool proven;
    double limit = 0.3 * (double)(seed % 4) * hps_exact_max_throughput(p, 0, NULL, &proven);
    struct hps_plan *a = search(p, opt, limit), *b = search(q, opt, limit);

    assert_int_equal(a != NULL, b != NULL);
    assert_int_equal(a ? a->S : 0, b ? b->S : 0);
    for (int s = 0; a && s < a->S; s++) {
        assert_int_equal(a->stage[s].last, b->stage[s].last);
        assert_int_equal(a->stage[s].type, b->stage[s].type);
        assert_int_equal(a->stage[s].units, p->workers * b->stage[s].units);
        assert_int_equal(hps_plan_partner(a, s), hps_plan_partner(b, s));
    }
    if (a) {
        make_near(a->cost_usd, b->cost_usd);
        make_near(hps_sched_usd(&(struct hps_problem){ .profile = p, .opt = opt }, a),
             hps_sched_usd(&(struct hps_problem){ .profile = q, .opt = opt }, b));
        assert_true(hps_promise_step(a, p).step_s >=
                    p->workers * p->engine.batch / a->throughput * (1 - 1e-12));
    }
    hps_plan_free(a);
    hps_plan_free(b);
    hps_profile_free(p);
    hps_profile_free(q);
}

static void as_one_of_larger_units(void **state)
{
    static const char *const method[] = { "exact", "brute", "ils", "greedy", "genetic", "bayes",
                                          "rl", "rl-rnn", "rl-joint", "heuristic", "single:t1" };

    (void)state;
    for (size_t m = 0; m < sizeof method / sizeof *method; m++)
        for (uint64_t seed = 0; seed < 6; seed++) {
            struct hps_sched_opt opt = make_preset;
            if (seed != 2 && seed != 4 && strcmp(method[m], "bayes") == 0) continue; /* slow */
            opt.method = method[m];
            opt.objective = seed % 3 == 2 ? "engine" : "model";
            opt.share = seed >= 4;
            same_plans(&opt, seed);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_by_hand),         cmocka_unit_test(a_clock_by_hand),
        cmocka_unit_test(parts_by_hand),
        cmocka_unit_test(what_enumeration_finds), cmocka_unit_test(as_one_of_larger_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
