/* step_impl.h - what the files of a step share: for src/train/step*.c only. */
#ifndef HPS_STEP_STEP_IMPL_H
#define HPS_STEP_STEP_IMPL_H

#include "hw/count.h"
#include "hw/span.h"
#include "step/order.h"
#include "step/step.h"

struct hps_agenda {
    int n;
    struct hps_todo *todo; /* (n) */
};

struct hps_step_own {
    struct hps_step_opt opt;
    int M;
    struct hps_agenda train, look; /* of a step of training, of an evaluation   */
    struct hps_feeder_step taken;
    struct hps_worker *now; /* whose backward is under way               */
    MPI_Comm active;      /* all ranks that work, for the global norm; or NULL */
    long long number;     /* the step                                  */
    float *score;         /* (rows) host copy of predictions           */
    double owed_s;        /* emulation: sleep not yet slept            */
    double sums_wall_s, sums_core_s; /* that gradients were summed for, as hps_since    */
    struct hps_spans *spans; /* of a GPU; NULL on a host               */
    bool looks;           /* an evaluation: nothing counts              */
    int place;            /* of the loss of the step worked last       */
};

/* Let the messages between stages move on. */
void hps_step_poll(struct hps_step *step);

/* Sums of a role's gradients that are under way move on; what others have made is added up here. */
void hps_step_poll_sums(struct hps_step *step, struct hps_worker *role);

/* When a computation began: by the wall, and by the time this thread was given on a core; less what
 * its layers met for, and gradients were summed for. */
struct hps_since {
    double wall_s, core_s, clock_s; /* clock_s: the wall's, with the meetings */
};
/* A computation of this region begins; it is queued, and done but for a GPU. An emulated rank has
 * slept then; busy_s grows. */
struct hps_since hps_step_compute(struct hps_step *step, const struct hps_worker *worker,
                                  enum hps_region region);
void hps_step_computed(struct hps_step *step, struct hps_since since);
/* What a GPU does from here to hps_spans_end belongs to a region of this worker; `busy`: it is
 * computation. */
void hps_step_span(struct hps_step *step, const struct hps_worker *worker, enum hps_region region,
                   bool busy);
/* What the GPU is through with is counted; `blocking`: once it is. Answers the computation. */
double hps_step_read(struct hps_step *step, bool blocking);

#endif
