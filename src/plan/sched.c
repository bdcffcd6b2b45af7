#include "plan/sched.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/say.h"
#include "base/wait.h"
#include "plan/budget.h"
#include "plan/cost.h"
#include "plan/engine.h"

#define WORDS "rl|rl-rnn|rl-joint|exact|brute|greedy|ils|genetic|bayes|heuristic|single:|file|best"

static const struct hps_sched *const all[] = {
    &hps_sched_rl,
    &hps_sched_rl_rnn,
    &hps_sched_rl_joint,
    &hps_sched_exact,
    &hps_sched_brute,
    &hps_sched_greedy,
    &hps_sched_ils,
    &hps_sched_genetic,
    &hps_sched_bayes,
    &hps_sched_heuristic,
    &hps_sched_single,
    &hps_sched_file,
    &hps_sched_best,
};

const struct hps_field hps_sched_fields[] = {
    HPS_CHOICE(hps_sched_opt, method, "rl", WORDS, "how to search for the plan"),
    HPS_CHOICE(hps_sched_opt, objective, "model", "model|engine",
               "what the plan is best under"),
    { "trial_steps", HPS_REAL, offsetof(struct hps_sched_opt, trial_steps), "0", 0, 10000, "auto",
      "", "of each of the best plans before a training; auto: 20 or of 0.1 s, if < 1 % of it" },
    HPS_FIELD(hps_sched_opt, polish, HPS_BOOL, "true", 0, 1, "",
              "methods that sample plans improve each by moves of stages"),
    { "throughput_limit", HPS_REAL, offsetof(struct hps_sched_opt, throughput_limit), "max", 0,
      1e18, "max", "examples/s", "promised; 0: none; max: the most that the pool can have" },
    HPS_FIELD(hps_sched_opt, profile, HPS_TEXT, "\"\"", 0, 0, "",
              "a recorded profile (JSON) instead of measuring"),
    HPS_FIELD(hps_sched_opt, plan, HPS_TEXT, "\"\"", 0, 0, "",
              "the plan (JSON) of method (or warm) file"),
    HPS_FIELD(hps_sched_opt, policy, HPS_TEXT, "\"\"", 0, 0, "",
              "a policy (HDF5) that learned before, for rl, rl-rnn, rl-joint, best, or for warm"),
    HPS_FIELD(hps_sched_opt, warm, HPS_TEXT, "\"\"", 0, 0, "",
              "the method whose plan the search begins with"),
    HPS_FIELD(hps_sched_opt, seed, HPS_INT, "1", 0, 1e9, "", "of the search"),
    HPS_FIELD(hps_sched_opt, seconds, HPS_REAL, "10", 0, 1e6, "s",
              "of a search at most; 0: until it is proven"),
    HPS_FIELD(hps_sched_opt, evaluations, HPS_LONG, "0", 0, 1e15, "",
              "plans priced by a search at most; 0: any number"),
    HPS_FIELD(hps_sched_opt, replan, HPS_BOOL, "false", 0, 0, "",
              "measured stage times correct the profile, a better plan is adopted at a checkpoint"),
    HPS_FIELD(hps_sched_opt, replan_margin, HPS_REAL, "0.1", 0, 1e3, "",
              "by what share of the new plan's cost the old must be dearer, or of its rate slower"),
    HPS_FIELD(hps_sched_opt, share, HPS_BOOL, "false", 0, 0, "",
              "two stages of one type may work on the same units"),
    { 0 }
};

const struct hps_sched *hps_sched_find(const char *method, const char **argument)
{
    const char *colon = strchr(method, ':');
    size_t n = colon ? (size_t)(colon - method) : strlen(method);

    for (size_t a = 0; a < sizeof all / sizeof *all; a++) {
        const struct hps_sched *x = all[a];
        if (strlen(x->name) != n || memcmp(x->name, method, n) != 0) continue;
        if (x->argument != (colon && colon[1]) || (colon && !x->argument)) return NULL;
        if (argument) *argument = colon ? colon + 1 : "";
        return x;
    }
    return NULL;
}

