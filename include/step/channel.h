/* channel.h - between the servers and one worker, where workers are not synchronous: its rows, its
 * dense weights, and what its ranks and the servers agree on in each step. */
#ifndef HPS_STEP_CHANNEL_H
#define HPS_STEP_CHANNEL_H

#include "ps/dense.h"
#include "ps/ps.h"
#include "step/step_agree.h"

struct hps_channel {
    MPI_Comm comm;                      /* servers in order, then ranks of the worker; owned   */
    struct hps_ps *ps;                  /* its tables; those of a server are the first one's   */
    struct hps_dense *dense;            /* NULL: servers hold no dense weights                 */
    struct hps_step_agree agree;
    double norm2[2];                    /* of the gradient: this rank's part, the sum          */
    MPI_Request norm;
};

/* Open the channels of this rank: all on a server, that of its worker on a rank that trains, none
 * on an idle one, whose list yet has a parameter server without tables. channel (*n) to free with
 * close. Collective over team->world; the status is
 * shared. */
enum hps_status hps_channels_open(struct hps_channel **channel, int *n, const struct hps_net *net,
                                  const struct hps_plan *plan, const struct hps_team *team,
                                  struct hps_dev *dev, const struct hps_ps_opt *opt);
/* Servers hold the dense weights: stage, weights and codec as of hps_dense_new. Collective over the
 * channels. */
void hps_channels_join_dense(struct hps_channel *channel, int n, const struct hps_plan *plan,
                             const struct hps_team *team, struct hps_slice *const *stage,
                             struct hps_dense_weights *weights,
                             const struct hps_codec_ops *codec);
void hps_channels_close(struct hps_channel *channel, int n);

/* Sent by this rank so far, less requests. Local. */
double hps_channel_bytes(const struct hps_channel *channel);
/* Add what of it was encoded to counts by kind. Local. */
void hps_channel_count(const struct hps_channel *channel,
                       struct hps_message_count count[HPS_MESSAGES]);

/* The norm of a worker's whole gradient: each rank adds its part; the root of the sum. Begin does
 * not wait; arrived never blocks; end waits. Collective over the channel. */
void hps_channel_norm_begin(struct hps_channel *channel, double norm2);
bool hps_channel_norm_arrived(struct hps_channel *channel);
double hps_channel_norm_end(struct hps_channel *channel);

#endif
