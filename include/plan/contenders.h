/* contenders.h - the plans that are nearly as good as the best one by what is promised, so that
 * measured they may be better: those of one type, those one move of stages away, and those another
 * move away from the best of these. */
#ifndef HPS_PLAN_CONTENDERS_H
#define HPS_PLAN_CONTENDERS_H

#include "plan/sched.h"

/* By how much a contender may be promised to be worse than the best plan, as a share; and by how
 * much slower by the paper's model. */
#define HPS_CONTENDERS_NEAR 0.15
#define HPS_CONTENDERS_WIDE 0.3

/* Fill plan (max) with copies of `best` and of the best contenders, in the order of what the replay
 * promises (plan/promise.h): the cheapest that keep the throughput limit of the options, or nearly;
 * with "max", the fastest. The first of them is there though it may not be near. Returns how many,
 * >= 1; the caller frees each. All are priced. Takes some tenths of a second at most. Local. */
int hps_contenders(struct hps_plan **plan, int max, const struct hps_plan *best,
                   const struct hps_profile *p, const struct hps_sched_opt *opt);

#endif
