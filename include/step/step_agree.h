/* step_agree.h - what all ranks agree on once a step, without waiting in it: troubles, wishes to
 * stop or save, sums. */
#ifndef HPS_STEP_STEP_AGREE_H
#define HPS_STEP_STEP_AGREE_H

#include <stdbool.h>

#include "base/status.h"

enum { HPS_STEP_AGREE_WORDS = 8 };
struct hps_step_agree {
    MPI_Comm world; /* a dup, owned                                         */
    MPI_Request request;
    double mine[HPS_STEP_AGREE_WORDS], sum[HPS_STEP_AGREE_WORDS];
};

/* What a rank says, and what all have said. */
struct hps_heartbeat {
    enum hps_status trouble; /* in: this rank's, HPS_DECK to HPS_OUTPUT; out: the worst of all */
    int stop, save;          /* in: this rank's wish; out: how many wish               */
    int ready;               /* of a checkpoint under way: this rank's part; out: how many  */
    double loss;             /* in: this rank's; out: the sum of all                   */
};

void hps_step_agree_init(struct hps_step_agree *pulse, MPI_Comm world); /* collective */
void hps_step_agree_done(struct hps_step_agree *pulse);                 /* collective */
/* Begin: tell mine; end: hear all, the same on every rank. `quiet`: sleep while waiting (ranks
 * without work). Between the two the rank computes. Collective over world. */
void hps_step_agree_begin(struct hps_step_agree *pulse, const struct hps_heartbeat *mine);
struct hps_heartbeat hps_step_agree_end(struct hps_step_agree *pulse, bool quiet);

#endif