const char *hps_sched_words(void)
{
    return WORDS;
}

const struct hps_sched *hps_sched_at(int a)
{
    return (size_t)a < sizeof all / sizeof *all ? all[a] : NULL;
}

static enum hps_status refuse(const char *key, const char *what)
{
    HPS_SAY(HPS_ERROR, "schedule.%s: %s", key, what);
    return HPS_DECK;
}

static enum hps_status check_warm(const struct hps_sched_opt *opt, const struct hps_sched *method)
{
    const struct hps_sched *warm = hps_sched_find(opt->warm, NULL);

    if (!warm) {
        HPS_SAY(HPS_ERROR, "schedule.warm: '%s' is none of %s", opt->warm, WORDS);
        return HPS_DECK;
    }
    if (warm == method) return refuse("warm", "names the method itself");
    if (!method->endless) return refuse("warm", "this method does not begin with a plan");
    if (warm->endless && !(opt->seconds > 0) && opt->evaluations == 0)
        return refuse("seconds", "the warm start ends on it or evaluations: one must be above 0");
    return HPS_OK;
}

enum hps_status hps_sched_check(const struct hps_sched_opt *opt)
{
    const struct hps_sched *method = hps_sched_find(opt->method, NULL);

    if (!method) {
        HPS_SAY(HPS_ERROR, "schedule.method: '%s' is none of %s", opt->method, WORDS);
        return HPS_DECK;
    }
    const struct hps_sched *warm = hps_sched_find(opt->warm, NULL);
    if (*opt->policy && !method->learns && !(warm && warm->learns))
        return refuse("policy", "is for rl, rl-rnn, rl-joint and best, which learn, or for one "
                                "of them as warm");
    if (*opt->warm && check_warm(opt, method)) return HPS_DECK;
    if (opt->replan && method == &hps_sched_file)
        return refuse("replan", "a plan that is read does not change; name a method that searches");
    if (!isinf(opt->trial_steps) && opt->trial_steps != floor(opt->trial_steps))
        return refuse("trial_steps", "must be auto or a whole number");
    if (method->endless && !(opt->seconds > 0) && opt->evaluations == 0)
        return refuse("seconds", "this method ends on seconds or evaluations: one must be above 0");
    bool reads = method == &hps_sched_file || warm == &hps_sched_file;
    if (*opt->plan && !reads) return refuse("plan", "is for schedule.method: file, or warm: file");
    if (!*opt->plan && reads) return refuse("plan", "must name the plan of method (or warm) file");
    return HPS_OK;
}

/* x rounded down to six digits: typed as a limit it can be had. */
static void round_down(char *text, size_t size, double *x)
{
    int digits = 5 - (int)floor(log10(*x));
    double scale = pow(10, digits), down = floor(*x * scale) / scale;

    *x = down <= *x ? down : (floor(*x * scale) - 1) / scale;
    if (digits < 20)
        snprintf(text, size, "%.*f", digits > 0 ? digits : 0, *x);
    else
        snprintf(text, size, "%.5e", *x);
}

/* Proven: what could be had instead, and its price. */
static enum hps_status say_infeasible(const struct hps_profile *p, double limit, double seconds)
{
    struct hps_plan *fastest, *plan;
    bool proven, priced;
    char max[64] = "0", lack[512];
    struct hps_exact_request request = { .seconds = seconds };

