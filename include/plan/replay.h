/* replay.h - a step of a plan, event by event, as a run does it; pure.
 *
 * The ranks of a stage, and of another one that shares them, do their passes in the order of a run
 * (plan/order.h). A pass of stage s begins when the one before it on its ranks has ended and its
 * message has come: half a hop (plan/engine.h) after the neighbour's pass ended. After the last
 * pass follows what is done once a step, and then the next step, whose rows the disk may have to
 * bring first. The closed form of plan/engine.h, which searches use, is near it. */
#ifndef HPS_PLAN_REPLAY_H
#define HPS_PLAN_REPLAY_H

#include "plan/engine.h"

/* Seconds of a step of M micro-batches when many steps follow each other. x, mate (S) as in
 * hps_engine_step. O(S M), for each of some steps. Pure. */
double hps_replay_step(int S, const struct hps_engine_terms *x, const int *mate, int M);

#endif
