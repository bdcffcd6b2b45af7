/* plan_small.c - every method against enumeration on small random problems (random_profile.h),
 * tight limits, some infeasible, some with little memory or a dedicated server:
 *   plan_small SEEDS [FOLDER]
 * Half of them have 10 layers and 4 types, the others fewer. A row a method: plans priced at most,
 * how often its answer is enumeration's (the cost within 1e-9, or that there is no plan), how far
 * above it at worst, seconds of the processor a problem. In FOLDER, profile_N.json and plans_N.json
 * of every problem that has plans: of all methods, also with stages that share and for the engine.
 * Built by `make perf/bin/plan_small`. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/rng.h"
#include "lab.h"
#include "base/quit.h"
#include "base/say.h"
#include "base/world.h"
#include "plan/cost.h"
#include "plan/promise.h"
#include "random_profile.h"

#define ALL (1LL << 40)         /* plans: more than any of these problems has */

static const struct contender {
    const char *name, *method;
    bool pure;
    long long evaluations;
} contenders[] = {
    { "brute", "brute", false, ALL },           /* the truth, first */
    { "exact", "exact", false, 0 },
    { "rl", "rl", false, 10000 },
    { "rl, polish: false", "rl", true, 20000 },
    { "rl-rnn", "rl-rnn", false, 10000 },
    { "rl-joint", "rl-joint", false, 20000 },
    { "best", "best", false, 10000 },
    { "ils", "ils", false, 10000 },
    { "genetic", "genetic", false, 10000 },
    { "bayes", "bayes", false, 300 },
    { "greedy", "greedy", false, 0 },
    { "heuristic", "heuristic", false, 0 },
    { "single, the best type", "single:", false, 0 },
    { "file (exact's plan)", "file", false, 0 },
};
enum { N = sizeof contenders / sizeof *contenders };

struct score { int same, none; double worst, seconds; };

static struct hps_profile *problem(int seed)
{
    uint64_t key = hps_rng_key((uint64_t)seed, "small problem");
    struct random_wish w = { .L = 10, .T = 4, .limits = RANDOM_TIGHT, .engine = true,
                             .memory = seed % 8 == 3, .servers = seed % 8 == 5,
                             .seed = 500000 + (uint64_t)seed };

    if (seed % 2 == 0) {
        w.L = 2 + (int)(8 * hps_rng_real(key, 0));
        w.T = 2 + (int)(3 * hps_rng_real(key, 1));
    }
    return random_profile(&w);
}

static double usd(const struct hps_plan *plan)
{
    return plan ? plan->cost_usd : INFINITY;
}

/* The best of the types alone. */
static struct hps_plan *single(const struct hps_profile *p, struct hps_sched_opt *opt)
{
    struct hps_plan *best = NULL;

    for (int t = 0; t < p->T; t++) {
        char *method = hps_mem_print("single:%s", p->type[t].name);
        opt->method = method;
        struct hps_problem q = lab_problem(p, opt), *x = &q;
        struct hps_plan *plan = NULL;
        hps_sched_find(method, &x->argument);
        if (hps_sched_search(&plan, x) == HPS_OK && usd(plan) < usd(best)) {
            hps_plan_free(best);
            best = plan;
        } else {
            hps_plan_free(plan);
        }
        hps_mem_free(method);
    }
    return best;
}

/* A contender's plan with the bound beside it. The plan of `file` is that of exact, in `path`. */
static struct hps_plan *plan_of(const struct contender *x, const struct hps_profile *p,
                                const struct hps_sched_opt *like, const char *path, double bound)
{
    struct hps_sched_opt opt = *like;
    bool file = strcmp(x->method, "file") == 0;

    opt.method = x->method;
    opt.polish = !x->pure;
    opt.plan = file ? path : "";
    opt.evaluations = x->evaluations;
    if (like->evaluations > 0 && opt.evaluations > like->evaluations)
        opt.evaluations = like->evaluations;
    struct hps_plan *plan = strcmp(x->method, "single:") == 0 ? single(p, &opt)
                                                              : lab_search(p, &opt);
    if (plan) {
        plan->lower_bound_usd = fmin(bound, plan->cost_usd);
        plan->gap = plan->cost_usd > 0 ? 1 - plan->lower_bound_usd / plan->cost_usd : 0;
    }
    return plan;
}

static void judge(struct score *y, double cost, double truth)
{
    bool both = isfinite(cost) && isfinite(truth);

    y->same += both ? fabs(cost / truth - 1) <= HPS_COST_TIE : isfinite(cost) == isfinite(truth);
    y->none += isfinite(truth) && !isfinite(cost);
    if (both) y->worst = fmax(y->worst, cost / truth - 1);
}

