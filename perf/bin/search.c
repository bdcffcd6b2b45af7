/* search.c - searching methods over random problems (random_profile.h), rows of a Markdown table:
 *   search gap LAYERS TYPES KIND SEEDS EVALUATIONS SECONDS POLICY METHOD...
 *       a row a method: mean and worst gap in % to the proven bound, how often it met the bound and
 *       how many bounds are a plan's cost (proven optimal), how often it had no plan, plans priced
 *       and seconds of the processor
 *   search soon LAYERS TYPES KIND SEEDS POLICY
 *       plans priced and seconds until rl is within 1 % of the bound, medians: without and with the
 *       policy
 * POLICY is a file for rl, or "". KIND is tight, loose, cut or tight-cut. A budget of 0: none. Built
 * by `make perf/bin/search`. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/quit.h"
#include "base/say.h"
#include "base/sort.h"
#include "base/world.h"
#include "lab.h"
#include "random_profile.h"

#define EXACT_S 10.0            /* of a proof at most                          */
#define FIRST_SEED 100000       /* problems that no policy was trained on      */
#define SOON 0.01               /* the gap that is waited for                  */

struct set {
    int n, L, T;
    const char *kind;
    struct hps_profile **p;     /* (n) */
    double *bound;              /* (n) */
    int nproven;                /* of them, the cost of a plan */
};

static enum hps_status make_set(struct set *x, char **arg)
{
    struct random_wish w = { .L = atoi(arg[0]), .T = atoi(arg[1]), .feasible = true };
    bool proven;

    *x = (struct set){ .n = atoi(arg[3]), .L = w.L, .T = w.T, .kind = arg[2] };
    if (!random_limits_of(arg[2], &w.limits) || w.L < 1 || w.T < 1 || x->n < 1) {
        HPS_SAY(HPS_ERROR, "LAYERS TYPES KIND SEEDS: see the head of search.c");
        return HPS_USAGE;
    }
    x->p = hps_mem_new((size_t)x->n, sizeof(*x->p));
    x->bound = hps_mem_new((size_t)x->n, sizeof(*x->bound));
    for (int a = 0; a < x->n; a++) {
        w.seed = FIRST_SEED + (uint64_t)a;
        x->p[a] = random_profile(&w);
        x->bound[a] = hps_exact_bound(x->p[a], x->p[a]->throughput_limit, EXACT_S, 0, NULL,
                                      &proven);
        x->nproven += proven;
    }
    return HPS_OK;
}

static void free_set(struct set *x)
{
    for (int a = 0; a < x->n && x->p; a++)
        hps_profile_free(x->p[a]);
    hps_mem_free(x->p);
    hps_mem_free(x->bound);
}

/* The gap of a method's plan, 1: it has none. */
static double gap_of(const struct set *x, int a, const struct hps_sched_opt *opt,
                     long long *evaluations)
{
    struct hps_problem q = lab_problem(x->p[a], opt);
    struct hps_plan *plan;
    double gap = 1;

    if (hps_sched_search(&plan, &q))
        HPS_DIE("%s failed", opt->method);
    *evaluations = plan ? plan->evaluations : opt->evaluations;
    if (plan)
        gap = (plan->cost_usd - x->bound[a]) / plan->cost_usd;
    hps_plan_free(plan);
    return gap;
}

static struct hps_sched_opt options(const char *method, const char *policy)
{
    struct hps_sched_opt opt = lab_options(method, 0);

    opt.policy = policy;
    return opt;
}

static void row(const struct set *x, const struct hps_sched_opt *opt)
{
    double sum = 0, worst = 0, began_s = lab_cpu_s();
    long long all = 0, evaluations;
    int none = 0, met = 0;

    for (int a = 0; a < x->n; a++) {
        double gap = gap_of(x, a, opt, &evaluations);
        all += evaluations;
        none += gap == 1;
        met += gap < 1e-9;
        sum += gap == 1 ? 0 : gap;
        worst = gap < 1 ? fmax(worst, gap) : worst;
    }
    hps_out("| %d x %d | %s | %s%s | %.3g | %.3g | %d of %d | %d | %d | %lld | %.3g |\n", x->L, x->T,
            x->kind, opt->method, *opt->policy ? " with policy" : "",
            none < x->n ? 100 * fmax(sum, 0) / (x->n - none) : 0, 100 * worst, met, x->n,
            x->nproven, none, all / x->n, (lab_cpu_s() - began_s) / x->n);
}

static enum hps_status gaps(int argc, char **argv)
{
    struct set x;
    enum hps_status s = make_set(&x, argv);

    for (int a = 7; !s && a < argc; a++) {
        struct hps_sched_opt opt = options(argv[a], strcmp(argv[a], "rl") == 0 ? argv[6] : "");
        opt.evaluations = atoll(argv[4]);
        opt.seconds = atof(argv[5]);
        row(&x, &opt);
        s = hps_out_flush();
    }
    free_set(&x);
    return s;
}

/* Ever larger budgets, by a quarter each, until the plan is near: each search begins anew, so the
 * last one is what it takes. */
static void soon(const struct set *x, const char *policy, double *plans, double *seconds)
{
    for (int a = 0; a < x->n; a++) {
        struct hps_sched_opt opt = options("rl", policy);
        double gap = 1, began_s = 0;
        long long evaluations;
        for (opt.evaluations = 100; gap > SOON && opt.evaluations < 1000000;
             opt.evaluations += opt.evaluations / 4) {
            began_s = lab_cpu_s();
            gap = gap_of(x, a, &opt, &evaluations);
            plans[a] = gap > SOON ? INFINITY : (double)opt.evaluations;
        }
        seconds[a] = lab_cpu_s() - began_s;
    }
    hps_sort_ascending(plans, (size_t)x->n);
    hps_sort_ascending(seconds, (size_t)x->n);
}

static enum hps_status soons(char **argv)
{
    struct set x;
    enum hps_status s = make_set(&x, argv);
    double *plans = hps_mem_new((size_t)(s ? 0 : x.n), sizeof *plans);
    double *seconds = hps_mem_new((size_t)(s ? 0 : x.n), sizeof *seconds);

    for (int with = 0; !s && with < 2; with++) {
        soon(&x, with ? argv[4] : "", plans, seconds);
        hps_out("| %d x %d | %s | %s | %.0f | %.0f | %.3g |\n", x.L, x.T, x.kind,
                with ? "with" : "without", plans[x.n / 2], plans[(x.n - 1) * 9 / 10],
                seconds[x.n / 2]);
        s = hps_out_flush();
    }
    hps_mem_free(plans);
    hps_mem_free(seconds);
    free_set(&x);
    return s;
}

static enum hps_status run(int argc, char **argv)
{
    if (argc > 9 && strcmp(argv[1], "gap") == 0)
        return gaps(argc - 2, argv + 2);
    if (argc == 7 && strcmp(argv[1], "soon") == 0)
        return soons(argv + 2);
    HPS_SAY(HPS_ERROR, "usage: search gap|soon LAYERS TYPES KIND SEEDS ...: see search.c");
    return HPS_USAGE;
}

int main(int argc, char **argv)
{
    hps_begin(&argc, &argv, false);
    return hps_end(run(argc, argv));
}
