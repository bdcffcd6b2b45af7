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
    int nwindow;                            /* 1 to HPS_TRIAL_WINDOWS: the steps come in so many
                                               windows, with pauses between them. A machine has
                                               moments of some tenths of a second in which all
                                               is slower: most windows are outside of one  */
    int min_steps, max_steps;               /* that count, of all windows, as the seconds are */
    double seconds;                         /* enough of them, after min_steps             */
    double max_seconds;                     /* enough, after 2; 0: never                   */
    double sure;                            /* enough of a window, after its share of min_steps and
                                               8: its median is unsure by no more than this
                                               share; 0: never                             */
};

enum { HPS_TRIAL_WINDOWS = 3 };
#define HPS_TRIAL_PAUSE_S 0.1           /* between two windows */

/* What the trial found. The first steps do not count, since they touch new memory. The times are
 * those of the window that is the median one. */
struct hps_trial {
    int n;                                  /* whole batches that count, of all windows    */
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
