/* measure_trial.h - whole steps of a training on one rank, on two of a type, and on two of unlike
 * types, for the profile: what layers that are measured one by one do not show. */
#ifndef HPS_PROFILE_MEASURE_TRIAL_H
#define HPS_PROFILE_MEASURE_TRIAL_H

#include "profile/measure.h"
#include "profile/trial.h"

/* The ranks of comm train the whole net for some steps, in one stage (cut 0) or in two that are cut
 * before layer `cut`. Tables are small (profile/small_tables.h). Collective over comm. */
enum hps_status hps_measure_trial(struct hps_trial *trial, const struct hps_net *net, int cut,
                                  struct hps_dev *dev, const struct hps_measure_opt *opt,
                                  MPI_Comm comm);

/* The first two ranks of each type, where a plan may have two units of it, train in one stage;
 * those of the same round (round[first rank of the type]) at the same time. Fits the profile's sync
 * and alpha (hps_fit_pair). Collective over world. */
enum hps_status hps_measure_pairs(struct hps_profile *p, const int *round, int nround,
                                  const struct hps_net *net, const struct hps_pool *pool,
                                  struct hps_dev *dev, const struct hps_measure_opt *opt,
                                  MPI_Comm world);

/* The first ranks of the first two types, of which one at least is a CPU, train in two stages, cut
 * where most crosses. Fits the profile's engine.move (hps_fit_move). Plans of one type have one
 * stage. Collective over world. */
enum hps_status hps_measure_move(struct hps_profile *p, const struct hps_net *net,
                                 const struct hps_pool *pool, struct hps_dev *dev,
                                 const struct hps_measure_opt *opt, MPI_Comm world);

#endif
