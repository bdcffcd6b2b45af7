#include "plan/engine.h"

#include <math.h>

#include "plan/cost.h"

/* Of a stage: a micro-batch's forward and backward, what it does once a step, and the hop of a
 * micro-batch over the boundary before it, there and back. */
struct terms { double forward, backward, once, hop; };

struct hps_engine_cut hps_engine_cut(const struct hps_profile *p)
{
    const struct hps_profile_engine *e = &p->engine;

    return e->batch > 0 ? (struct hps_engine_cut){ e->batch, (double)e->microbatches }
                        : (struct hps_engine_cut){ 4 * p->batch, 4 };
}

/* The first layer that reads the dataset: its oct has the reading of the step's rows already. */
static bool reads_more(const struct hps_plan_stage *g, const struct hps_profile *p)
{
    int first = 0;

    while (first < p->L && !p->layer[first].reads)
        first++;
    for (int l = g->first; l <= g->last && g->first > first; l++)
        if (p->layer[l].reads)
            return true;
    return false;
}

/* Sums over the layers of a stage, seconds for Bo examples on one unit, `sync` on its k. */
struct sums { double oct, forward, once, sync; };

static struct sums sums_of(const struct hps_plan_stage *g, const struct hps_profile *p)
{
    struct sums x = { 0, 0, 0, 0 };
    double k = (double)g->units, others = 2 * (k - 1) / k;

    for (int l = g->first; l <= g->last; l++) {
        size_t a = (size_t)l * (size_t)p->T + (size_t)g->type;
        x.oct += p->oct[a];
        x.forward += p->engine.forward_s[a];
        x.once += p->engine.once_s[a];
        x.sync += p->sync[a] * (1 - p->beta[a] + p->beta[a] / k) * others;
    }
    return x;
}

static struct terms terms_of(const struct hps_plan *plan, const struct hps_profile *p,
                             struct hps_engine_cut cut, int s)
{
    const struct hps_plan_stage *g = &plan->stage[s];
    struct sums x = sums_of(g, p);
    double rows = cut.batch / cut.M, micro = g->ct * rows;
    double once = x.oct > 0 ? fmin(x.once / x.oct, 1) * micro : 0, work = micro - once;
    double part = x.forward > 0 && x.oct > x.once ? fmin(x.forward / (x.oct - x.once), 1) : 1.0 / 3;
    double extra = p->engine.micro_s[g->type]
                   + (reads_more(g, p) ? p->engine.read_s[g->type] * rows : 0);
    struct terms y = { part * work, (1 - part) * work, 0, 0 };

    y.forward += extra / 2;
    y.backward += extra / 2;
    y.once = cut.M * (once + x.sync / p->batch * rows) + p->engine.step_s[g->type];
    if (s > 0)
        y.hop = p->recv[(size_t)g->first * (size_t)p->T + (size_t)g->type] / p->batch * rows;
    return y;
}

/* Seconds for which stage s waits inside a step: for its first gradient, and for its last. `ahead`
 * is the way of a micro-batch from here to the end of the pipeline and back. */
static double idle_s(const struct terms *y, double ahead, int behind, double M)
{
    double warm = fmin(M, behind + 1) - 1;
    double first = fmax(0, ahead - warm * y->forward), last = fmax(0, ahead - warm * y->backward);

    if (behind == 0)
        return 0;
    return M > behind + 1 ? first + last : fmax(first, last);
}

static double step_s(const struct hps_plan *plan, const struct hps_profile *p,
                     struct hps_engine_cut cut)
{
    double way = 0, before = 0, step = 0, tau = 0;
    struct terms y = { 0, 0, 0, 0 };

    for (int s = 0; s < plan->S; s++) {
        y = terms_of(plan, p, cut, s);
        way += y.hop + y.forward + y.backward;
        tau = fmax(tau, hps_cost_busy(plan, s));
    }
    for (int s = 0; s < plan->S; s++) {
        double micro = y.forward + y.backward;
        y = terms_of(plan, p, cut, s);
        before = s > 0 ? fmax(y.once, before + micro + y.hop) : y.once;
        micro = y.forward + y.backward;
        way -= y.hop + micro;
        double mine = cut.M * micro + idle_s(&y, way, plan->S - 1 - s, cut.M);
        double flights = fmin(cut.M, plan->S - s);
        mine = fmax(mine, floor(cut.M / flights) * (micro + way));
        int with = hps_plan_partner(plan, s);
        if (with > s) {
            struct terms z = terms_of(plan, p, cut, with);
            mine = fmax(mine, cut.M * (micro + z.forward + z.backward) + z.once);
        }
        step = fmax(step, before + mine);
    }
    return fmax(step, cut.batch * tau);
}

struct hps_engine_result hps_engine_of(const struct hps_plan *plan, const struct hps_profile *p)
{
    struct hps_engine_cut cut = hps_engine_cut(p);
    double step = step_s(plan, p, cut), seconds = p->epochs * p->examples / cut.batch * step;

    return (struct hps_engine_result){ step, cut.batch / step, seconds,
                                       seconds / 3600 * hps_cost_usd_hour(plan, p) };
}
