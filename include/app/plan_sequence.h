/* plan_sequence.h - a run under a sequence of plans: the loop under each plan, the changes
 * between them, the accounts of each. */
#ifndef HPS_APP_PLAN_SEQUENCE_H
#define HPS_APP_PLAN_SEQUENCE_H

#include "app/job.h"
#include "train/loop.h"

struct hps_plan_sequence {
    int nepoch;
    struct hps_plan_epoch *epoch; /* (nepoch) one for each plan of this start, in order     */
    size_t cap;
    struct hps_cursor began;      /* the progress when the last of them began               */
    double sent_bytes;            /* by this rank under the plans before the last           */
    struct hps_message_count messages[HPS_MESSAGES]; /* what of it was encoded, by kind     */
    double gpu_joules;            /* of its GPU under all of them; NaN: unknown             */
    struct hps_other_load_found other; /* beside all of them                                */
    struct hps_run_counted before; /* this rank's counters when the last of them began       */
};

/* Run hps_loop_run from cursor->step on. With schedule.replan, when it finds a better plan at a
 * checkpoint, free the old team and step, build those of the new plan, load the state from that
 * checkpoint, write profile.json and plan.json again, and continue. The caller sets the fields
 * of `loop` that do not depend on the plan. The time of a change costs the old plan's rate.
 * Returns the status of hps_loop_run, or of a failed change. Collective over job->world. */
enum hps_status hps_plan_sequence_run(struct hps_plan_sequence *sequence, struct hps_job *job,
                                      struct hps_loop *loop, struct hps_cursor *cursor);
void hps_plan_sequence_done(struct hps_plan_sequence *sequence);

#endif
