/* sched_fixed.c - units for stages that do not depend on the limit: what single and heuristic
 * share. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "plan/engine.h"
#include "plan/pricer.h"
#include "plan/provision.h"

bool hps_sched_engine(const struct hps_sched_opt *opt)
{
    return strcmp(opt->objective, "engine") == 0;
}

double hps_sched_usd(const struct hps_problem *q, const struct hps_plan *plan)
{
    return hps_sched_engine(q->opt) ? hps_engine_of(plan, q->profile).cost_usd : plan->cost_usd;
}

void hps_sched_adapt(const struct hps_problem *q, struct hps_plan **plan)
{
    struct hps_pricer *pr = hps_pricer_new(q);
    int *type = hps_mem_new((size_t)pr->L, sizeof *type);

    if (*plan) {
        hps_plan_assignment(*plan, type);
        hps_pricer_price(pr, type, INFINITY);
    }
    hps_plan_free(*plan);
    *plan = hps_pricer_plan(pr);
    hps_mem_free(type);
    hps_pricer_free(pr);
}

enum hps_status hps_sched_fixed(const struct hps_problem *q, hps_sched_stages *stages,
                                struct hps_plan **plan)
{
    enum hps_status s = stages(q, plan);

    if (s) return s;
    if (q->opt->share || hps_sched_engine(q->opt)) {
        hps_sched_adapt(q, plan);
        return HPS_OK;
    }
    struct hps_cost *c = hps_cost_new(q->profile);
    bool feasible = hps_provision(*plan, q->profile, c, q->throughput_limit);

    hps_cost_free(c);
    (*plan)->evaluations = 1;
    if (!feasible) {
        hps_plan_free(*plan);
        *plan = NULL;
    }
    return HPS_OK;
}

enum hps_status hps_sched_fixed_max(const struct hps_problem *q, hps_sched_stages *stages,
                                    double *throughput)
{
    struct hps_plan *plan;
    enum hps_status s = stages(q, &plan);

    if (s) return s;
    struct hps_cost *c = hps_cost_new(q->profile);
    double tau = hps_provision_min_tau(plan, q->profile, c);

    *throughput = tau > 0 && isfinite(tau) ? 1 / tau : 0;
    if (*throughput > 0 && hps_sched_engine(q->opt))
        *throughput = hps_engine_of(plan, q->profile).examples_s;
    hps_cost_free(c);
    hps_plan_free(plan);
    return HPS_OK;
}
