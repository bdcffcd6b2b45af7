/* trial_impl.h - what trials of a plan and of a server share: the training, and its samples of
 * seconds. */
#ifndef HPS_PROFILE_TRIAL_IMPL_H
#define HPS_PROFILE_TRIAL_IMPL_H

#include "base/say.h"
#include "profile/trial.h"

/* A training from its first step on. The struct must not move. */
struct hps_trial_training {
    struct hps_order order;
    struct hps_steps steps;
    struct hps_step *step;
    struct hps_feeder *feeder;
    enum hps_level level;       /* of what is said behind the trial */
};
/* Of zeroed memory. End it after a failure too. Collective over team->world. */
enum hps_status hps_trial_begin(struct hps_trial_training *x, const struct hps_net *net,
                                const struct hps_plan *plan, const struct hps_team *team,
                                struct hps_dev *dev, const struct hps_trial_opt *opt);
void hps_trial_end(struct hps_trial_training *x);

/* Seconds of steps, or of clocks, in windows with pauses between them. The first ones do not count,
 * since they touch new memory. */
struct hps_trial_samples {
    const struct hps_trial_opt *o;
    bool warm;                  /* samples count                                    */
    double min_s;               /* the fastest                                      */
    int no_faster;              /* samples since one was faster by 3 %              */
    int nshort;                 /* samples since one was of whole batches           */
    struct hps_trial window[HPS_TRIAL_WINDOWS];
    int w;                      /* the window that is measured; before it all is known */
    double *took_s;             /* (max_steps) those of the window that count       */
    int n;
    double sum_s;               /* of them                                          */
    double began_s;             /* when the first one, then when the first that counts, began */
    double window_s;            /* when the window began                            */
};
void hps_trial_samples_init(struct hps_trial_samples *x, const struct hps_trial_opt *opt);
void hps_trial_samples_done(struct hps_trial_samples *x);

/* Does none that follows touch new memory? Then the first window may begin. Local. */
bool hps_trial_samples_settled(const struct hps_trial_samples *x);
/* Has the window enough, with one more that is under way and of whole batches (`more`)? Does no
 * window come after it? Local. */
bool hps_trial_samples_enough(const struct hps_trial_samples *x, bool more);
bool hps_trial_samples_last(const struct hps_trial_samples *x);
/* Pause after a window; no sample counts until the next one begins, which may be when caches are
 * warm again (settled). Local. */
void hps_trial_samples_pause(struct hps_trial_samples *x);
void hps_trial_samples_begin(struct hps_trial_samples *x);
/* One more, of whole batches or not. Does it count? Local. */
bool hps_trial_samples_add(struct hps_trial_samples *x, double took_s, bool whole);
/* End a window: its n, step_s, low_s, high_s and unsure, to which regions may be added; NULL: it
 * has no samples that count. Local. */
struct hps_trial *hps_trial_samples_end(struct hps_trial_samples *x);
/* The median of the windows by their step; of two the faster one, since what disturbs a machine
 * makes nothing faster. No window: n is 0. Pure. */
void hps_trial_samples_median(const struct hps_trial_samples *x, struct hps_trial *t);

#endif
