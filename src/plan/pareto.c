#include "plan/pareto.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/plot.h"
#include "plan/cost.h"
#include "plan/provision.h"

#define POINTS 25
#define SHARE 0.125             /* of the budget of time, for each point */
#define LEGEND 1.35             /* the frame is so much higher than what is drawn */
#define HIGH   2.5              /* plans above so many times the end of the curve are not drawn */

/* The cheapest plan for a limit, and the bound for it. */
static enum hps_status find(struct hps_pareto *f, int i, struct hps_problem *q)
{
    struct hps_pareto_point *x = &f->point[i];
    struct hps_plan *plan;
    bool proven;

    x->cost_usd = INFINITY;
    q->throughput_limit = x->limit;
    enum hps_status s = hps_sched_search(&plan, q);
    if (s) return s;
    struct hps_exact_request request = { .throughput_limit = x->limit,
                                         .seconds = q->opt->seconds,
                                         .known = plan,
                                         .cuts = plan && hps_plan_cuts(plan),
                                         .share = q->opt->share || (plan && plan->nshare > 0) };
    x->lower_bound_usd = hps_exact_solve(f->profile, &request, NULL, &proven);
    if (plan) {
        x->cost_usd = plan->cost_usd;
        x->throughput = plan->throughput;
        x->stages = plan->S;
    }
    hps_plan_free(plan);
    return HPS_OK;
}

/* A plan for a higher limit keeps a lower one too; a bound for a lower one holds for a higher. */
static void smooth(struct hps_pareto *f)
{
    for (int i = f->n - 2; i >= 0; i--)
        if (f->point[i + 1].cost_usd < f->point[i].cost_usd) {
            f->point[i].cost_usd = f->point[i + 1].cost_usd;
            f->point[i].throughput = f->point[i + 1].throughput;
            f->point[i].stages = f->point[i + 1].stages;
        }
    for (int i = 1; i < f->n; i++)
        f->point[i].lower_bound_usd = fmax(f->point[i].lower_bound_usd,
                                           f->point[i - 1].lower_bound_usd);
}

static void add_single(struct hps_pareto *f, const struct hps_plan *plan)
{
    if (isfinite(plan->throughput))
        f->single[f->nsingle++] = (struct hps_pareto_single){
            plan->stage[0].type, plan->throughput, plan->cost_usd };
}

static void find_singles(struct hps_pareto *f)
{
    const struct hps_profile *p = f->profile;
    struct hps_cost *c = hps_cost_new(p);
    struct hps_plan *plan = hps_plan_new(p->L, 1);

    f->single = hps_mem_new(2 * (size_t)p->T, sizeof *f->single);
    for (int t = 0; t < p->T; t++) {
        plan->stage[0] = (struct hps_plan_stage){ .last = p->L - 1, .type = t };
        if (!hps_provision(plan, p, c, 0)) continue;
        add_single(f, plan);
        if (isfinite(hps_provision_min_tau(plan, p, c))) add_single(f, plan);
    }
    hps_plan_free(plan);
    hps_cost_free(c);
}

/* From the cheapest plan's throughput, which any lower limit would get too, up to the most. */
static void build_ladder(struct hps_pareto *f, double min, double max)
{
    f->n = max > min * (1 + 1e-6) ? POINTS : 1;
    f->point = hps_mem_new((size_t)f->n, sizeof *f->point);
    for (int i = 0; i < f->n; i++)
        f->point[i].limit = f->n > 1 ? min + (max - min) * i / (f->n - 1) : min;
}

enum hps_status hps_pareto_run(struct hps_pareto **pareto, const struct hps_profile *p,
                               const struct hps_sched_opt *opt)
{
    struct hps_pareto *f = hps_mem_new(1, sizeof *f);
    struct hps_sched_opt mine = *opt;
    struct hps_problem q = { .profile = p, .opt = &mine };
    const struct hps_sched *method = hps_sched_find(opt->method, &q.argument);
    struct hps_plan *cheapest = NULL, *fastest = NULL;
    enum hps_status s;

    *pareto = f;
    f->profile = p;
    snprintf(f->method, sizeof f->method, "%s", opt->method);
    mine.seconds *= SHARE;
    mine.throughput_limit = 0;
    s = hps_sched_run(&cheapest, p, &mine);
    mine.throughput_limit = INFINITY;
    if (!s) s = hps_sched_limit(&q, method, &fastest);
    if (!s) build_ladder(f, fmin(cheapest->throughput, q.throughput_limit), q.throughput_limit);
    q.fastest = NULL;           /* it keeps the highest limit alone */
    for (int i = 0; i < f->n && !s; i++) {
        if (i == f->n - 1) q.fastest = fastest;
        s = find(f, i, &q);
    }
    if (!s) {
        smooth(f);
        find_singles(f);
    }
    hps_plan_free(cheapest);
    hps_plan_free(fastest);
    return s;
}

