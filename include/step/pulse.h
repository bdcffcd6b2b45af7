/* pulse.h - what all ranks agree on once a step, without waiting in it: troubles, wishes to stop or
 * save, sums. */
#ifndef HPS_STEP_PULSE_H
#define HPS_STEP_PULSE_H

#include "base/say.h"

enum { HPS_PULSE_WORDS = 8 };
struct hps_pulse {
    MPI_Comm world; /* a dup, owned                                         */
    MPI_Request request;
    double mine[HPS_PULSE_WORDS], sum[HPS_PULSE_WORDS];
};

/* What a rank says, and what all have said. */
struct hps_beat {
    enum hps_status trouble; /* in: this rank's, HPS_DECK to HPS_OUTPUT; out: the worst of all */
    int stop, save;          /* in: this rank's wish; out: how many wish               */
    int ready;               /* of a checkpoint under way: this rank's part; out: how many  */
    double loss;             /* in: this rank's; out: the sum of all                   */
};

void hps_pulse_init(struct hps_pulse *pulse, MPI_Comm world); /* collective */
void hps_pulse_done(struct hps_pulse *pulse);                 /* collective */
/* Begin: tell mine; end: hear all, the same on every rank. `quiet`: sleep while waiting (ranks
 * without work). Between the two the rank computes. Collective over world. */
void hps_pulse_begin(struct hps_pulse *pulse, const struct hps_beat *mine);
struct hps_beat hps_pulse_end(struct hps_pulse *pulse, bool quiet);

#endif