    request.throughput_limit = hps_exact_max_throughput(p, seconds, &fastest, &proven);
    bool lacks = hps_exact_lacks(p, limit, seconds, lack, sizeof lack);
    if (!fastest && lacks) {
        HPS_SAY(HPS_ERROR, "no plan fits the memory of its units: %s", lack);
        return HPS_DECK;
    }
    if (!fastest) {
        HPS_SAY(HPS_ERROR, "no plan is feasible: no type has a unit for each worker (%d)%s",
                p->workers, hps_profile_served(p) ? " beside the servers" : "");
        return HPS_DECK;
    }
    round_down(max, sizeof max, &request.throughput_limit);
    request.known = fastest;
    hps_exact_solve(p, &request, &plan, &priced);
    HPS_SAY(HPS_ERROR,
            "no plan reaches %.10g examples/s: the highest throughput %s is %s examples/s, "
            "at %.6g USD%s%s",
            limit, proven ? "that can be had" : "found", max, plan->cost_usd,
            lacks ? "; with more memory it could be had: " : "", lacks ? lack : "");
    hps_plan_free(plan);
    hps_plan_free(fastest);
    return HPS_DECK;
}

enum hps_status hps_sched_limit(struct hps_problem *q, const struct hps_sched *method,
                                struct hps_plan **fastest)
{
    bool proven;

    q->throughput_limit = q->opt->throughput_limit;
    if (!isinf(q->throughput_limit)) return HPS_OK;
    if (method->max_throughput) return method->max_throughput(q, &q->throughput_limit);
    q->throughput_limit = hps_exact_max_throughput(q->profile, q->opt->seconds, fastest, &proven);
    q->fastest = *fastest;
    if (!proven)
        HPS_SAY(HPS_WARN,
                "throughput_limit max: %.6g examples/s is the most that was found, unproven",
                q->throughput_limit);
    if (*fastest && hps_sched_engine(q->opt))
        q->throughput_limit = hps_engine_of(*fastest, q->profile).examples_s;
    if (isinf(q->throughput_limit)) q->throughput_limit = 0;
    return HPS_OK;
}

/* Add a bound to the plan of a method that has none of its own. */
static void certify(struct hps_plan *plan, const struct hps_problem *q)
{
    struct hps_exact_request request = { .throughput_limit = q->throughput_limit,
                                         .seconds = q->opt->seconds,
                                         .cuts = hps_plan_cuts(plan),
                                         .known = plan,
                                         .share = q->opt->share || plan->nshare > 0 };
    struct hps_plan *best;
    bool proven;
    double bound = hps_exact_solve(q->profile, &request, &best, &proven);

    hps_cost_certify(plan, bound);
    bool cheaper = best && best->cost_usd < plan->cost_usd * (1 - HPS_COST_TIE);
    if (cheaper && !hps_sched_engine(q->opt)) {
        snprintf(plan->competitor, sizeof plan->competitor, "%s", hps_sched_exact.name);
        plan->competitor_ratio = best->cost_usd / plan->cost_usd;
    }
    hps_plan_free(best);
}

static enum hps_status none(const struct hps_problem *q)
{
    struct hps_exact_request request = { .throughput_limit = q->throughput_limit,
                                         .seconds = q->opt->seconds,
                                         .share = q->opt->share };
    bool proven;

    if (isinf(hps_exact_solve(q->profile, &request, NULL, &proven)))
        return say_infeasible(q->profile, q->throughput_limit, q->opt->seconds);
    if (q->throughput_limit > 0)
        HPS_SAY(HPS_ERROR, "%s found no feasible plan for %.10g examples/s in its budget",
                q->opt->method, q->throughput_limit);
    else
        HPS_SAY(HPS_ERROR, "%s found no plan within the types' limits in its budget",
                q->opt->method);
    return HPS_DECK;
}

static enum hps_status search(struct hps_plan **plan, struct hps_problem *q)
{
    const struct hps_sched *method = hps_sched_find(q->opt->method, &q->argument);
    double began = hps_now_s();
    enum hps_status s = method->run(q, hps_rng_key((uint64_t)q->opt->seed, method->name), plan);

    if (s || !*plan) return s;
    (*plan)->search_seconds = hps_now_s() - began;
    snprintf((*plan)->method, sizeof (*plan)->method, "%s", q->opt->method);
    hps_plan_name(*plan, q->profile);
    return HPS_OK;
}