void hps_pareto_free(struct hps_pareto *f)
{
    if (!f) return;
    hps_mem_free(f->point);
    hps_mem_free(f->single);
    hps_mem_free(f);
}

/* ---- what is shown ---- */

static struct hps_plot frame_of(const struct hps_pareto *f, struct hps_page *text)
{
    struct hps_plot plot = { .text = text, .x1 = f->point[f->n - 1].limit };
    double curve = 0, all = 0;

    for (int i = 0; i < f->n; i++)
        curve = isfinite(f->point[i].cost_usd) ? fmax(curve, f->point[i].cost_usd) : curve;
    for (int i = 0; i < f->nsingle; i++) {
        plot.x1 = fmax(plot.x1, f->single[i].throughput);
        all = fmax(all, f->single[i].cost_usd);
    }
    plot.x1 *= 1.04;
    plot.y1 = LEGEND * fmax(curve, fmin(all, HIGH * curve));
    if (!(plot.x1 > 0)) plot.x1 = 1;
    if (!(plot.y1 > 0)) plot.y1 = 1;
    return plot;
}

/* Steps: up to a limit the plan that keeps it, before the first the cheapest. */
static void draw_steps(const struct hps_pareto *f, const struct hps_plot *plot, bool bound,
                       const char *style)
{
    double x[2 * POINTS], y[2 * POINTS];
    int n = 0;

    for (int i = 0; i < f->n; i++) {
        double cost = bound ? f->point[i].lower_bound_usd : f->point[i].cost_usd;
        x[n] = i > 0 ? f->point[i - 1].limit : 0;
        y[n++] = isfinite(cost) ? cost : NAN;
        x[n] = f->point[i].limit;
        y[n++] = isfinite(cost) ? cost : NAN;
    }
    hps_plot_line(plot, n, x, y, style);
}

/* How many were above the frame. */
static int draw_singles(const struct hps_pareto *f, const struct hps_plot *plot)
{
    int above = 0;

    for (int i = 0; i < f->nsingle; i++) {
        const struct hps_pareto_single *x = &f->single[i];
        char tip[HPS_NAME + 64];
        snprintf(tip, sizeof tip, "%s alone: %.6g examples/s, %.6g USD",
                 f->profile->type[x->type].name, x->throughput, x->cost_usd);
        above += x->cost_usd > plot->y1 / LEGEND;
        if (x->cost_usd <= plot->y1 / LEGEND)
            hps_plot_dot(plot, x->throughput, x->cost_usd, 3, tip);
    }
    return above;
}

char *hps_pareto_svg(const struct hps_pareto *f)
{
    struct hps_page text = { 0 };
    struct hps_plot plot = frame_of(f, &text);
    char word[HPS_NAME + 32], dots[96];

    hps_plot_begin(&plot, "Cost against throughput", "examples/s", "USD");
    hps_plot_dress(&plot);
    draw_steps(f, &plot, true, "said");
    draw_steps(f, &plot, false, "got");
    int above = draw_singles(f, &plot);
    snprintf(word, sizeof word, "plans by %s", f->method);
    snprintf(dots, sizeof dots, "one type alone, its cheapest and its fastest plan");
    if (above > 0) snprintf(dots + strlen(dots), sizeof dots - strlen(dots), " (%d dearer)", above);
    hps_plot_legend(&plot, 0, "got", word);
    hps_plot_legend(&plot, 1, "said", "no plan costs less");
    hps_plot_legend(&plot, 2, "dot", dots);
    hps_plot_end(&plot);
    return text.at;
}

struct json_t *hps_pareto_tree(const struct hps_pareto *f)
{
    json_t *o = json_object(), *points = json_array(), *singles = json_array();

    for (int i = 0; i < f->n; i++) {
        const struct hps_pareto_point *x = &f->point[i];
        bool is_plan = isfinite(x->cost_usd);
        json_t *one = json_object();
        json_object_set_new(one, "throughput_limit", hps_json_real(x->limit));
        json_object_set_new(one, "throughput", is_plan ? hps_json_real(x->throughput)
                                                       : json_null());
        json_object_set_new(one, "cost_usd", hps_json_real(x->cost_usd));
        json_object_set_new(one, "lower_bound_usd", hps_json_real(x->lower_bound_usd));
        json_object_set_new(one, "stages", is_plan ? json_integer(x->stages) : json_null());
        json_array_append_new(points, one);
    }
    for (int i = 0; i < f->nsingle; i++) {
        const struct hps_pareto_single *x = &f->single[i];
        json_t *one = json_object();
        json_object_set_new(one, "type", json_integer(x->type));
        json_object_set_new(one, "throughput", hps_json_real(x->throughput));
        json_object_set_new(one, "cost_usd", hps_json_real(x->cost_usd));
        json_array_append_new(singles, one);
    }
    json_object_set_new(o, "points", points);
    json_object_set_new(o, "singles", singles);
    return o;
}
