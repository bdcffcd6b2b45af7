/* loop.h - the loop over steps: progress, step agreement, checkpoints, evaluation, the end. */
#ifndef HPS_TRAIN_LOOP_H
#define HPS_TRAIN_LOOP_H

#include "step/metric.h"
#include "train/adapt.h"
#include "train/record.h"
#include "train/report.h"

/* The history of a run: the status written last, and the losses, equal on all ranks: one point a
 * step, then one every two steps, every four .. */
enum { HPS_LOOP_POINTS = 512, HPS_LOOP_STEP_TIMES = 1024 };
struct hps_loop_history {
    struct hps_rundir_state status;     /* valid on rank 0; step and loss on all            */
    int nloss;
    long long loss_every;               /* steps between two points; 0: none yet            */
    struct hps_run_loss loss[HPS_LOOP_POINTS];
    long long nstep_time;               /* steps of this start after the first one, on this rank */
    double step_time_s[HPS_LOOP_STEP_TIMES];    /* of the last of them, step n at n % the size */
    struct hps_served *served;          /* on rank 0, by asynchronous workers; to free          */
};

/* The quantile `share`, 0 < share <= 1, of the times of the last steps, without checkpoints and
 * evaluations; NaN: there were fewer than two steps. Pure. */
double hps_loop_step_s(const struct hps_loop_history *history, double share);

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
    bool never;                 /* --restart never: old checkpoints are removed */
    double snapshot_share;          /* of this rank's rows, that a checkpoint may copy in memory */
    struct hps_adapt *adapt;    /* NULL: the plan stays                         */
    double made_s;              /* of building and loading this plan            */
    struct hps_record *record;  /* of asynchronous workers; NULL: none is kept  */
    const struct hps_clock_order *replay;       /* and what a server follows; NULL: nothing */
    struct hps_loop_history *history; /* in and out: continued over a change of plan  */
};

/* The next plan, and the corrected profile that it was made from; the next clock of each worker, to
 * which the cursor points. To free. NULL: none. */
struct hps_loop_change {
    struct hps_plan *plan;
    struct hps_profile *profile;
    long long *number;
};

/* Train from cursor->step to the end of the run, a stop, or a change of plan. HPS_OK: all steps
 * are done, or *change is set: a better plan was found at the checkpoint just written, from
 * which the run continues; HPS_AGAIN: stopped early. The last checkpoint is complete in all
 * cases. `cursor` in and out; its seconds are valid on rank 0. Collective over world. */
enum hps_status hps_loop_run(const struct hps_loop *loop, struct hps_cursor *cursor,
                             struct hps_loop_change *change, MPI_Comm world);

#endif
