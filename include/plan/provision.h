/* provision.h - how many units each stage gets: exact, all integers; pure. */
#ifndef HPS_PLAN_PROVISION_H
#define HPS_PLAN_PROVISION_H

#include "plan/cost.h"

/* The same question on bare lines, for searches that price very many plans. */
struct hps_provision_job {
    int S;
    const struct hps_cost_line *line;   /* (S)                                         */
    const double *price;                /* (S) of one unit, in any currency            */
    const long long *most;              /* (S) units that a stage alone could have     */
    double server_price;                /* paid whatever the stages have               */
    bool (*fits)(void *with, const long long *units);  /* do the limits allow these? If they */
    void *with;                         /* allow some, then they allow fewer            */
    double *et;                         /* (S) scratch                                  */
    bool begun;                         /* hps_provision_cheapest's `work` holds the least units at
                                           tau_most already, and fits() allows them */
};

/* The cheapest units with tau <= tau_most: tau * (sum of price * units + server_price), INFINITY
 * when there are none below `cutoff` (INFINITY: none feasible). units (S) [out] are set when it is
 * finite; `work` (S). Pure. */
double hps_provision_cheapest(const struct hps_provision_job *job, double tau_most, double cutoff,
                              long long *units, long long *work);

/* The least tau, INFINITY when none is below `cutoff`; units and work as above. Pure. */
double hps_provision_fastest(const struct hps_provision_job *job, double cutoff, long long *units,
                             long long *work);

/* The cheapest units for fixed stages (first, last, type given; units are set) under the type
 * limits and the throughput limit. ET never rises with k, so tau of the optimum is the ET of some
 * stage at some k, and at a fixed tau each stage wants the least k with ET <= tau (design 4).
 * Returns false when no units are feasible: then the units are those of the least tau that the
 * limits allow, if any, else 0. The plan is priced either way. `throughput_limit` finite. */
bool hps_provision(struct hps_plan *plan, const struct hps_profile *p, const struct hps_cost *c,
                   double throughput_limit);

/* The least tau these stages can have within the limits (INFINITY when even one unit each is too
 * many); sets those units and prices them. */
double hps_provision_least_tau(struct hps_plan *plan, const struct hps_profile *p,
                               const struct hps_cost *c);

#endif
