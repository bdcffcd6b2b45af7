/* trial_choice.h - which of some plans to train by, after each was tried for some steps; pure. */
#ifndef HPS_PLAN_TRIAL_CHOICE_H
#define HPS_PLAN_TRIAL_CHOICE_H

#include <stdbool.h>

/* What was measured of a plan. */
struct hps_tried_plan {
    double promised_s;          /* a step by the engine-faithful model                       */
    double step_s;              /* the median of the trial, > 0                              */
    double unsure_s;            /* of this median: the trial's interquartile range / sqrt(n) */
    double usd_hour;            /* of the plan's units                                       */
};

/* One of n >= 1 plans; 0 is the plan that was made. Of those that keep the limit (examples/s, of
 * steps of `batch`; 0: none) the cheapest per example; where none does, or the limit is the most of
 * the pool (INFINITY), the fastest. A plan is taken in place of an earlier one where it is better
 * by more than both are unsure. Pure. */
struct hps_trial_choice {
    int best;
    bool by_cost;               /* the cheapest, else the fastest */
};
struct hps_trial_choice hps_trial_choose(int n, const struct hps_tried_plan *plan, double batch,
                                         double throughput_limit);

/* Are two plans as good as each other, within what both are unsure? Pure. */
bool hps_trial_is_tie(const struct hps_tried_plan *p, const struct hps_tried_plan *other,
                      bool by_cost);

#endif
