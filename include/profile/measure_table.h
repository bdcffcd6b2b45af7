/* measure_table.h - the table of one layer in a parameter server (ps/ps.h) of this rank alone, to
 * measure the layer's requests in a training. */
#ifndef HPS_PROFILE_MEASURE_TABLE_H
#define HPS_PROFILE_MEASURE_TABLE_H

#include "profile/small_team.h"
#include "ps/ps.h"

/* Zeroed memory is valid: of a layer that reads no table. */
struct hps_measure_table {
    struct hps_ps *ps;                  /* of `net`, with layer 0 in stage 0; or NULL          */
    struct hps_ps_requests *requests;   /* of a training; or NULL                              */
    int M;
    struct hps_net net;                 /* the layer alone with its table                      */
    struct hps_layer layer;
    struct hps_table_shape shape;
    struct hps_batch *batch;            /* (M) of the step under way                           */
    long long *base, *modulo, *part;    /* (nslot) of a smaller table; part: its rows; or NULL */
    struct hps_ids *ids;                /* (M, slots of a batch) ids modulo the smaller table  */
    void **id;                          /* (M, nslot) their memory                             */
    size_t *id_cap;
};

struct hps_measure_table_opt {
    int M;                              /* micro-batches of a step         */
    double max_bytes;                   /* of the table                    */
    const struct hps_train_opt *train;  /* borrowed, as is storage         */
    const struct hps_storage_opt *storage;
};
/* Make the table of layer l of the net. A table of more than max_bytes is replaced by one of
 * fewer rows: the part of each slot is smaller by the same factor, and ids are taken modulo. Its
 * rows start from seed 1. The struct must not move; net, alone, device and opt->train are
 * borrowed. Local. */
enum hps_status hps_measure_table_new(struct hps_measure_table *table, const struct hps_net *net,
                                      int l, const struct hps_small_team *alone,
                                      struct hps_dev *dev, const struct hps_measure_table_opt *opt);
void hps_measure_table_free(struct hps_measure_table *table);

/* The batches (M) to prefetch in place of a step's: their first `max` examples, with ids of the
 * smaller table, which cost the server as much. Valid until the next call; borrows the batches. */
const struct hps_batch *hps_measure_table_batch(struct hps_measure_table *table,
                                                const struct hps_batch *batch, int max);

#endif
