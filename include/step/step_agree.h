/* step_agree.h - what all ranks agree on once a step, in the background of its computation:
 * errors, requests to stop or save, sums. */
#ifndef HPS_STEP_STEP_AGREE_H
#define HPS_STEP_STEP_AGREE_H

#include <stdbool.h>

#include "base/status.h"

enum { HPS_STEP_AGREE_WORDS = 13 };
struct hps_step_agree {
    MPI_Comm world; /* a dup, owned                                         */
    MPI_Request request;
    double mine[HPS_STEP_AGREE_WORDS], sum[HPS_STEP_AGREE_WORDS];
};

/* What one rank contributes (in), and what all ranks get (out). */
struct hps_heartbeat {
    enum hps_status status; /* in: this rank's, HPS_DECK to HPS_OUTPUT; out: the worst of all */
    int stop, save;          /* in: this rank requests it; out: how many do            */
    int ready;               /* in: this rank's part of a checkpoint is written; out: how many */
    double loss;             /* in: this rank's; out: the sum of all                   */
    /* Of asynchronous workers, in: from the first server alone; out: that. */
    int pause;               /* the worker is to finish its clock and wait             */
    long long steps;         /* batches of all workers so far                          */
    double mean_loss;        /* of all workers                                         */
    long long slowest, fastest; /* clocks that a worker has finished: the fewest, the most */
};

void hps_step_agree_init(struct hps_step_agree *agree, MPI_Comm world); /* Collective */
void hps_step_agree_done(struct hps_step_agree *agree);                 /* Collective */
/* Begin contributes `mine` and does not wait; end returns the sum over all ranks, the same on each.
 * `sleeping`: an idle rank sleeps between looks while it waits. Between the two calls a rank
 * computes. Collective over world. */
void hps_step_agree_begin(struct hps_step_agree *agree, const struct hps_heartbeat *mine);
bool hps_step_agree_arrived(struct hps_step_agree *agree);      /* end would not wait. Local */
struct hps_heartbeat hps_step_agree_end(struct hps_step_agree *agree, bool sleeping);

#endif
