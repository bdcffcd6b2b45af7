/* feeder.h - the raw inputs of my stages, step after step: examples of the dataset read ahead, and
 * rows of tables requested ahead. */
#ifndef HPS_STEP_FEEDER_H
#define HPS_STEP_FEEDER_H

#include "net/load.h"
#include "ps/ps.h"

struct hps_feeder;

struct hps_feeder_opt {
    const struct hps_data *data;        /* borrowed, as are the next two                       */
    const struct hps_order *order;      /* of the examples; its key is that of what is drawn   */
    const struct hps_steps *steps;
    int ahead;                          /* steps that are read ahead                           */
    long long first_step;
    bool learns;                        /* a training: one such feeder of a parameter server at
                                           a time                                              */
};
/* Reads the data for the layers of my stages; a rank that needs no raw column reads nothing. What
 * layers draw is by the order's key and the step. Collective over team->world; idle ranks get a
 * feeder that does nothing. */
enum hps_status hps_feeder_new(struct hps_feeder **feeder, const struct hps_net *net,
                               const struct hps_plan *plan, const struct hps_team *team,
                               struct hps_ps *ps, struct hps_dev *dev,
                               const struct hps_feeder_opt *opt);
/* Steps fetched and not taken are waited for: all ranks fetched as many. Collective. */
void hps_feeder_free(struct hps_feeder *feeder);

/* Fetch the next step's batch and request its rows; in turn from first_step; after the last step it
 * does nothing. Bad data HPS_DECK, a read error HPS_INPUT, said: this rank's own, agree before the
 * step is taken. Collective (a rank in trouble takes part), but does not wait for other ranks. */
enum hps_status hps_feeder_fetch(struct hps_feeder *feeder);

/* The oldest step fetched and not yet taken: its batch (M; NULL where nothing is read). Local; its
 * rows are begun next (hps_ps_begin with hps_feeder_requests). On a device that is no host its
 * stream COMPUTE waits for the step's inputs; those of the step before stay until then, and no
 * longer. */
struct hps_feeder_step {
    const struct hps_batch *batch;
    const struct hps_load_raw *raw; /* (M) where batch is not NULL */
};
struct hps_feeder_step hps_feeder_take(struct hps_feeder *feeder);
/* The requests of its steps; borrowed. */
struct hps_ps_requests *hps_feeder_requests(struct hps_feeder *feeder);
/* Let requests make progress; `time` as hps_ps_prefetch_poll. Never blocks. */
void hps_feeder_poll(struct hps_feeder *feeder, bool time);
double hps_feeder_bytes(const struct hps_feeder *feeder); /* sent by this rank so far. Local */

#endif
