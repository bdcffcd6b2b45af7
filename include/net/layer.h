/* layer.h - the list of layer kinds: one file a kind has keys, shape, cost, forward, backward.
 *
 * Letters: B examples of a micro-batch on this rank. A layer makes one tensor (B, width). */
#ifndef HPS_NET_LAYER_H
#define HPS_NET_LAYER_H

#include "base/deck.h"
#include "hw/lookup.h"
#include "net/collective.h"
#include "net/load.h"

struct hps_net;
struct hps_layer;
struct hps_batch;

/* Keys of every layer; the keys of a kind follow in a struct that begins with this one. */
struct hps_layer_opt {
    const char *name, *type;
    struct hps_list inputs;             /* names of earlier layers; not given: the layer before */
    const char *optimizer;              /* of its weights or rows; same: the `train` section's  */
    double learning_rate;               /* 0: the `train` section's                             */
};
extern const struct hps_field hps_layer_fields[];

/* The dense weights of a layer; device memory. */
struct hps_pass_weights {
    const float *param;                 /* (nparam)                                          */
    float *grad;                        /* (nparam) added to                                 */
    float *running;                     /* (nrunning) state that no optimiser moves: saved   */
};

/* Memory of one call, or from the forward of a micro-batch to its backward; device memory. */
struct hps_pass_memory {
    float *saved;                       /* (B * nsaved) activations, for the backward        */
    float *saved_batch;                 /* (nsaved_batch) the same, of the whole micro-batch */
    float *all;                         /* (collective->rows * shared) scratch of this call  */
    double *scratch;                    /* (nscratch) scratch of this call                   */
};

/* What a loss computes with. */
struct hps_pass_loss {
    float weight;                       /* of an example in the gradient of this loss        */
    float *score;                       /* (B) predictions; NULL: not wanted                 */
    double *sum;                        /* device: the losses are added, unweighted          */
};

/* What a layer sees of one micro-batch. All pointers are device memory unless said; borrowed. */
struct hps_pass {
    struct hps_dev *dev;
    int B;                              /* at least 1; a `collective` kind: may be 0         */
    bool training;                      /* dropout, statistics, what a backward needs        */
    uint64_t key;                       /* random numbers of (seed, step): sub-key by layer  */
    struct hps_load_raw raw;            /* columns of the dataset, for layers that want them */
    const struct hps_tensor *x;         /* (ninput) inputs                                   */
    struct hps_tensor y;                /* output                                            */
    const struct hps_tensor *dx;        /* (ninput) gradients to fill; data NULL: not wanted */
    struct hps_tensor dy;               /* gradient of the output; may be overwritten        */
    struct hps_pass_weights weights;
    struct hps_pass_memory memory;
    struct hps_pass_loss loss;
    const struct hps_collective *collective;    /* the whole micro-batch, of at least 1 row  */
    const struct hps_lookup *lookup;    /* of a table: its bags, their rows, where gradients go */
};

/* What the scores of a loss are, and so how they are judged. */
enum hps_score {
    HPS_SCORE_CHANCE,                   /* of label 1                                        */
    HPS_SCORE_RANK,                     /* the higher, the likelier is label 1               */
    HPS_SCORE_CLASS,                    /* the label that is likeliest                       */
    HPS_SCORE_VALUE,                    /* what the label should be                          */
    HPS_SCORE_NONE                      /* nothing that a label can be held against          */
};

struct hps_layer_kind {
    const char *name, *help;
    const struct hps_field *fields;     /* its own keys, NULL: none                          */
    size_t opt_size;                    /* bytes of the struct that they fill                */
    int least_inputs, most_inputs;      /* -1: any                                           */
    bool loss;                          /* no output; its options begin with net/loss.h's */
    bool table;                         /* reads rows of a table, dealt to the ranks of its stage */
    bool keyed;                         /* forward reads example numbers              */
    bool side_by_side;                  /* y is the inputs side by side: x may lie in y       */
    bool by_row;                        /* its bags need no index on a host           */
    /* Does it want the sums of bags, not their rows (ps/pooled.h)? NULL: no. */
    bool (*sums)(const struct hps_layer *l);
    /* It may use p->collective: every rank of the stage then calls it for each micro-batch of at
     * least one row, so what it asks for must not depend on its own rows. Others cost nothing. */
    bool collective;
    /* Check inputs and keys, set width, nparam, nsaved, table and slots of the layer, and what else
     * of its sizes is not 0. HPS_DECK at the layer's place. */
    enum hps_status (*shape)(struct hps_layer *l, struct hps_net *net);
    /* Initial weights from the layer's stream, host memory (nparam). NULL when there are none. */
    void (*init)(const struct hps_layer *l, uint64_t key, float *param);
    /* What `running` starts from, host memory (nrunning). NULL: zeros. */
    void (*settle)(const struct hps_layer *l, float *running);
    /* Can it work on micro-batches of `least` to `most` rows? HPS_DECK at its place. NULL: on any.
     * The last ones of an epoch may be shorter. */
    enum hps_status (*fits)(const struct hps_layer *l, long long least, long long most);
    /* Data that the layer cannot take: HPS_DECK and a message with its name. My rows of a
     * micro-batch, before its step. NULL: it takes all. */
    enum hps_status (*accept)(const struct hps_layer *l, const struct hps_batch *batch);
    /* Operations of one example, forward and backward. */
    double (*flops)(const struct hps_layer *l, const struct hps_net *net);
    void (*forward)(const struct hps_layer *l, struct hps_pass *p);
    void (*backward)(const struct hps_layer *l, struct hps_pass *p);
};
const struct hps_layer_kind *hps_layer_find(const char *name);     /* NULL: no such kind */
const char *hps_layer_words(void);      /* "embedding|dense_input|..." */

/* The `model` section of the reference: a small net that works, and each kind with its keys.
 * Rank 0, stdout. */
void hps_layer_print_reference(enum hps_deck_form form);

/* For net and the kinds. */
bool hps_layer_good_name(const char *name);     /* 1 to 63 letters, digits, _ and -. Pure. */
/* "unknown layer type" at the item, with the nearest kind. HPS_DECK. */
enum hps_status hps_layer_unknown(const struct hps_item *item, const char *type);
/* The device's word for a deck's: none, relu, sigmoid, tanh, gelu. Pure. */
enum hps_act hps_layer_act(const char *word);
/* Cut the layer's inputs into *n vectors of *dim (0: the first input's width). HPS_DECK where the
 * width of one is no multiple, or there are fewer than `least`, 1 or 2. */
enum hps_status hps_layer_vectors(const struct hps_layer *l, const struct hps_net *net, int least,
                                  int *dim, int *n);
/* Initial weights w (n): numbers first .. of the stream, uniform with the variance 2 / fan (Glorot
 * and Bengio 2010 with fan = in + out; He et al. 2015 before a relu with fan = in). Pure. */
void hps_layer_init_uniform(float *w, size_t n, double fan, uint64_t key, size_t first);
/* Initial weights of a norm: gains of 1, then shifts of 0, one each of a number. Pure. */
void hps_layer_init_gains(const struct hps_layer *l, uint64_t key, float *param);
/* Set a layer's width; HPS_DECK at its place when it is wider than a layer may be. */
enum hps_status hps_layer_set_width(struct hps_layer *l, long long width);

#endif
