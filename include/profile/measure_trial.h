/* measure_trial.h - whole steps of a training on one rank, on two of a type, on two of unlike
 * types, and on workers and a server, for the profile: what layers that are measured one by one do
 * not show. */
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

/* At most so many workers are tried with a server. */
enum { HPS_MEASURE_WORKERS = 16 };
/* The ranks that are workers while the first rank of type t serves: `workers` of them, or as many
 * as there are, of the types that are emulated least, in the order of ranks. Sets worker
 * (HPS_MEASURE_WORKERS) [out]; returns their number. Pure. */
int hps_measure_workers(const struct hps_pool *pool, int t, int workers, int *worker);

/* Where there are dedicated servers, the first rank of each type that they may be of serves the
 * workers of the run, each of one rank, for some clocks (profile/trial_served.h): on a host that
 * they share, its caches are theirs too. Fits the profile's serve (hps_fit_serve); that of a type
 * for which no rank is left to be a worker stays as it is. Collective over world. */
enum hps_status hps_measure_serve(struct hps_profile *p, const struct hps_net *net,
                                  const struct hps_pool *pool, struct hps_dev *dev,
                                  const struct hps_measure_opt *opt, MPI_Comm world);

#endif
