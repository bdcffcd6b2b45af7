/* plan_joint.c - what it brings that the policy chooses units too (rl-joint), and that two stages
 * of a type may share theirs (schedule.share), on the same random problems (random_profile.h), rows
 * of two Markdown tables:
 *   plan_joint joint LAYERS TYPES KIND SEEDS BUDGET
 *       rl-joint's cost over plain rl's: mean, least and most; how often lower, the same, higher;
 *       problems without a plan of either; seconds of the processor of both
 *   plan_joint share LAYERS TYPES KIND SEEDS BUDGET
 *       rl's cost with sharing over the cost without: mean, least and most; how often lower, the
 *       same, higher; plans that share and pairs in them; seconds of the processor of both
 * Under the paper's model and under the engine's, whose throughput limit is as large a part of what
 * the fastest plan has there. KIND is tight, loose, cut or tight-cut; BUDGET a number of plans, or
 * of seconds with an s behind it. Built by `make perf/bin/plan_joint`. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lab.h"
#include "base/say.h"
#include "base/world.h"
#include "plan/cost.h"
#include "plan/engine.h"
#include "random_profile.h"

#define MAX_S 1.0              /* of a search for the fastest plan */

struct side { const char *method; bool share; };

struct tally {
    int n, lower, same, higher, none[2], shared, pairs;
    double logs, least, most, seconds[2];
};

static double limit_of(const struct hps_profile *p, bool engine)
{
    struct hps_plan *fastest;
    bool proven;
    double limit = p->throughput_limit;

    if (!engine) return limit;
    double most = hps_exact_max_throughput(p, MAX_S, &fastest, &proven);
    if (fastest && most > 0)
        limit *= hps_engine_of(fastest, p).examples_s / most;
    hps_plan_free(fastest);
    return limit;
}

/* The cost under the objective, INFINITY: no plan. */
static double cost_of(const struct hps_profile *p, const struct side *x, bool engine,
                      const char *budget, double *seconds, struct hps_plan **plan)
{
    struct hps_sched_opt opt = lab_options(x->method, 0);
    double began = lab_cpu_s(), cost = INFINITY;

    lab_budget(&opt, budget);
    opt.objective = engine ? "engine" : "model";
    opt.share = x->share;
    *plan = lab_search(p, &opt);
    *seconds += lab_cpu_s() - began;
    if (*plan) {
        struct hps_problem q = lab_problem(p, &opt);
        cost = hps_sched_usd(&q, *plan);
    }
    return cost;
}

static void compare(struct tally *y, double a, double b)
{
    y->none[0] += isinf(a);
    y->none[1] += isinf(b);
    if (isinf(a) || isinf(b))
        return;
    double ratio = b / a;
    y->logs += log(ratio);
    y->least = y->n > 0 ? fmin(y->least, ratio) : ratio;
    y->most = y->n > 0 ? fmax(y->most, ratio) : ratio;
    y->lower += ratio < 1 - HPS_COST_TIE;
    y->higher += ratio > 1 + HPS_COST_TIE;
    y->same += fabs(ratio - 1) <= HPS_COST_TIE;
    y->n++;
}

static void one(struct tally *y, const struct random_wish *w, const struct side *side, bool engine,
                const char *budget)
{
    struct hps_profile *p = random_profile(w);
    struct hps_plan *plan[2];
    double cost[2];

    p->throughput_limit = limit_of(p, engine);
    for (int a = 0; a < 2; a++)
        cost[a] = cost_of(p, &side[a], engine, budget, &y->seconds[a], &plan[a]);
    compare(y, cost[0], cost[1]);
    if (plan[1]) {
        y->shared += plan[1]->nshare > 0;
        y->pairs += plan[1]->nshare;
    }
    for (int a = 0; a < 2; a++)
        hps_plan_free(plan[a]);
    hps_profile_free(p);
}

static void print(const struct tally *y, const struct random_wish *w, const char *objective,
                  const char *kind, bool pairs, int seeds)
{
    hps_out("| %d x %d | %s | %s | %s | %.4g | %.4g | %.4g | %d, %d, %d | %d, %d |", w->L, w->T,
            random_words[w->limits], objective, kind, exp(y->logs / (y->n > 0 ? y->n : 1)),
            y->least, y->most, y->lower, y->same, y->higher, y->none[0], y->none[1]);
    if (pairs) hps_out(" %d, %d |", y->shared, y->pairs);
    hps_out(" %.3g, %.3g |\n", y->seconds[0] / seeds, y->seconds[1] / seeds);
}

static void rows(struct random_wish *w, bool joint, int seeds, const char *budget)
{
    for (int engine = 0; engine < 2; engine++)
        for (int share = 0; share < (joint ? 2 : 1); share++) {
            struct side side[2] = { { "rl", share },
                                    { joint ? "rl-joint" : "rl", share || !joint } };
            struct tally y = { 0 };
            for (w->seed = 700001; w->seed < 700001 + (uint64_t)seeds; w->seed++)
                one(&y, w, side, engine, budget);
            print(&y, w, engine ? "engine" : "model",
                  joint ? (share ? "on" : "off") : "on over off", !joint, seeds);
        }
}

static enum hps_status run(int argc, char **argv)
{
    struct random_wish w = { .engine = true, .feasible = true };
    bool joint = argc > 1 && strcmp(argv[1], "joint") == 0;
    int seeds = argc == 7 ? atoi(argv[5]) : 0;

    if (seeds < 1 || (!joint && strcmp(argv[1], "share") != 0) ||
        !random_limits_of(argv[4], &w.limits)) {
        HPS_SAY(HPS_ERROR, "usage: plan_joint joint|share LAYERS TYPES KIND SEEDS BUDGET");
        return HPS_USAGE;
    }
    w.L = atoi(argv[2]);
    w.T = atoi(argv[3]);
    if (w.L < 1 || w.T < 1) {
        HPS_SAY(HPS_ERROR, "plan_joint: LAYERS and TYPES are at least 1");
        return HPS_USAGE;
    }
    rows(&w, joint, seeds, argv[6]);
    return hps_out_flush();
}

int main(int argc, char **argv)
{
    hps_begin(&argc, &argv, false);
    return hps_end(run(argc, argv));
}
