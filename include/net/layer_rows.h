/* layer_rows.h - what layer types that read rows of tables share: keys, slots and the table.
 *
 * Without the key `table` each slot has rows of its own, one slot after another in one logical
 * table named after the layer. With it, all slots of all layers of that table start at row 0. */
#ifndef HPS_NET_LAYER_ROWS_H
#define HPS_NET_LAYER_ROWS_H

#include "hw/row_format.h"
#include "net/net.h"

/* The keys; every such type has them by these names. */
struct hps_rows_keys {
    const char *key;                /* of the slots, for messages */
    struct hps_list slots;
    long long buckets;
    int dim;
    const char *table, *hash;
    double init_std;
    const char *rows, *states;      /* how they are kept; same: as the section `storage` says */
};

#define HPS_ROWS_FIELDS(type)                                                                      \
    HPS_FIELD(type, dim, HPS_INT, NULL, 1, 65536, "", "numbers a row"),                            \
    HPS_FIELD(type, buckets, HPS_LONG, "0", 0, 1e15, "rows",                                       \
              "rows of a slot; 0: as many as the dataset's slot has ids"),                         \
    HPS_FIELD(type, table, HPS_TEXT, "", 0, 0, "",                                                 \
              "one table of this name for all slots of all layers that name it; "                  \
              "\"\": one a slot"),                                                                 \
    HPS_CHOICE(type, hash, "none", "none|mod",                                                     \
               "id modulo buckets, needed where buckets are fewer than the slot's ids"),           \
    HPS_FIELD(type, init_std, HPS_REAL, "0.01", 0, 100, "",                                        \
              "standard deviation of the rows at the start"),                                      \
    HPS_CHOICE(type, rows, "same", "same|" HPS_NUMBER_WEIGHTS,                                     \
               "how rows are kept; same: as storage.rows says"),                                   \
    HPS_CHOICE(type, states, "same", "same|" HPS_NUMBER_STATES,                                    \
               "how their states are kept; same: as storage.states says")

/* Set slot, base, modulo, table and dim of the layer, and add the table to the net or enlarge it.
 * HPS_DECK at the layer's place for a slot that the dataset lacks, a hash that is needed, or a
 * shared table of another shape. */
enum hps_status hps_layer_rows(struct hps_layer *l, struct hps_net *net,
                               const struct hps_rows_keys *keys);

#endif
