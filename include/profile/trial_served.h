/* trial_served.h - some clocks of asynchronous workers with dedicated servers, to measure what a
 * server does in them, or how fast the workers are: server, channels, batch feeder and stage worker
 * are those of a training. What is learned is discarded. */
#ifndef HPS_PROFILE_TRIAL_SERVED_H
#define HPS_PROFILE_TRIAL_SERVED_H

#include "profile/trial.h"

/* How servers are tried for a training: as it synchronises workers; under bsp, where their work is
 * not distinguished from their waits, as under hybrid, without clipping: the rows are then on
 * servers, the dense weights are not. Without what is kept of a run. Pure. */
struct hps_train_opt hps_trial_served_train(const struct hps_train_opt *train);

/* Train under the plan of the team, of workers and servers, with opt->train of
 * hps_trial_served_train. A sample is of a worker's clock, or of as many as give the gradients that
 * servers apply together. step_s and what goes with it are seconds for which the first server was
 * busy in one worker's clock, emulated sleep included; there are no regions. Else as hps_trial_run,
 * but that the first server decides when it is enough, and what it found is on all ranks. */
enum hps_status hps_trial_served(struct hps_trial *trial, const struct hps_net *net,
                                 const struct hps_plan *plan, const struct hps_team *team,
                                 struct hps_dev *dev, const struct hps_trial_opt *opt);

/* The same, but step_s is of a step, a batch of each worker: the mean seconds in which the first
 * server has finished as many clocks, of whichever workers, as there are workers. */
enum hps_status hps_trial_async(struct hps_trial *trial, const struct hps_net *net,
                                const struct hps_plan *plan, const struct hps_team *team,
                                struct hps_dev *dev, const struct hps_trial_opt *opt);

#endif
