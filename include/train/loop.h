/* loop.h - step after step: progress, agreement, checkpoints, evaluation, the end. */
#ifndef HPS_TRAIN_LOOP_H
#define HPS_TRAIN_LOOP_H

#include "step/metric.h"
#include "train/adapt.h"
#include "train/report.h"

/* The history of a run: the status that was written last; and the losses, the same on every rank:
 * one point a step, then one every two steps, every four ... */
enum { HPS_LOOP_POINTS = 512, HPS_LOOP_PACE = 1024 };
struct hps_loop_past {
    struct hps_rundir_state status; /* on rank 0, but for step and loss                */
    int nloss;
    long long loss_every;          /* steps between two points; 0: none yet            */
    struct hps_run_loss loss[HPS_LOOP_POINTS];
    long long npace;               /* steps of this start on this rank, the first left out    */
    double pace_s[HPS_LOOP_PACE];  /* what the last of them took, step n at n % HPS_LOOP_PACE */
};

/* The quantile `share`, 0 < share <= 1, of the times of the last steps, without checkpoints and
 * evaluations; NaN: there was one step or none. Pure. */
double hps_loop_pace(const struct hps_loop_past *past, double share);

/* Everything that a loop needs; borrowed. */
struct hps_loop {
    const struct hps_run_opt *run;
    const struct hps_train_opt *train;
    const struct hps_data_opt *data_opt;
    const struct hps_ckpt_opt *ckpt;
    const struct hps_rundir *dir;
    const struct hps_data *data, *test; /* test NULL: none                              */
    struct hps_step *step;
    struct hps_steps steps;
    struct hps_ckpt_text text;
    double usd_s, usd_idle_s;   /* the price of a second of the plan, and of the idle ranks   */
    double promised_examples_s; /* by the plan; printed beside the rate         */
    bool never;                 /* --restart never: old checkpoints go          */
    double keep_share;          /* of this rank's rows, that a checkpoint may copy in memory */
    struct hps_adapt *adapt;    /* NULL: the plan stays                         */
    double made_s;              /* what making and loading this plan took       */
    struct hps_loop_past *past; /* in and out: continued over a change of plan  */
};

/* The next plan, and the corrected profile that it was made from; to free. NULL: none. */
struct hps_loop_change {
    struct hps_plan *plan;
    struct hps_profile *profile;
};

/* From cursor->step to the end of the run, to an agreed stop, or to a change of plan. HPS_OK: all
 * steps done, or *change is set: a better plan was found at the checkpoint just written, take the
 * state from there and go on; HPS_AGAIN: stopped early. All with a whole last checkpoint. `cursor`
 * in and out; rank 0's is the truth of seconds. Collective over world. */
enum hps_status hps_loop_run(const struct hps_loop *loop, struct hps_cursor *cursor,
                             struct hps_loop_change *change, MPI_Comm world);

#endif
