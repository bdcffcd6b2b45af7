/* net.h - the model of a deck: layers in pipeline order, each may use any earlier one. */
#ifndef HPS_NET_NET_H
#define HPS_NET_NET_H

#include "data/data.h"
#include "net/layer.h"
#include "net/opt.h"

struct hps_negatives {              /* what a layer draws for each example: net/negatives.h    */
    int n;                          /* classes; 0: it draws nothing                         */
    int slot;                       /* dataset slot of the class that was seen              */
    long long classes;
    bool log_uniform;               /* else uniform                                         */
};

struct hps_layer {
    const char *name;
    const struct hps_layer_kind *kind;
    void *opt;                      /* the kind's keys                                      */
    const struct hps_item *item;    /* its place in the deck                                */
    int index, ninput;
    int *input;                     /* (ninput) earlier layers                              */
    int width;                      /* of its output                                        */
    size_t nparam, nsaved;          /* dense weights; floats saved for the backward, an example */
    size_t nsaved_batch;            /* and of a whole micro-batch                           */
    size_t nrunning;                /* floats of state beside the weights, saved with them  */
    size_t shared, nscratch;        /* scratch: floats a row of a micro-batch; doubles      */
    size_t nexchange, nexchange_row;    /* floats that each rank of a stage exchanges with the
                                       others, forward and again backward: of a micro-batch, and
                                       of a row                                             */
    bool wants_dense, wants_label;
    double weight;                  /* of a loss in the sum of losses                       */
    enum hps_score score;           /* of a loss                                            */
    bool grad;                      /* its output depends on weights: a gradient is wanted  */
    int last_use;                   /* the last layer that reads it (its own index: none)   */
    struct hps_opt_own own;         /* how its weights learn; rows: as their table says     */
    int table;                      /* net->table that it reads, -1: none                   */
    int nslot, dim;                 /* of an embedding                                      */
    int *slot;                      /* (nslot) dataset slots, or the one that it draws      */
    struct hps_negatives negatives;
    long long *base;                /* (nslot) first row of a slot's part of the table      */
    long long *modulo;              /* (nslot) ids are taken modulo this; 0: as they are    */
};

struct hps_table_shape {            /* one logical table of rows (design: embedding)        */
    const char *name;               /* the layer's, or the shared name of key `table`       */
    long long rows;
    int dim;
    double init_std;                /* rows start as init_std * normal(seed, table, row)    */
    bool shared;                    /* named by a key `table`, else by its only layer       */
    struct hps_opt_own own;         /* how its rows learn                                   */
    bool sums;                      /* owners on CPUs give sums (ps/pooled.h)          */
};

/* Names and options are borrowed from the deck and the dataset: close both after the net. */
struct hps_net {
    int L, ntable;
    struct hps_layer *layer;
    struct hps_table_shape *table;
    int D, nslot;                   /* the dataset's                                        */
    int ndrawn;                     /* slots behind these that layers draw                  */
    const char *const *slot_name;   /* (nslot + ndrawn) */
    const long long *slot_buckets;
    const bool *slot_multi;
    const double *slot_ids;         /* (nslot) ids an example, mean                         */
    void *own;
};

/* From the deck's `model` list and the dataset's shape. Every contradiction is HPS_DECK with its
 * place: an unknown input, no loss at the end, a name given twice, a slot that the dataset lacks,
 * hash needed, a layer that nothing uses, widths that do not fit; *net is NULL then. Local, equal
 * on all ranks. */
enum hps_status hps_net_new(struct hps_net **net, const struct hps_deck *deck,
                            const struct hps_data *data);
void hps_net_free(struct hps_net *net);

/* Is there a layer that cannot work on micro-batches of `least` to `most` rows? HPS_DECK at its
 * place. Pure but for the message. */
enum hps_status hps_net_fits(const struct hps_net *net, long long least, long long most);

/* Does the section `train` (an item, or NULL) give a key of an optimizer that nothing learns by?
 * HPS_DECK at its place. Pure but for the message. */
enum hps_status hps_net_rules(const struct hps_net *net, const struct hps_train_opt *opt,
                              const struct hps_item *train);

/* A table: layer, type, inputs, width, weights (shared rows are counted once). Rank 0, stdout. */
void hps_net_print(const struct hps_net *net);

/* Tensors that cross the boundary before layer `b` (made before b, used at b or later), by layer
 * index, in order; none at b = 0 and b = L. list may be NULL. Returns their number; *width: sum of
 * widths; *grad_width: of those with a gradient. Pure. */
int hps_net_boundary(const struct hps_net *net, int b, int *list, int *width, int *grad_width);

/* Do two layers with tables take the same slots' ids to the same row numbers? Pure. */
bool hps_net_same_ids(const struct hps_layer *a, const struct hps_layer *b);
/* How many layers read a table. Pure. */
int hps_net_readers(const struct hps_net *net, int table);
/* Ids of an example in all slots of a layer, mean. Pure. */
double hps_net_ids(const struct hps_net *net, const struct hps_layer *layer);
/* Mark the dataset slots (nslot) that layer l reads. Pure. */
void hps_net_mark_slots(const struct hps_net *net, int l, bool *slot);
/* For kinds: a slot more, of what the layer draws; answers its number. */
int hps_net_draw(struct hps_net *net, const struct hps_negatives *negatives);

/* Initial dense weights of a layer (nparam), and of table rows first..first+n-1, (n, dim) `stride`
 * floats apart, in host memory: addressed by (seed, name, row), the same on any layout. Pure. */
void hps_net_init_param(const struct hps_net *net, int l, uint64_t seed, float *param);
/* What a layer's running state (nrunning) starts from, host memory. Pure. */
void hps_net_init_running(const struct hps_net *net, int l, float *running);
void hps_net_init_rows(const struct hps_net *net, int table, uint64_t seed, long long first,
                       long long n, float *rows, size_t stride);

#endif
