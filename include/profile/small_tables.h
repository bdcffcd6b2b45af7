/* small_tables.h - a copy of a network whose tables are small enough to train a little with, in
 * measurements. */
#ifndef HPS_PROFILE_SMALL_TABLES_H
#define HPS_PROFILE_SMALL_TABLES_H

#include "net/net.h"

struct hps_small_tables {
    struct hps_net net;             /* the layers and tables of the network, but for these: */
    struct hps_layer *layer;        /* (L) */
    struct hps_table_shape *table;  /* (ntable) */
    long long *number;              /* bases and modulos of slots, of all layers with a table */
};

/* Copy the network `from`, which is borrowed. A table of more than max_bytes, optimiser states
 * included, is replaced by one of fewer rows: the part of each slot is smaller by the same factor,
 * and ids are taken modulo, so that some rows coincide. The struct must not move. Local. */
void hps_small_tables_init(struct hps_small_tables *small, const struct hps_net *from,
                           const struct hps_train_opt *train, double max_bytes);
void hps_small_tables_done(struct hps_small_tables *small);

#endif
