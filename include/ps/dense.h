/* dense.h - dense weights that dedicated servers hold, where workers are not synchronous: the ranks
 * of a worker pull those of their stages, and push gradients.
 *
 * The weights of all layers, one behind the other, are cut into as many equal shares as there are
 * servers. A server has memory for all of them, and updates its share; the first one also has the
 * running states. A channel joins the servers with the ranks of one worker; a step of it is pull,
 * push and, on the servers, apply. Replicas of a stage hold the same gradients and push a part
 * each. A rank that shares memory with a server (comm/shm.h) reads the weights there, and writes
 * its gradients there, as fp32; else they are messages, in which gradients may travel encoded
 * (hw/codec.h): each is off by codec->share of it at most. Weights and running states travel as
 * they are. */
#ifndef HPS_PS_DENSE_H
#define HPS_PS_DENSE_H

#include "comm/messages.h"
#include "comm/team.h"
#include "net/slice.h"

/* ---- a server's weights ---- */

struct hps_dense_weights;
/* The weights and optimiser states of all layers, initialised as a slice's. All servers call it;
 * Local. */
enum hps_status hps_dense_weights_new(struct hps_dense_weights **weights,
                                      const struct hps_net *net, const struct hps_team *team,
                                      struct hps_dev *dev, const struct hps_train_opt *train,
                                      uint64_t seed);
void hps_dense_weights_free(struct hps_dense_weights *weights);     /* NULL is fine */
/* All layers, in which this server's share is up to date, or after gather all shares on all
 * servers. Borrowed. Gather is Collective over `servers`, a communicator of them in the order of
 * the team. */
struct hps_slice *hps_dense_slice(const struct hps_dense_weights *weights);
void hps_dense_gather(struct hps_dense_weights *weights, MPI_Comm servers);

/* ---- the channel of a worker ---- */

struct hps_dense;
/* comm: of the servers and the ranks of the worker, as hps_team_of makes it. stage (team->nmine):
 * the slices of a rank of the worker, else NULL; weights: on a server, else NULL; codec: in which
 * gradients travel. All borrowed. Collective over comm. */
struct hps_dense *hps_dense_new(const struct hps_plan *plan, const struct hps_team *team,
                                int worker, MPI_Comm comm, struct hps_slice *const *stage,
                                struct hps_dense_weights *weights,
                                const struct hps_codec_ops *codec);
void hps_dense_free(struct hps_dense *dense);       /* NULL is fine. Collective over comm */

/* Begin: a server sends its share as it is now, once the pull before has arrived; a rank of the
 * worker posts its receives, behind which the device may not read the weights until end. End waits
 * for them there. */
void hps_dense_pull_begin(struct hps_dense *dense);
void hps_dense_pull_end(struct hps_dense *dense);
/* Begin: a server posts its receives; a rank of the worker sends the gradients in its slices, which
 * end waits for, and zeroes. running (nmine; NULL where a stage has none) of (2, nrunning): how its
 * micro-batches have moved the running states, r to running[0] r + running[1]; read where the rank
 * is the first replica. */
void hps_dense_push_begin(struct hps_dense *dense, double *const *running);
void hps_dense_push_end(struct hps_dense *dense);
/* On a server: have the gradients all come; or has the worker begun the pull? Never blocks. */
bool hps_dense_arrived(struct hps_dense *dense);
/* On a server, once they have: the sum of squares of those of its share; their number of updates
 * since they were pulled. Local. */
double hps_dense_norm2(const struct hps_dense *dense);
long long hps_dense_staleness(const struct hps_dense *dense);
/* Hold the gradients, times scale; the running states move at once. And the rule with the sum of
 * all that were held, of whichever channels. Local. */
void hps_dense_hold(struct hps_dense *dense, float scale);
void hps_dense_apply_held(struct hps_dense_weights *weights, struct hps_update update);
double hps_dense_bytes(const struct hps_dense *dense);     /* sent by this rank so far */
/* What of it was encoded; borrowed. */
const struct hps_message_count *hps_dense_count(const struct hps_dense *dense);

#endif
