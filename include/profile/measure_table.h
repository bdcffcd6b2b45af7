/* measure_table.h - the table of one layer, served by the parameter server (ps/ps.h) to this rank
 * alone: to measure what the layer asks of it in a training. */
#ifndef HPS_PROFILE_MEASURE_TABLE_H
#define HPS_PROFILE_MEASURE_TABLE_H

#include "ps/ps.h"

/* The only rank of the only stage of a pipeline of one layer. */
struct hps_measure_alone {
    struct hps_plan *plan;
    struct hps_team *team;
};
enum hps_status hps_measure_alone_new(struct hps_measure_alone *alone);
void hps_measure_alone_free(struct hps_measure_alone *alone);

/* Zeroed memory is valid: of a layer that reads no table. */
struct hps_measure_table {
    struct hps_ps *ps;                  /* of `net`; its layer is 0, its stage too; or NULL    */
    struct hps_ps_requests *requests;   /* of a training; or NULL                              */
    int M;
    struct hps_net net;                 /* the layer alone with its table                      */
    struct hps_layer layer;
    struct hps_table_shape shape;
    struct hps_batch *batch;            /* (M) of the step under way                           */
    long long *base, *modulo, *part;    /* (nslot) of a smaller table: part: its rows; or NULL */
    struct hps_ids *ids;                /* (M, slots of a batch) then: folded                  */
    void **id;                          /* (M, nslot) what they are                            */
    size_t *id_cap;
};

struct hps_measure_table_opt {
    int M;                              /* micro-batches of a step         */
    double max_bytes;                   /* of the table                    */
    const struct hps_train_opt *train;
};
/* The table of layer l of the net. A table of more than max_bytes is stood in for by one like it of
 * fewer rows: each slot's part is as many times smaller, and ids are folded into it. Its rows start
 * from seed 1. The struct stays where it is; net, alone, device and opt->train are borrowed. Local.
 */
enum hps_status hps_measure_table_new(struct hps_measure_table *table, const struct hps_net *net,
                                      int l, const struct hps_measure_alone *alone,
                                      struct hps_dev *dev, const struct hps_measure_table_opt *opt);
void hps_measure_table_free(struct hps_measure_table *table);

/* What to prefetch in the stead of a step's batches (M): their first `most` examples, the ids
 * folded where they must be, so that it costs the server what ids of all rows would. Good until
 * the next call; borrows the batches. */
const struct hps_batch *hps_measure_table_batch(struct hps_measure_table *table,
                                                const struct hps_batch *batch, int most);

#endif
