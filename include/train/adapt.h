/* adapt.h - replanning: measures the stages of the running plan, and decides whether another plan
 * is better.
 *
 * A window of measurement lasts from the step after the last evaluation (or the second step of a
 * plan) to the current step; a window of fewer than 4 steps is extended. Over a stage's ranks, in a
 * window of n examples:
 *     ct = (longest forward + backward + update + shortest pull + push) / n
 *     dt = (shortest pull + push + reduce + send) / n
 * A rank that arrives early waits for the others in pull, push and reduce, and the last one does
 * not, so the shortest time is that of the work itself. Communication hidden by computation is in
 * neither: dt is what is left of it (see plan/correct.h).
 *
 * Rank 0 plans again by the deck's method and objective, while the others sleep. The search, and
 * each of at most two searches for the highest throughput before it, get 2 % of the window's
 * seconds, at least 10 ms, at most schedule.seconds and a tenth of run.stall_seconds; evaluations
 * as in the deck. Where the corrected pool cannot keep throughput_limit any more, the limit is the
 * highest throughput that it can have.
 *
 * The plan changes when the new one is better by more than schedule.replan_margin
 * (hps_correct_better) and saves more in the rest of the run than the change costs: the time of
 * the last checkpoint and of building and loading the present plan. A plan that never ran must
 * be better by 0.5 / sqrt(windows under the present plan) more, since measured rates vary and
 * its own rate is the model's; this vanishes with the number of windows. By what the profile is
 * unsure of the types of both plans (plan/profile.h), it must be better too. A plan that ran before
 * is judged by the throughput that it had then, so that two plans do not alternate; it also
 * returns when the present plan was worse in more than one window. After n changes a plan stays
 * for at least 2^(n-1) windows, so that changes become rare on a machine with varying rates. */
#ifndef HPS_TRAIN_ADAPT_H
#define HPS_TRAIN_ADAPT_H

#include "plan/sched.h"
#include "train/ckpt.h"

struct hps_adapt;

/* `profile`: the one of the run's beginning; it is copied. `opt` is borrowed. Caller frees.
 * Local. */
struct hps_adapt *hps_adapt_new(const struct hps_sched_opt *opt, const struct hps_profile *profile,
                                double stall_seconds);
void hps_adapt_free(struct hps_adapt *a);

/* Begin a window after cursor->step steps; cursor->seconds is up to date on rank 0. Local. */
void hps_adapt_begin(struct hps_adapt *a, const struct hps_step *step,
                     const struct hps_cursor *cursor);
/* Is the window long enough for hps_adapt_evaluate? Equal on all ranks. Local. */
bool hps_adapt_ready(const struct hps_adapt *a, const struct hps_cursor *cursor);

struct hps_adapt_state {
    const struct hps_cursor *cursor; /* as in the checkpoint just written            */
    double left_examples;            /* of the run                                   */
    double change_s;                 /* what a change is expected to take            */
};
/* Evaluate the window: correct the profile, plan, compare. Rank 0 prints a line with the
 * measured and the promised throughput and the reason of the decision. *plan and *profile [out]:
 * the next plan and the corrected profile, equal and checked on all ranks, to free; NULL: the
 * plan stays. HPS_DECK: the broadcast plan is not valid. Collective over world. */
enum hps_status hps_adapt_evaluate(struct hps_adapt *a, const struct hps_step *step,
                                   const struct hps_adapt_state *now, struct hps_plan **plan,
                                   struct hps_profile **profile, MPI_Comm world);

#endif
