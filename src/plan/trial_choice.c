#include "plan/trial_choice.h"

#include <math.h>

static double usd_of(const struct hps_tried_plan *p)
{
    return p->usd_hour * p->step_s;
}

static bool is_better(const struct hps_tried_plan *p, const struct hps_tried_plan *than,
                      bool by_cost)
{
    double unsure = p->unsure_s / p->step_s + than->unsure_s / than->step_s;
    double mine = by_cost ? usd_of(p) : p->step_s, theirs = by_cost ? usd_of(than) : than->step_s;

    return mine * (1 + unsure) < theirs;
}

struct hps_trial_choice hps_trial_choose(int n, const struct hps_tried_plan *plan, double batch,
                                         double throughput_limit)
{
    double max_step_s = throughput_limit > 0 ? batch / throughput_limit : INFINITY;
    struct hps_trial_choice c = { -1, false };

    for (int i = 0; i < n; i++)
        c.by_cost |= plan[i].step_s <= max_step_s;
    for (int i = 0; i < n; i++) {
        if (c.by_cost && plan[i].step_s > max_step_s) continue;
        if (c.best < 0 || is_better(&plan[i], &plan[c.best], c.by_cost)) c.best = i;
    }
    return c;
}

bool hps_trial_is_tie(const struct hps_tried_plan *p, const struct hps_tried_plan *other,
                      bool by_cost)
{
    return !is_better(p, other, by_cost) && !is_better(other, p, by_cost);
}
