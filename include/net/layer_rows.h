/* layer_rows.h - what the kinds that read rows of tables share: their keys, slots and table.
 *
 * Without the key `table` each slot has rows of its own, one part after another in one logical
 * table named after the layer; with it, all slots of all its layers start at row 0. */
#ifndef HPS_NET_LAYER_ROWS_H
#define HPS_NET_LAYER_ROWS_H

#include "net/net.h"

/* The keys, with the same names in the options of each kind; `key` is what the slots stand in. */
struct hps_rows_keys {
    const char *key;
    struct hps_list slots;
    long long buckets;
    int dim;
    const char *table, *hash;
    double init_std;
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
              "standard deviation of the rows at the start")

/* Set slots, rows, table and dim of the layer. HPS_DECK at its place: a slot that the dataset
 * lacks, hash needed, a table of another shape. */
enum hps_status hps_layer_rows(struct hps_layer *l, struct hps_net *net,
                               const struct hps_rows_keys *keys);

#endif
