/* sched_fixed.c - units for stages that do not depend on the limit: what single and heuristic
 * share. */
#include <math.h>

#include "plan/provision.h"
#include "plan/sched.h"

enum hps_status hps_sched_fixed(const struct hps_problem *q, struct hps_plan **plan)
{
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

enum hps_status hps_sched_fixed_most(const struct hps_problem *q, struct hps_plan *plan,
                                     double *throughput)
{
    struct hps_cost *c = hps_cost_new(q->profile);
    double tau = hps_provision_least_tau(plan, q->profile, c);

    *throughput = tau > 0 && isfinite(tau) ? 1 / tau : 0;
    hps_cost_free(c);
    hps_plan_free(plan);
    return HPS_OK;
}
