/* tau_grid.h - the grid of taus at which a policy draws its plans, each with a lower bound on the
 * cost of a plan there if types had no shared limits (plan/value); taus of low bounds are drawn
 * more often. Local, pure. */
#ifndef HPS_PLAN_TAU_GRID_H
#define HPS_PLAN_TAU_GRID_H

#include "plan/pricer.h"
#include "plan/value.h"

#define HPS_TAU_GRID 16

struct hps_tau_grid {
    double tau[HPS_TAU_GRID];   /* decreasing: from the tau of good types alone, or that of the
                                   limit, to the smallest tau of the slowest layer */
    double bound[HPS_TAU_GRID]; /* tau * USD per hour, INFINITY: no plan keeps this tau           */
    double weight[HPS_TAU_GRID]; /* probability of the tau, not normalised */
};

/* Set the grid for the problem of pr; `value` is overwritten. */
void hps_tau_grid_fill(struct hps_tau_grid *grid, const struct hps_profile *p,
                       const struct hps_pricer *pr, struct hps_value *value);
/* Set the value at this tau, or at the largest tau of the grid where no plan keeps it. */
void hps_tau_grid_value(const struct hps_tau_grid *grid, const struct hps_profile *p,
                        const struct hps_pricer *pr, struct hps_value *value, double tau);
/* Draw a tau by weight, from between two points of the grid. */
double hps_tau_grid_draw(const struct hps_tau_grid *grid, uint64_t key);
/* The point with the lowest bound. */
int hps_tau_grid_best(const struct hps_tau_grid *grid);

#endif
