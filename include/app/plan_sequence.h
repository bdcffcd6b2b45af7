/* plan_sequence.h - a run under one plan after another: the loop, the changes between, what each
 * did. */
#ifndef HPS_APP_PLAN_SEQUENCE_H
#define HPS_APP_PLAN_SEQUENCE_H

#include "app/job.h"
#include "train/loop.h"

struct hps_plan_sequence {
    int nera;
    struct hps_plan_epoch *era; /* (nera) the plans of this start, in turn  */
    size_t cap;
    struct hps_cursor began;                   /* where the last of them began             */
    double sent_bytes;                         /* by this rank under plans that are gone   */
    double gpu_joules;                         /* used by its GPU meanwhile; NaN: not known */
    struct hps_run_before before;              /* counted here when the last of them began */
};

/* hps_loop_run from cursor->step on; with schedule.replan, whenever it finds a better plan at a
 * checkpoint: the old team and step are freed, those of the new plan made, the state is read from
 * that checkpoint, profile.json and plan.json are written again, and the loop goes on. `loop` has
 * all but what depends on the plan. A change is paid at the old plan's rate. Status as
 * hps_loop_run's, or that of a change that failed. Collective over job->world. */
enum hps_status hps_plan_sequence_run(struct hps_plan_sequence *course, struct hps_job *job,
                                      struct hps_loop *loop, struct hps_cursor *cursor);
void hps_plan_sequence_done(struct hps_plan_sequence *course);

#endif
