/* net.h - the network of a deck: layers in pipeline order, each may read any earlier one. */
#ifndef HPS_NET_NET_H
#define HPS_NET_NET_H

#include "data/data.h"
#include "net/layer.h"
#include "net/opt.h"

/* The classes that a layer samples for each example (net/negatives.h). */
struct hps_negatives {
    int n;                          /* negatives an example; 0: the layer samples nothing   */
    int slot;                       /* dataset slot of the positive class                   */
    long long classes;
    bool log_uniform;               /* the distribution; else uniform                       */
};

struct hps_layer {
    const char *name;
    const struct hps_layer_type *type;
    void *opt;                      /* its keys, a struct of its type                       */
    const struct hps_item *item;    /* its place in the deck, for messages                  */
    int index, ninput;
    int *input;                     /* (ninput) earlier layers                              */
    int width;                      /* of its output                                        */
    size_t nparam;                  /* dense weights                                        */
    size_t nsaved, nsaved_batch;    /* saved activations: of an example; of a micro-batch   */
    size_t nrunning;                /* state beside the weights, in checkpoints too         */
    size_t nscratch_row;            /* scratch, shared by layers: floats for each row of a
                                       micro-batch                                          */
    size_t nscratch;                /* and doubles in all                                   */
    size_t nexchange, nexchange_row;    /* floats that each rank of a stage exchanges with the
                                       others, in the forward and again in the backward: of a
                                       micro-batch, and of each row                         */
    bool wants_dense, wants_label;  /* columns of the dataset that it reads                 */
    double weight;                  /* of a loss in the sum of losses                       */
    enum hps_score score;           /* of a loss                                            */
    bool grad;                      /* its output depends on weights, so has a gradient     */
    int last_use;                   /* the last layer that reads it; its own index: none    */
    struct hps_opt_override override;   /* how its dense weights learn                      */
    int table;                      /* in net->table; -1: it reads none                     */
    int nslot, dim;                 /* of a layer with a table                              */
    int *slot;                      /* (nslot) dataset slots, or the slot of its negatives  */
    struct hps_negatives negatives;
    long long *base;                /* (nslot) first row of a slot's part of the table      */
    long long *modulo;              /* (nslot) ids are taken modulo this; 0: as they are    */
};

/* One logical table of rows (design: embedding). */
struct hps_table_shape {
    const char *name;               /* the layer's, or that of the key `table`              */
    long long rows;
    int dim;
    double init_std;                /* rows start as init_std * normal(seed, table, row)    */
    bool shared;                    /* named by a key `table`, so several layers may read it */
    struct hps_opt_override override;   /* how its rows learn                               */
    const char *row_encoding, *state_encoding; /* NULL or same: storage.rows, .states         */
    bool sums;                      /* owners on CPUs send partial pooled sums (ps/pooled.h) */
};

/* Names and options are borrowed from the deck and the dataset: close both after the net. */
struct hps_net {
    int L, ntable;
    struct hps_layer *layer;
    struct hps_table_shape *table;
    int D, nslot;                   /* of the dataset                                       */
    int ndrawn;                     /* slots behind these: negatives of layers              */
    const char *const *slot_name;   /* (nslot + ndrawn)                                     */
    const long long *slot_buckets;  /* (nslot + ndrawn)                                     */
    const bool *slot_multi;         /* (nslot + ndrawn)                                     */
    const double *slot_ids;         /* (nslot + ndrawn) ids an example, mean                */
    struct hps_net_impl *impl;
};

/* The network of the deck's `model` list for a dataset. Every contradiction is HPS_DECK with its
 * place in the deck: an unknown input, no loss at the end, a name given twice, a slot that the
 * dataset lacks, hash needed, a layer that no other reads, widths that do not fit. *net is NULL
 * then. Local; equal on all ranks. */
enum hps_status hps_net_new(struct hps_net **net, const struct hps_deck *deck,
                            const struct hps_data *data);
void hps_net_free(struct hps_net *net);

/* HPS_DECK, at its place in the deck, for the first layer that cannot work on micro-batches of min
 * to max rows. Pure but for the message. */
enum hps_status hps_net_check_rows(const struct hps_net *net, long long min, long long max);

/* HPS_DECK if the section `train` (an item, or NULL) sets a key of an optimizer by which neither a
 * layer nor a table learns. Pure but for the message. */
enum hps_status hps_net_check_optimizers(const struct hps_net *net,
                                         const struct hps_train_opt *opt,
                                         const struct hps_item *train);

/* Print a table of the layers: name, type, inputs, width, weights (those of a shared table once).
 * Rank 0, stdout. */
void hps_net_print(const struct hps_net *net);

/* The outputs that cross the boundary before layer b: made before b, read by b or later. Returns
 * how many; none at b = 0 and b = L.
 *   list        (returned) [out] their layers in ascending order; may be NULL
 *   width       [out] sum of their widths
 *   grad_width  [out] sum of the widths of those with a gradient
 * Pure. */
int hps_net_boundary(const struct hps_net *net, int b, int *list, int *width, int *grad_width);

/* Do two layers with tables take the ids of the same slots to the same row numbers? Pure. */
bool hps_net_same_ids(const struct hps_layer *a, const struct hps_layer *b);
/* How many layers read a table. Pure. */
int hps_net_layers_of_table(const struct hps_net *net, int table);
/* Ids of an example in all slots of a layer, mean. Pure. */
double hps_net_ids_per_example(const struct hps_net *net, const struct hps_layer *layer);
/* Set slot[s] for each dataset slot s that layer l reads; slot (nslot). Pure. */
void hps_net_slots_of(const struct hps_net *net, int l, bool *slot);
/* For layer types: add a slot that holds the negatives of a layer; returns its number. */
int hps_net_add_drawn_slot(struct hps_net *net, const struct hps_negatives *negatives);

/* Initial values, host memory, addressed by (seed, name, row) and so the same on any layout. Pure:
 *   param    (nparam) the dense weights of layer l
 *   running  (nrunning) the running state of layer l
 *   rows     (n, dim) rows first .. first + n - 1 of a table, `stride` floats apart; key: of the
 *            table and the seed, which costs as much as a row */
void hps_net_init_param(const struct hps_net *net, int l, uint64_t seed, float *param);
void hps_net_init_running(const struct hps_net *net, int l, float *running);
uint64_t hps_net_rows_key(const struct hps_net *net, int table, uint64_t seed);
void hps_net_init_rows(const struct hps_net *net, int table, uint64_t key, long long first,
                       long long n, float *rows, size_t stride);

#endif
