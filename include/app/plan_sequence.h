/* plan_sequence.h - a run under one plan after another: the loop under each plan, the changes
 * between them, what was done under each. */
#ifndef HPS_APP_PLAN_SEQUENCE_H
#define HPS_APP_PLAN_SEQUENCE_H

#include "app/job.h"
#include "train/loop.h"

struct hps_plan_sequence {
    int nepoch;
    struct hps_plan_epoch *epoch; /* (nepoch) one for each plan of this start, in order     */
    size_t cap;
    struct hps_cursor began;      /* where the last of them began                           */
    double sent_bytes;            /* by this rank under the plans before the last           */
    double gpu_joules;            /* used by its GPU in all of them; NaN: unknown           */
    struct hps_run_before before; /* this rank's counters when the last of them began       */
};

/* Run hps_loop_run from cursor->step on. With schedule.replan, whenever it finds a better plan
 * at a checkpoint, free the old team and step, make those of the new plan, read the state from that
 * checkpoint, write profile.json and plan.json again, and go on. The caller fills in of `loop` what
 * does not depend on the plan. The time of a change is paid at the old plan's rate. Returns the
 * status of hps_loop_run, or of a change that failed. Collective over job->world. */
enum hps_status hps_plan_sequence_run(struct hps_plan_sequence *sequence, struct hps_job *job,
                                      struct hps_loop *loop, struct hps_cursor *cursor);
void hps_plan_sequence_done(struct hps_plan_sequence *sequence);

#endif
