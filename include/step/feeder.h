/* feeder.h - the inputs of a rank's stages, step after step: batches read ahead from the dataset,
 * and requests for rows of tables. */
#ifndef HPS_STEP_FEEDER_H
#define HPS_STEP_FEEDER_H

#include "net/load.h"
#include "ps/ps.h"

struct hps_feeder;

struct hps_feeder_opt {
    const struct hps_data *data;        /* borrowed, as are the next two                       */
    const struct hps_order *order;      /* of the examples; its key also seeds the negatives   */
    const struct hps_steps *steps;
    int ahead;                          /* steps that are read ahead                           */
    const long long *first;             /* the first step, of each parameter server            */
    bool learns;                        /* for training: a parameter server has one such feeder
                                           at a time                                           */
};
/* Make a feeder for the layers of this rank's stages; where they read no column, and on a server,
 * it reads nothing.
 * Negatives depend on the order's key and the epoch alone. Idle ranks get a feeder that does
 * nothing. ps (n): the parameter server; of asynchronous workers a server has one for each, and
 * fetches for each by itself, in the order of that worker. Collective over team->world. */
enum hps_status hps_feeder_new(struct hps_feeder **feeder, const struct hps_net *net,
                               const struct hps_plan *plan, const struct hps_team *team, int n,
                               struct hps_ps *const *ps, struct hps_dev *dev,
                               const struct hps_feeder_opt *opt);
/* Waits for steps that were fetched and not taken: all ranks have fetched as many. Collective. */
void hps_feeder_free(struct hps_feeder *feeder);

/* Fetch the next step's batch, from the first one on, and request its rows; after the last step, do
 * nothing. Bad data HPS_DECK, a read error HPS_INPUT, with a message: the status is this rank's
 * own, agree before the step is taken. Collective, also after a failure, but does not wait for
 * other ranks. */
enum hps_status hps_feeder_fetch(struct hps_feeder *feeder, int ps);

/* The step that was fetched last was dropped by the parameter server (hps_ps_flush): request its
 * rows again. Collective over the channel. */
void hps_feeder_request_again(struct hps_feeder *feeder, int ps);

/* Take the oldest step that was fetched: its batch (M; NULL where nothing is read). Begin its rows
 * next (hps_ps_begin with hps_feeder_requests). Where the device is no host, its stream COMPUTE
 * waits for the step's inputs; the inputs of the step before are valid until this call. Local. */
struct hps_feeder_step {
    const struct hps_batch *batch;
    const struct hps_load_raw *raw; /* (M) where batch is not NULL */
};
struct hps_feeder_step hps_feeder_take(struct hps_feeder *feeder);
/* The requests for rows of its steps; borrowed. */
struct hps_ps_requests *hps_feeder_requests(struct hps_feeder *feeder, int ps);
/* Let requests make progress; `time` as hps_ps_prefetch_poll. Never blocks. */
void hps_feeder_poll(struct hps_feeder *feeder, bool time);
/* Add what of them was encoded. Local. */
void hps_feeder_count(const struct hps_feeder *feeder, struct hps_message_count *ids);
double hps_feeder_bytes(const struct hps_feeder *feeder); /* sent by this rank so far. Local */

#endif
