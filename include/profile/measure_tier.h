/* measure_tier.h - which rows of tables the steps of a run need, and what those take that memory
 * has no room for: what plan/tier_time.h adds to a plan's step. */
#ifndef HPS_PROFILE_MEASURE_TIER_H
#define HPS_PROFILE_MEASURE_TIER_H

#include "profile/measure.h"

/* One rank reads the first steps of the run, in one pass of half a second at most. Sets rows_with
 * and the samples of the profile's layers; without rows in files nothing. A bad dataset: HPS_DECK
 * or HPS_INPUT with a message. Collective over world. */
enum hps_status hps_measure_tier_rows(struct hps_profile *p, const struct hps_net *net,
                                      const struct hps_measure_opt *opt, MPI_Comm world);

/* The first rank of each CPU type tries a store of each request; sets the profile's `tier` of these
 * types. The ranks of the same round (round[first rank of the type]) at the same time. Collective
 * over world. */
enum hps_status hps_measure_tier(struct hps_profile *p, const int *round, int nround,
                                 const struct hps_net *net, const struct hps_pool *pool,
                                 struct hps_dev *dev, const struct hps_measure_opt *opt,
                                 MPI_Comm world);

#endif
