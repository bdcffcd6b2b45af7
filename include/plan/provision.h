/* provision.h - how many units each stage gets: exact, all integers; pure. */
#ifndef HPS_PLAN_PROVISION_H
#define HPS_PLAN_PROVISION_H

#include "plan/cost.h"

/* The same question on bare lines, for searches that price very many plans. Two stages that share
 * their units are one line here, `more` beside it. */
struct hps_provision_job {
    int S;
    const struct hps_cost_line *line;   /* (S) `least` is what all that it stands for needs */
    const struct hps_cost_line *more;   /* (S) a second stage on the same units where its least is
                                           above 0; NULL: nowhere                      */
    const double *price;                /* (S) of one unit, in any currency            */
    const long long *most;              /* (S) units that a stage alone could have     */
    double server_price;                /* paid whatever the stages have               */
    bool (*fits)(void *with, const long long *units);  /* do the limits allow these? If they */
    void *with;                         /* allow some, then they allow fewer            */
    double *et;                         /* (S) scratch                                  */
    bool begun;                         /* hps_provision_cheapest's `work` holds the least units at
                                           tau_most already, and fits() allows them */
};

/* Seconds per example that k units of line s are at work. Never rises with k. Pure. */
double hps_provision_et(const struct hps_provision_job *job, int s, long long k);
/* The least units of line s with that <= tau, 0 when there are none. Pure. */
long long hps_provision_units(const struct hps_provision_job *job, int s, double tau);
/* The least units of all lines at this tau; et with them. False when a line has none or the limits
 * refuse them. `units` of the second hold those of a larger tau, and et is theirs. Pure. */
bool hps_provision_at(const struct hps_provision_job *job, double tau, long long *units);
bool hps_provision_down(const struct hps_provision_job *job, double tau, long long *units);

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
