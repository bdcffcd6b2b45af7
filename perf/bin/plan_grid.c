/* plan_grid.c - the planner over random problems (random_profile.h), one row of a Markdown table:
 *   plan_grid methods LAYERS TYPES KIND SEEDS BUDGET METHOD...
 *       mean gap in % of each method's plans to the proven bound, and the best method; BUDGET is a
 *       number of plans, or of seconds with an s behind it
 *   plan_grid errors LAYERS TYPES KIND SEEDS
 *       plans made on profiles that are off by 10, 20 and 50 %, priced on the true ones
 *   plan_grid time SEEDS LAYERS.SVG TYPES.SVG
 *       both tables and drawings of exact's time against layers and types, brute force's beside it
 * KIND is tight, loose, cut or tight-cut. Times are of the processor. Built by `make
 * perf/bin/plan_grid`. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/plot.h"
#include "base/rng.h"
#include "lab.h"
#include "base/quit.h"
#include "base/say.h"
#include "base/world.h"
#include "plan/cost.h"
#include "plan/moves.h"
#include "random_profile.h"

#define EXACT_S 5.0             /* of a proof at most */

static struct hps_profile *profile_of(int L, int T, enum random_limits limits, int seed)
{
    struct random_wish w = { .L = L, .T = T, .limits = limits, .feasible = true,
                             .seed = (uint64_t)seed };

    return random_profile(&w);
}

/* ---- methods ---- */

/* A plan's gap to a proven bound; 1 for none. */
static double gap_of(const struct hps_profile *p, const char *method, double bound,
                     const char *budget)
{
    struct hps_sched_opt opt = lab_options(method, 0);

    lab_budget(&opt, budget);
    struct hps_plan *plan = lab_search(p, &opt);

    if (!plan)
        return 1;
    double gap = 1 - bound / plan->cost_usd;
    hps_plan_free(plan);
    return gap > 0 ? gap : 0;
}

static void methods(int L, int T, enum random_limits limits, int seeds, const char *budget, int n,
                    char **method)
{
    double *sum = hps_mem_new((size_t)n, sizeof *sum);
    int best = 0;

    for (int seed = 1; seed <= seeds; seed++) {
        struct hps_profile *p = profile_of(L, T, limits, seed);
        bool proven;
        double bound = hps_exact_bound(p, p->throughput_limit, EXACT_S, 0, NULL, &proven);
        for (int a = 0; a < n; a++)
            sum[a] += gap_of(p, method[a], bound, budget);
        hps_profile_free(p);
    }
    hps_out("| %d x %d %s |", L, T, random_words[limits]);
    for (int a = 0; a < n; a++) {
        hps_out(" %.3g |", 100 * sum[a] / seeds);
        if (sum[a] < sum[best]) best = a;
    }
    hps_out(" %s |\n", method[best]);
    hps_mem_free(sum);
}

/* ---- errors ---- */

/* Every time off by a factor of its own, from 1 - e to 1 + e. */
static struct hps_profile *wrong(const struct hps_profile *p, double e, uint64_t key)
{
    struct hps_profile *q;
    char *text = hps_profile_text(p);
    double *table[4];

    if (hps_profile_parse(&q, "copy", text, strlen(text)) != HPS_OK)
        HPS_DIE("a profile that was written cannot be read");
    hps_mem_free(text);
    table[0] = q->oct, table[1] = q->sync, table[2] = q->recv, table[3] = q->send;
    for (int k = 0; k < 4; k++)
        for (int a = 0; a < p->L * p->T; a++)
            table[k][a] *= 1 + e * (2 * hps_rng_real(hps_rng_sub(key, (uint64_t)k),
                                                     (uint64_t)a) - 1);
    return q;
}

static void errors(int L, int T, enum random_limits limits, int seeds)
{
    static const double off[] = { 0.1, 0.2, 0.5 };
    double *loss = hps_mem_new((size_t)seeds, sizeof *loss);
    bool proven;

    hps_out("| %d x %d %s |", L, T, random_words[limits]);
    for (int k = 0; k < 3; k++) {
        double slow = 0;
        int n = 0, missed = 0;
        for (int seed = 1; seed <= seeds; seed++) {
            struct hps_profile *p = profile_of(L, T, limits, seed);
            struct hps_profile *q = wrong(p, off[k], hps_rng_key((uint64_t)seed, "wrong"));
            struct hps_plan *plan, *best;
            hps_exact_bound(p, p->throughput_limit, EXACT_S, 0, &best, &proven);
            hps_exact_bound(q, p->throughput_limit, EXACT_S, 0, &plan, &proven);
            if (plan && best) {
                hps_cost_of(plan, p);
                loss[n++] = 100 * (plan->cost_usd / best->cost_usd - 1);
                missed += plan->throughput * (1 + HPS_COST_TIE) < p->throughput_limit;
                slow = fmax(slow, 1 - plan->throughput / p->throughput_limit);
            }
            hps_plan_free(plan);
            hps_plan_free(best);
            hps_profile_free(q);
            hps_profile_free(p);
        }
        double middle = lab_median(loss, n);
        hps_out(" %.3g / %.3g | %d of %d, %.3g |", middle, n > 0 ? loss[n - 1] : NAN, missed, n,
                100 * slow);
    }
    hps_out("\n");
    hps_mem_free(loss);
}

