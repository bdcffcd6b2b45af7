/* adapt.h - feedback: what the stages of the running plan took, and whether another plan is better.
 *
 * A window lasts from the first step after the last look (or after the start of a plan, whose first
 * step is left out) to this one; one of fewer than 4 steps goes on. Of a stage's ranks, in a window
 * of n examples:
 *     ct = (longest forward + backward + update + shortest pull + push) / n
 *     dt = (shortest pull + push + reduce + send) / n
 * A rank that comes early waits in pull, push and reduce for the others; the one that is awaited
 * does not, so the shortest is the work itself. Communication that computation hides is in none of
 * them: dt is what is left of it (plan/correct.h says what follows).
 *
 * Planning again is rank 0's, by the deck's method and objective; the others sleep. The search, and
 * each of at most two questions for the most throughput before it, get 2 % of the window's seconds,
 * 10 ms at least, schedule.seconds and a tenth of run.stall_seconds at most; evaluations as in the
 * deck. Where the corrected pool cannot keep throughput_limit any more, the most that it can have
 * takes its place.
 *
 * The plan changes when the new one is better by more than schedule.replan_margin
 * (hps_correct_better), and what it saves in the rest of the run is more than the change takes: the
 * time of the last checkpoint and of making and loading the present plan. To the margin comes
 * 0.5 / sqrt(windows under the present plan) where the new one never ran: rates wander, and of a
 * plan that never ran a window says what the model makes of it; what many windows say is believed.
 * A plan that ran before is judged by the throughput that it had then, so two plans do not take
 * turns; it is taken back too, when the present one was worse in more than one window. After n
 * changes a plan stays for 2^(n-1) windows at least: on a machine whose rates wander the changes
 * get rare. */
#ifndef HPS_TRAIN_ADAPT_H
#define HPS_TRAIN_ADAPT_H

#include "plan/sched.h"
#include "train/ckpt.h"

struct hps_adapt;

/* `profile` is the one that the run begins with; a copy is kept. `opt` is borrowed. Caller frees.
 * Local. */
struct hps_adapt *hps_adapt_new(const struct hps_sched_opt *opt, const struct hps_profile *profile,
                                double stall_seconds);
void hps_adapt_free(struct hps_adapt *a);

/* Begin a window after cursor->step steps; cursor->seconds is up to date on rank 0. Local. */
void hps_adapt_mark(struct hps_adapt *a, const struct hps_step *step,
                    const struct hps_cursor *cursor);
/* Is the window long enough for hps_adapt_look? The same answer on all ranks. Local. */
bool hps_adapt_ready(const struct hps_adapt *a, const struct hps_cursor *cursor);

struct hps_adapt_now {
    const struct hps_cursor *cursor; /* as in the checkpoint just written            */
    double left_examples;            /* of the run                                   */
    double change_s;                 /* what a change is expected to take            */
};
/* Evaluate the window: correct the profile, plan, compare; rank 0 prints one line that says what
 * was measured and what was promised, and why the plan changes or stays. *plan and *profile [out]:
 * the plan to go on with and the corrected profile, equal and checked on all ranks, to free; NULL:
 * the plan stays. HPS_DECK: what rank 0 sent is no valid plan. Collective over world. */
enum hps_status hps_adapt_look(struct hps_adapt *a, const struct hps_step *step,
                               const struct hps_adapt_now *now, struct hps_plan **plan,
                               struct hps_profile **profile, MPI_Comm world);

#endif
