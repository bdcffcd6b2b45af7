/* step_impl.h - the private struct of a step, and how its sources measure computation. */
#ifndef HPS_STEP_STEP_IMPL_H
#define HPS_STEP_STEP_IMPL_H

#include "hw/count.h"
#include "hw/span.h"
#include "plan/order.h"
#include "step/step.h"

struct hps_step_tasks {
    int n;
    struct hps_todo *todo;      /* (n) forwards and backwards, in order */
};

struct hps_step_impl {
    struct hps_step_opt opt;
    int M;
    struct hps_step_tasks train, evaluate;
    struct hps_feeder_step taken;           /* the inputs of the step under way              */
    struct hps_stage *in_backward;         /* the stage whose backward is under way        */
    MPI_Comm active;            /* all ranks that work, for the global norm; or NULL: there is
                                   no clipping, or the channel has the norm                  */
    long long number;           /* of the step                                               */
    float *score;               /* (rows) host copy of predictions                           */
    double sleep_debt_s;        /* that an emulated rank has still to sleep                  */
    double slow;                /* how many times longer it computes in this step            */
    double reduce_wall_s, reduce_core_s;    /* spent on summing gradients up, see below      */
    struct hps_spans *spans;    /* of a GPU; NULL on a host                                  */
    bool evaluating;            /* nothing counts then                                       */
    int loss_copy;              /* which copy of the loss the last step used (net/slice.h)   */
};

/* Let messages between stages make progress. */
void hps_step_poll(struct hps_step *step);

/* Let the sums of a stage's gradients make progress, and add up what has arrived. */
void hps_step_poll_reduce(struct hps_step *step, struct hps_stage *mine);
/* Gather the dense weights that other ranks of the host have updated. */
void hps_step_gather(struct hps_step *step, struct hps_stage *mine);

/* Find out which stages have residuals. Collective over team->world. */
void hps_step_find_residuals(struct hps_step *step);

/* How much longer an emulated rank computes in the step that begins: `training`, or as measured. */
void hps_step_slow(struct hps_step *step, bool training);

/* The beginning of a computation, by two clocks that stand still while the rank is in a collective
 * of a layer or sums gradients up: wall time, and the time that this thread ran on a core. */
struct hps_step_clock {
    double wall_s, core_s;
    double clock_s;             /* wall time that does not stand still */
};
/* Begin and end the computation of a region for this stage. On a host the computation is done when
 * end returns, and on a GPU it is queued. An emulated slower rank sleeps in end. busy_s grows. */
struct hps_step_clock hps_step_compute_begin(struct hps_step *step,
                                             const struct hps_stage *mine,
                                             enum hps_region region);
void hps_step_compute_end(struct hps_step *step, struct hps_step_clock begin);
/* Begin and end the update of a server with the gradients of this step: what an emulated slower one
 * takes longer for, as its profile says. */
struct hps_step_clock hps_step_apply_begin(struct hps_step *step, long long number);
void hps_step_apply_end(struct hps_step *step, struct hps_step_clock begin);
/* Attribute what a GPU does from here to hps_spans_end to a region of this stage; `busy`: it is
 * computation. */
void hps_step_span(struct hps_step *step, const struct hps_stage *mine, enum hps_region region,
                   bool busy);
/* Count the spans that the GPU has finished (`blocking`: wait for all). Returns the seconds of
 * computation among them. */
double hps_step_read(struct hps_step *step, bool blocking);

#endif