/* The plan of another method than the one that q's options name, with q's whole budget. */
static enum hps_status search_by(struct hps_plan **plan, const struct hps_problem *q,
                                 const char *method, double throughput_limit)
{
    struct hps_sched_opt opt = *q->opt;
    struct hps_problem other = *q;

    opt.method = method;
    other.opt = &opt;
    other.throughput_limit = throughput_limit;
    return search(plan, &other);
}

/* The plan of the warm method. A plan that is read need not keep the limit: the search begins with
 * it, no more. */
static enum hps_status warm_up(struct hps_plan **warm, const struct hps_problem *q)
{
    const char *method = q->opt->warm;
    bool reads = hps_sched_find(method, NULL) == &hps_sched_file;
    enum hps_status s = search_by(warm, q, method, reads ? 0 : q->throughput_limit);

    if (!s && !*warm)
        HPS_SAY(HPS_WARN, "schedule.warm: %s found no feasible plan to begin with", method);
    return s;
}

enum hps_status hps_sched_search(struct hps_plan **plan, struct hps_problem *q)
{
    struct hps_plan *warm = NULL;
    enum hps_status s = *q->opt->warm ? warm_up(&warm, q) : HPS_OK;

    *plan = NULL;
    q->warm = warm;
    if (!s) s = search(plan, q);
    if (!s && *plan && warm) snprintf((*plan)->warm, sizeof (*plan)->warm, "%s", warm->method);
    q->warm = NULL;
    hps_plan_free(warm);
    return s;
}

/* For a run that is to stop: a plan without any search and without a promise, to have a first step
 * and a checkpoint with. */
static enum hps_status makeshift(struct hps_plan **plan, const struct hps_problem *q)
{
    enum hps_status s = search_by(plan, q, hps_sched_heuristic.name, 0);

    if (!s && *plan) snprintf((*plan)->instead, sizeof (*plan)->instead, "%s", q->opt->method);
    return s;
}

enum hps_status hps_sched_run(struct hps_plan **plan, const struct hps_profile *p,
                              const struct hps_sched_opt *opt)
{
    struct hps_problem q = { .profile = p, .opt = opt };
    struct hps_plan *fastest = NULL;
    enum hps_status s = hps_sched_check(opt);
    const struct hps_sched *method = hps_sched_find(opt->method, &q.argument);

    *plan = NULL;
    if (!s) s = hps_sched_limit(&q, method, &fastest);
    if (!s) s = hps_sched_search(plan, &q);
    if (!s && !*plan && hps_budget_stopped()) s = makeshift(plan, &q);
    if (!s && !*plan) s = none(&q);
    if (!s && !method->certifies) certify(*plan, &q);
    hps_plan_free(fastest);
    return s;
}

/* A method that ends by itself had no time to: what it found depends on how fast this machine was
 * then. */
static void say_late(const struct hps_plan *plan, const struct hps_sched_opt *opt)
{
    const struct hps_sched *method = hps_sched_find(opt->method, NULL);

    if (!method->endless && !method->certifies && opt->seconds > 0 && !hps_budget_stopped() &&
        plan->search_seconds >= opt->seconds)
        HPS_SAY(HPS_WARN, "%s did not come to its end in schedule.seconds %g: another start may "
                "find another plan", opt->method, opt->seconds);
}

enum hps_status hps_sched_plan(struct hps_plan **plan, const struct hps_profile *p,
                               const struct hps_sched_opt *opt, MPI_Comm world)
{
    int rank = 0;
    enum hps_status s = HPS_OK;

    *plan = NULL;
    if (world != MPI_COMM_NULL) HPS_MPI(MPI_Comm_rank(world, &rank));
    if (rank == 0) s = hps_sched_run(plan, p, opt);
    if (rank == 0 && !s) say_late(*plan, opt);
    if (world != MPI_COMM_NULL) hps_barrier_sleeping(world);
    s = hps_agree(world, s);
    if (s) return s;
    hps_plan_bcast(plan, world);
    s = hps_agree(world, hps_plan_check(*plan, p, "the plan"));
    if (s) {
        hps_plan_free(*plan);
        *plan = NULL;
    }
    return s;
}
