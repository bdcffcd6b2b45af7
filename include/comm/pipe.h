/* pipe.h - activations and their gradients between stages of unlike size.
 *
 * A micro-batch of n rows is shared by the k ranks of a stage: part p has rows
 * [hps_share(n, k, p), hps_share(n, k, p + 1)). Each overlap of a share here and a share there is
 * one message: a header (step, micro-batch, sending stage, first row, rows, width) and behind it
 * the rows, as fp32 sent and received in place. Two ranks whose shares do not overlap exchange
 * nothing; a rank that is on both sides sends to itself. The receiver checks each header: a wrong
 * one ends the run and names both ranks (more rows than expected end it as MPI's truncation).
 *
 * Rows may travel encoded (hw/codec.h). Then every row that crosses the boundary is, also one that
 * a rank sends to itself: which numbers are rounded is decided by the cuts of the plan, and not by
 * how many ranks a stage has or where they are. What layers of one stage pass on is not rounded. A
 * number that crosses several boundaries is rounded once, since it then is one of the encoding;
 * gradients that are added up on the way are rounded at each. */
#ifndef HPS_COMM_PIPE_H
#define HPS_COMM_PIPE_H

#include "comm/messages.h"
#include "comm/team.h"
#include "hw/dev.h"

/* Activations travel down the pipeline, gradients up. */
enum hps_way { HPS_WAY_FORWARD, HPS_WAY_BACKWARD };

/* One boundary between two stages, seen from one side. */
struct hps_pipe;
struct hps_pipe_opt {
    int stage, side;            /* between this stage, one of mine, and the next (side +1) or the
                                   one before it (-1)                                            */
    int width[2];               /* floats of a row that cross it, by hps_way; 0: none             */
    int nslot;                  /* in-flight slots: micro-batches whose messages may be under way
                                   at once in one direction                                      */
    int rows;                   /* upper bound of the rows of my share of a micro-batch          */
    const struct hps_codec_ops *codec;  /* in which rows travel                                  */
};
/* The pipe borrows the device and the team, whose world carries the messages. Both sides must pass
 * options that agree. Local. */
enum hps_status hps_pipe_new(struct hps_pipe **pipe, const struct hps_team *team,
                             struct hps_dev *dev, const struct hps_pipe_opt *opt);
/* No message may be under way. Local; NULL is fine. */
void hps_pipe_free(struct hps_pipe *pipe);

/* Send my rows of micro-batch m (n rows in all) of `step` from buf (my rows, width) in device
 * memory, through an in-flight slot that is free. The caller leaves buf alone until hps_pipe_sent
 * has returned. HPS_WAY_FORWARD sends to the next stage (side +1), HPS_WAY_BACKWARD to the stage
 * before (side -1). With width 0 nothing is sent. Does not wait for other ranks. */
void hps_pipe_send(struct hps_pipe *pipe, enum hps_way way, int slot, long long step, int m,
                   int n, const float *buf);
void hps_pipe_sent(struct hps_pipe *pipe, enum hps_way way, int slot);
/* Post the receive of a micro-batch into buf (my rows, width). hps_pipe_wait returns when all of it
 * has arrived and its headers are checked; for a slot that carries nothing it returns at once. */
void hps_pipe_recv(struct hps_pipe *pipe, enum hps_way way, int slot, long long step, int m,
                   int n, float *buf);
void hps_pipe_wait(struct hps_pipe *pipe, enum hps_way way, int slot);
/* Let messages under way make progress. Never blocks. */
void hps_pipe_poll(struct hps_pipe *pipe);
double hps_pipe_bytes(const struct hps_pipe *pipe);   /* sent by this rank so far */
/* What of it was encoded; borrowed. */
const struct hps_message_count *hps_pipe_count(const struct hps_pipe *pipe);

#endif
