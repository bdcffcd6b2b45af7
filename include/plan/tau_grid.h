/* tau_grid.h - at which tau a policy draws its plans: a ladder of taus, each with what a plan
 * without shared limits costs there at least (plan/value); low ones are drawn more often. Local,
 * pure. */
#ifndef HPS_PLAN_TAU_GRID_H
#define HPS_PLAN_TAU_GRID_H

#include "plan/pricer.h"
#include "plan/value.h"

#define HPS_TAU_GRID 16

struct hps_tau_grid {
    double tau[HPS_TAU_GRID];   /* falling: from what good types do alone, or the limit allows, to
                                 what the dearest layer allows                                  */
    double bound[HPS_TAU_GRID]; /* tau * USD an hour, INFINITY: none keeps it                     */
    double weight[HPS_TAU_GRID]; /* how often it is drawn, not yet scaled */
};

/* The ladder of pr's problem; `value` is filled on the way. */
void hps_tau_grid_fill(struct hps_tau_grid *ladder, const struct hps_profile *p,
                       const struct hps_pricer *pr, struct hps_value *value);
/* The value at this tau, or at the top of the ladder where no plan keeps it. */
void hps_tau_grid_value(const struct hps_tau_grid *ladder, const struct hps_profile *p,
                        const struct hps_pricer *pr, struct hps_value *value, double tau);
/* A tau between two steps, by weight. */
double hps_tau_grid_draw(const struct hps_tau_grid *ladder, uint64_t key);
/* The step with the least bound. */
int hps_tau_grid_best(const struct hps_tau_grid *ladder);

#endif
