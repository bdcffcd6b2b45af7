#include "plan/engine.h"

#include <math.h>

#include "plan/cost.h"

struct hps_engine_cut hps_engine_cut(const struct hps_profile *p)
{
    const struct hps_profile_engine *e = &p->engine;

    return e->batch > 0 ? (struct hps_engine_cut){ e->batch, (double)e->microbatches }
                        : (struct hps_engine_cut){ 4 * p->batch, 4 };
}

/* e_s: a micro-batch in stage s, forward and backward. */
static double micro_s(const struct hps_plan *plan, const struct hps_profile *p,
                      struct hps_engine_cut cut, int s)
{
    const struct hps_plan_stage *g = &plan->stage[s];
    int boundaries = (s > 0) + (s < plan->S - 1);

    return g->et * cut.batch / cut.M + 2 * p->engine.latency_s * boundaries
           + p->engine.micro_s[g->type];
}

struct hps_engine_result hps_engine_of(const struct hps_plan *plan, const struct hps_profile *p)
{
    struct hps_engine_cut cut = hps_engine_cut(p);
    double slowest = 0, sum = 0, late = 0;

    for (int s = 0; s < plan->S; s++) {
        double micro = micro_s(plan, p, cut, s), unit = micro;
        int with = hps_plan_partner(plan, s);
        if (with >= 0)
            unit += micro_s(plan, p, cut, with);
        late = fmax(late, p->engine.step_s[plan->stage[s].type] - sum);
        slowest = fmax(slowest, unit);
        sum += micro;
    }
    double step = (cut.M - 1) * slowest + sum + late;
    double seconds = p->epochs * p->examples / cut.batch * step;
    return (struct hps_engine_result){ step, cut.batch / step, seconds,
                                       seconds / 3600 * hps_cost_usd_hour(plan, p) };
}
