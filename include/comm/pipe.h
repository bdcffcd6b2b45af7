/* pipe.h - activations and their gradients between stages of unlike size.
 *
 * A micro-batch of n rows is shared by the k ranks of a stage: part p has rows
 * [hps_share(n, k, p), hps_share(n, k, p + 1)). Each overlap of a share here and a share there is
 * one message: a header (step, micro-batch, sending stage, first row, rows, width) and behind it
 * the rows, sent and received in place. Who shares no row sends nothing; a rank that is on both
 * sides sends to itself. The header is checked on arrival: a wrong one ends the run and names both
 * ranks (rows beyond those due end it as MPI's truncation). */
#ifndef HPS_COMM_PIPE_H
#define HPS_COMM_PIPE_H

#include "comm/team.h"
#include "hw/dev.h"

/* Activations go down the pipeline; gradients up. */
enum hps_way { HPS_WAY_FORWARD, HPS_WAY_BACKWARD };

/* One boundary between two stages, seen from one side. */
struct hps_pipe;
struct hps_pipe_opt {
    int stage, side;            /* between this stage, one of mine, and the next (side +1) or the
                                   one before it (-1)                                            */
    int width[2];               /* floats of a row that cross it, by hps_way; 0: nothing does    */
    int flights;                /* micro-batches whose messages may be under way at once, a way  */
    int rows;                   /* the most rows of my share of a micro-batch                    */
};
/* Team (its world carries the messages) and device are borrowed. Local (from equal facts of both
 * sides). */
enum hps_status hps_pipe_new(struct hps_pipe **pipe, const struct hps_team *team,
                             struct hps_dev *dev, const struct hps_pipe_opt *opt);
/* Nothing may be under way. */
void hps_pipe_free(struct hps_pipe *pipe);

/* Send my rows of micro-batch m (n rows in all) of `step` from buf (my rows, width), device memory;
 * flight = its place, free before. buf is not ours until hps_pipe_sent. Way FORWARD is sent to the
 * next stage (side +1), BACKWARD to the one before (side -1). Width 0: nothing travels. Does not
 * wait for others. */
void hps_pipe_send(struct hps_pipe *pipe, enum hps_way way, int flight, long long step, int m,
                   int n, const float *buf);
void hps_pipe_sent(struct hps_pipe *pipe, enum hps_way way, int flight);
/* Post the receive of it into buf (my rows, width); hps_pipe_wait: arrived whole, headers checked.
 * Waiting for a flight that carries nothing returns at once. */
void hps_pipe_recv(struct hps_pipe *pipe, enum hps_way way, int flight, long long step, int m,
                   int n, float *buf);
void hps_pipe_wait(struct hps_pipe *pipe, enum hps_way way, int flight);
/* Let what is under way make progress. Never blocks. */
void hps_pipe_poll(struct hps_pipe *pipe);
double hps_pipe_bytes(const struct hps_pipe *pipe);   /* sent by this rank so far */

#endif