/* ---- time ---- */

/* Seconds of pricing one plan, many times over. */
static double price_s(const struct hps_profile *p)
{
    struct hps_sched_opt opt = lab_options("ils", 0);
    struct hps_problem q = lab_problem(p, &opt);
    struct hps_pricer *pr = hps_pricer_new(&q);
    int *type = hps_mem_new((size_t)p->L, sizeof *type), n = 20000 / p->L;
    double began = lab_cpu_s();

    for (int a = 0; a < n; a++) {
        hps_moves_random(type, p->L, p->T, (uint64_t)a);
        hps_pricer_price(pr, type, pr->best);
    }
    double s = (lab_cpu_s() - began) / n;
    hps_mem_free(type);
    hps_pricer_free(pr);
    return s;
}

/* One size: its row; logarithms of exact's and of brute force's seconds. */
static void one_time(int L, int T, int seeds, double *exact, double *brute)
{
    double *s = hps_mem_new((size_t)seeds, sizeof *s), one = 0, gap = 0;
    int sure = 0;

    for (int seed = 1; seed <= seeds; seed++) {
        struct hps_profile *p = profile_of(L, T, RANDOM_LOOSE, seed);
        struct hps_plan *plan;
        bool proven;
        one += price_s(p) / seeds;
        double began = lab_cpu_s();
        hps_exact_bound(p, p->throughput_limit, 4 * EXACT_S, 0, &plan, &proven);
        s[seed - 1] = lab_cpu_s() - began;
        sure += proven;
        gap = plan ? fmax(gap, plan->gap) : 1;
        hps_plan_free(plan);
        hps_profile_free(p);
    }
    double middle = lab_median(s, seeds);
    *exact = log10(fmax(middle, 1e-6));
    *brute = L * log10(T) + log10(one);
    hps_out("| %d x %d | %.3g | %.3g | %d of %d, %.2g | 1e%.1f | 1e%.1f |\n", L, T, middle,
            s[seeds - 1], sure, seeds, 100 * gap, L * log10(T), *brute);
    hps_mem_free(s);
}

static enum hps_status times(int seeds, bool types, const char *path)
{
    static const int layers_of[] = { 5, 10, 20, 50, 100, 200 };
    static const int types_of[] = { 2, 4, 8, 16, 32, 64 };
    struct hps_page text = { 0 };
    struct hps_plot plot = { .text = &text, .x1 = types ? 66 : 206, .y0 = -5, .y1 = 27 };
    double x[6], exact[6], brute[6];

    for (int i = 0; i < 6; i++) {
        x[i] = types ? types_of[i] : layers_of[i];
        one_time(types ? 16 : layers_of[i], types ? types_of[i] : 16, seeds, &exact[i], &brute[i]);
        if (brute[i] > 18) brute[i] = NAN;
    }
    hps_plot_begin(&plot, types ? "Time against types, 16 layers" : "Time against layers, 16 types",
                   types ? "types" : "layers", "log10 of seconds");
    hps_plot_dress(&plot);
    hps_plot_line(&plot, 6, x, brute, "said");
    hps_plot_line(&plot, 6, x, exact, "got");
    hps_plot_legend(&plot, 0, "got", "exact, to the proof");
    hps_plot_legend(&plot, 1, "said", "brute force, extrapolated (cut at 1e18 s)");
    hps_plot_end(&plot);
    enum hps_status st = hps_json_write(path, text.at);
    hps_mem_free(text.at);
    return st;
}

static enum hps_status run(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int L = argc > 3 ? atoi(argv[2]) : 0, T = argc > 3 ? atoi(argv[3]) : 0;
    enum random_limits limits;
    int seeds = argc > 5 ? atoi(argv[5]) : 0;

    if (strcmp(what, "time") == 0 && argc == 5) {
        enum hps_status st = times(atoi(argv[2]), false, argv[3]);
        return st ? st : times(atoi(argv[2]), true, argv[4]);
    }
    if (L < 1 || T < 1 || seeds < 1 || !random_limits_of(argv[4], &limits)) {
        HPS_SAY(HPS_ERROR, "usage: see the head of perf/bin/plan_grid.c");
        return HPS_USAGE;
    }
    if (strcmp(what, "methods") == 0 && argc > 7)
        methods(L, T, limits, seeds, argv[6], argc - 7, argv + 7);
    else if (strcmp(what, "errors") == 0)
        errors(L, T, limits, seeds);
    return hps_out_flush();
}

int main(int argc, char **argv)
{
    hps_begin(&argc, &argv, false);
    return hps_end(run(argc, argv));
}