static void add(json_t *list, struct hps_plan *plan, const struct hps_profile *p)
{
    if (plan) json_array_append_new(list, hps_promise_tree(plan, p));
    hps_plan_free(plan);
}

/* The same methods where stages share and for the engine, few plans each: for their JSON alone. */
static void add_others(json_t *list, const struct hps_profile *p, const char *path)
{
    for (int kind = 1; kind < 4; kind++) {
        struct hps_sched_opt opt = lab_options("rl", 300);
        struct hps_exact_request wish = { .throughput_limit = p->throughput_limit, .share = kind & 1 };
        bool proven;
        opt.share = kind & 1;
        opt.objective = kind & 2 ? "engine" : "model";
        double bound = hps_exact_solve(p, &wish, NULL, &proven);
        for (int a = 1; a < N - 1; a++)
            add(list, plan_of(&contenders[a], p, &opt, path, bound), p);
    }
}

static enum hps_status save(const char *folder, const char *name, int seed, char *text)
{
    char *path = hps_mem_print("%s/%s_%d.json", folder, name, seed);
    enum hps_status s = hps_json_write(path, text);

    hps_mem_free(path);
    hps_mem_free(text);
    return s;
}

/* One problem by all methods; true where a plan exists. */
static bool run_all(const struct hps_profile *p, struct score *y, const char *path, json_t *list)
{
    struct hps_sched_opt opt = lab_options("exact", 0);
    double truth = INFINITY;

    for (int a = 0; a < N; a++) {
        if (strcmp(contenders[a].method, "file") == 0 && isinf(truth)) {
            y[a].same++;        /* no plan to read */
            continue;
        }
        double began = lab_cpu_s();
        struct hps_plan *plan = plan_of(&contenders[a], p, &opt, path, a > 0 ? truth : INFINITY);
        y[a].seconds += lab_cpu_s() - began;
        if (a == 0) truth = usd(plan);
        judge(&y[a], usd(plan), truth);
        if (a == 1 && plan && hps_plan_save(plan, path) != HPS_OK)
            HPS_DIE("%s cannot be written", path);
        add(list, plan, p);
    }
    if (isfinite(truth)) add_others(list, p, path);
    return isfinite(truth);
}

static enum hps_status write_all(const char *folder, int seed, const struct hps_profile *p,
                                 json_t *list)
{
    json_t *o = json_object();
    enum hps_status s = save(folder, "profile", seed, hps_profile_text(p));

    json_object_set_new(o, "format", json_string("heterps-plans-1"));
    json_object_set(o, "plans", list);
    return s ? s : save(folder, "plans", seed, hps_json_text(o));
}

static void print(const struct score *y, int seeds, int feasible)
{
    hps_out("%d problems, %d of them infeasible.\n\n", seeds, seeds - feasible);
    hps_out("| method | plans priced at most | enumeration's answer | no plan where there is one | "
            "worst, %% above | CPU s a problem |\n| --- | --- | --- | --- | --- | --- |\n");
    for (int a = 0; a < N; a++) {
        const struct contender *x = &contenders[a];
        hps_out("| %s | ", x->name);
        if (x->evaluations > 0 && x->evaluations < ALL) hps_out("%lld", x->evaluations);
        hps_out(" | %d of %d | %d | %.3g | %.2g |\n", y[a].same, seeds, y[a].none, 100 * y[a].worst,
                y[a].seconds / seeds);
    }
}

static enum hps_status run(int argc, char **argv)
{
    int seeds = argc > 1 ? atoi(argv[1]) : 0, feasible = 0;
    const char *folder = argc > 2 ? argv[2] : "";
    struct score y[N] = { { 0 } };
    enum hps_status s = HPS_OK;

    if (seeds < 1 || argc > 3) {
        HPS_SAY(HPS_ERROR, "usage: plan_small SEEDS [FOLDER]");
        return HPS_USAGE;
    }
    for (int seed = 1; seed <= seeds && !s; seed++) {
        struct hps_profile *p = problem(seed);
        json_t *list = json_array();
        bool any = run_all(p, y, "exact_plan.json", list);
        feasible += any;
        if (any && *folder) s = write_all(folder, seed, p, list);
        json_decref(list);
        hps_profile_free(p);
    }
    print(y, seeds, feasible);
    return s ? s : hps_out_flush();
}

int main(int argc, char **argv)
{
    hps_begin(&argc, &argv, false);
    return hps_end(run(argc, argv));
}
