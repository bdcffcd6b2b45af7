/* loop_impl.h - the state of the loop over steps, and what its synchronous and its asynchronous
 * form share. For src/train/loop*.c only. */
#ifndef HPS_TRAIN_LOOP_IMPL_H
#define HPS_TRAIN_LOOP_IMPL_H

#include "train/evaluate.h"
#include "train/loop.h"
#include "train/save.h"

struct hps_loop_state {
    const struct hps_loop *l;
    struct hps_cursor *c;
    MPI_Comm world;
    struct hps_feeder *feeder;
    struct hps_step_agree agree;
    struct hps_loop_change *change;
    double loss;                    /* this rank's sum, of the last step that returned one   */
    long long known;                /* the clock of the cursor's loss                        */
    long long last, before;         /* the clock that was trained last, and the one before   */
    long long begun, saved;         /* step of the newest checkpoint of this start, -1 none  */
    struct hps_save *save;          /* under way; or NULL                                    */
    double saved_s, said_s, t0_s;   /* times of the last save, progress line, accounting     */
    double save_took_s;
    long long slowest, fastest;     /* clocks of asynchronous workers; 0: none was finished  */
    long long said, said_examples;  /* step and examples at the last line                    */
    struct hps_cursor began;        /* as it was at the start                                */
    double began_s;
    const char *reason;             /* why this rank requests to stop                        */
    long long *done;                /* (cursor's ndone) batches that were trained early; owned */
    long long *number;              /* (workers) the next clock of each; owned               */
};

/* The run's account of seconds: on begins one, off adds the seconds since the last call. */
void hps_loop_clock_on(struct hps_loop_state *s);
void hps_loop_clock_off(struct hps_loop_state *s);

/* Print a line and write status.json once an interval, on rank 0, as soon as a loss is known.
 * The last line has the mean rate of this start, or since the plan changed. */
void hps_loop_progress(struct hps_loop_state *s, bool last);
/* Is a multiple of `every` among the steps behind `from` up to `to`? */
bool hps_loop_passes(long long from, long long to, long long every);
/* Is this rank asked to stop? Then s->reason is set, and said once. */
bool hps_loop_check_stop(struct hps_loop_state *s);
/* Note how long a step took that began at t0. */
void hps_loop_note_time(struct hps_loop_state *s, double t0);
/* HPS_DECK, said, where the cursor's loss is not finite. */
enum hps_status hps_loop_check_loss(const struct hps_loop_state *s, long long step);
/* Record the cursor's loss as that of a clock whose last step is `step` (from 1). A full history
 * drops every other point. */
void hps_loop_note_loss(struct hps_loop_state *s, long long step);

/* Begin a checkpoint of the cursor; wait for the one under way, if there is one. Collective. */
enum hps_status hps_loop_save(struct hps_loop_state *s);
enum hps_status hps_loop_finish_saving(struct hps_loop_state *s);
/* Evaluate, and say how good it is. Collective. */
enum hps_status hps_loop_evaluate(struct hps_loop_state *s);
/* At a checkpoint: evaluate the plan; if it stays, begin a new window. Collective. */
enum hps_status hps_loop_reconsider(struct hps_loop_state *s);
/* The last line of progress, and why the run stopped. HPS_AGAIN: before it was `over`. Collective.
 */
enum hps_status hps_loop_end(struct hps_loop_state *s, bool stop, bool over);

/* The loop of asynchronous workers, from the cursor on. Collective. */
enum hps_status hps_loop_async(struct hps_loop_state *s);

#endif
