/* trial.h - some steps of a training under a plan, to measure what a step takes: the batch feeder,
 * stage worker, parameter server, messages and agreement are those of a run. What the steps learn
 * is discarded. */
#ifndef HPS_PROFILE_TRIAL_H
#define HPS_PROFILE_TRIAL_H

#include "hw/count.h"
#include "step/step.h"

struct hps_trial_opt {
    const struct hps_train_opt *train;      /* borrowed, as are the next two               */
    const struct hps_storage_opt *storage;
    const struct hps_data *data;            /* its first steps are trained                 */
    long long batch;                        /* of a step                                   */
    int microbatches, prefetch;
    bool shuffle;
    uint64_t seed;
    int min_steps, max_steps;               /* that count                                  */
    double seconds;                         /* enough of them, after min_steps             */
    double max_seconds;                     /* enough, after 2; 0: never                   */
    double sure;                            /* enough, after min_steps and 8: the median is unsure
                                               by no more than this share; 0: never        */
};

/* What the trial found. The first steps do not count, since they touch new memory. */
struct hps_trial {
    int n;                                  /* whole batches that count                    */
    double step_s, low_s, high_s;           /* their median and quartiles on this rank     */
    double unsure;                          /* of the median, as a share: the interquartile range
                                               over sqrt(n), below 1                       */
    double region_s[HPS_REGIONS];           /* this rank's seconds in each region in a step of
                                               the median; by a GPU's own clock where that
                                               computes                                    */
};

/* Train under the plan of the team. The ranks stop together: after opt->seconds by the clock of
 * rank 0, or when a rank is asked to stop (plan/budget.h; then n may be 0). Of the counters nothing
 * is left (hps_count_clear), and nothing but errors is said. The status, equal on all ranks, is
 * that of a training: HPS_DECK or HPS_INPUT where the data are bad. Collective over team->world. */
enum hps_status hps_trial_run(struct hps_trial *trial, const struct hps_net *net,
                              const struct hps_plan *plan, const struct hps_team *team,
                              struct hps_dev *dev, const struct hps_trial_opt *opt);

#endif
