/* layer.h - layer types: one file for each has its keys, shape, cost, forward and backward.
 *
 * Letters: B examples of a micro-batch on this rank. The output of a layer is one tensor (B,
 * width). */
#ifndef HPS_NET_LAYER_H
#define HPS_NET_LAYER_H

#include "base/deck.h"
#include "hw/lookup.h"
#include "net/collective.h"
#include "net/load.h"

struct hps_net;
struct hps_layer;
struct hps_batch;

/* Keys of every layer; the keys of a type follow in a struct that begins with this one. */
struct hps_layer_opt {
    const char *name, *type;
    struct hps_list inputs;             /* names of earlier layers; not given: the layer before */
    const char *optimizer;              /* of its weights or rows; same: that of `train`        */
    double learning_rate;               /* 0: that of `train`                                   */
};
extern const struct hps_field hps_layer_fields[];

/* The dense weights of a layer; device memory. */
struct hps_pass_weights {
    const float *param;                 /* (nparam)                                          */
    float *grad;                        /* (nparam) the backward adds to it                  */
    float *running;                     /* (nrunning) state that no optimiser updates        */
    const char *packed;                 /* as `pack` left it                                 */
};

/* What a layer may write to in a call; device memory. Saved activations stay until the backward of
 * the same micro-batch, scratch ends with the call. */
struct hps_pass_memory {
    float *saved;                       /* (B * nsaved) saved activations of my rows         */
    float *saved_batch;                 /* (nsaved_batch) and of the whole micro-batch       */
    float *all;                         /* (collective->rows * scratch_row) scratch          */
    double *scratch;                    /* (nscratch) scratch                                */
};

/* What a loss needs beyond the other layers. */
struct hps_pass_loss {
    float weight;                       /* of an example in the gradient of this loss        */
    float *score;                       /* (B) [out] predictions; NULL: not wanted           */
    double *sum;                        /* the unweighted losses of the examples are added   */
};

/* What a layer sees of one micro-batch. All pointers are device memory unless said; borrowed. */
struct hps_pass {
    struct hps_dev *dev;
    int B;                              /* at least 1; may be 0 for a `collective` type      */
    bool training;                      /* a backward follows                                */
    uint64_t key;                       /* of the random numbers of (seed, step)             */
    struct hps_load_raw raw;            /* columns of the dataset                            */
    const struct hps_tensor *x;         /* (ninput) inputs; in bf16 where reads_rounded is   */
    struct hps_tensor y;                /* output; in bf16 only where writes_rounded is      */
    const struct hps_tensor *dx;        /* (ninput) [out] gradients; data NULL: not wanted   */
    struct hps_tensor dy;               /* gradient of the output; may be overwritten        */
    struct hps_pass_weights weights;
    struct hps_pass_memory memory;
    struct hps_pass_loss loss;
    const struct hps_collective *collective;    /* the ranks that share the micro-batch      */
    const struct hps_lookup *lookup;    /* of a layer with a table, else NULL                */
};

/* What the scores of a loss mean: it decides the metrics of an evaluation. */
enum hps_score {
    HPS_SCORE_CHANCE,                   /* the probability of label 1                        */
    HPS_SCORE_RANK,                     /* a higher score means that label 1 is likelier     */
    HPS_SCORE_CLASS,                    /* the most probable label                           */
    HPS_SCORE_VALUE,                    /* an estimate of the label                          */
    HPS_SCORE_NONE                      /* nothing that could be compared with a label       */
};

/* A layer type. Its functions are Local but for forward and backward of a `collective` type. */
struct hps_layer_type {
    const char *name, *help;
    const struct hps_field *fields;     /* its keys beside those of every layer; NULL: none  */
    size_t opt_size;                    /* bytes of the struct of its keys                   */
    int min_inputs, max_inputs;         /* -1: any number                                    */
    bool loss;                          /* has no output; its keys begin with hps_loss_opt   */
    bool table;                         /* reads rows of a table, through p->lookup          */
    bool reads_example;                 /* forward reads p->raw.example                      */
    bool concatenates;                  /* y is the inputs side by side: an input may already be
                                           a part of y's memory                              */
    bool host_needs_no_index;           /* on a host it reads any form of lookup             */
    /* Does this layer want partial pooled sums (ps/pooled.h) instead of rows? NULL: no. */
    bool (*wants_sums)(const struct hps_layer *l);
    /* The layer uses p->collective. Every rank of the stage then calls forward and backward for
     * each micro-batch of at least one row, also where it has none of them, so the collectives that
     * the layer calls must not depend on its own rows. */
    bool collective;
    /* Check inputs and keys; set width, nparam, nsaved, table, slots and the other sizes that are
     * not 0. HPS_DECK with a message at the layer's place in the deck. */
    enum hps_status (*shape)(struct hps_layer *l, struct hps_net *net);
    /* Initial weights (nparam), host memory, from the random stream `key`. NULL: no weights. */
    void (*init)(const struct hps_layer *l, uint64_t key, float *param);
    /* Does the layer read its inputs by products in bf16 alone? Can it write its output in bf16? An
     * output is kept so where its layer can and all its readers do, so that what writes a number
     * also rounds it. A type that `concatenates` reads in bf16 what it keeps so. NULL: no. */
    bool (*reads_rounded)(const struct hps_layer *l, const struct hps_dev *dev);
    bool (*writes_rounded)(const struct hps_layer *l, const struct hps_dev *dev);
    /* What forward and backward read beside param, made of it after each of its changes: its bytes
     * on a device, and how to make it (queued). NULL: nothing. */
    size_t (*packed_bytes)(const struct hps_layer *l, const struct hps_dev *dev);
    void (*pack)(const struct hps_layer *l, struct hps_dev *dev, const float *param,
                 char *packed);
    /* Initial running state (nrunning), host memory, zeroed before. NULL: zeros. */
    void (*init_running)(const struct hps_layer *l, float *running);
    /* Micro-batches move the running state in turn, each of at least `running_rows` rows: to this
     * share of it and something of the rows. For a type that has such a state. */
    double (*running_share)(const struct hps_layer *l);
    int running_rows;
    /* HPS_DECK if the layer cannot work on micro-batches of min to max rows (the last one of an
     * epoch may be shorter than the others). NULL: it works on any number. */
    enum hps_status (*check_rows)(const struct hps_layer *l, long long min, long long max);
    /* HPS_DECK, with a message that names the example, if my rows of a micro-batch hold data that
     * the layer cannot take. Called before the step. NULL: it takes all data. */
    enum hps_status (*check_batch)(const struct hps_layer *l, const struct hps_batch *batch);
    /* Floating-point operations of one example, forward and backward together. */
    double (*flops)(const struct hps_layer *l, const struct hps_net *net);
    void (*forward)(const struct hps_layer *l, struct hps_pass *p);
    void (*backward)(const struct hps_layer *l, struct hps_pass *p);
};
const struct hps_layer_type *hps_layer_find(const char *name);     /* NULL: no such type */
const char *hps_layer_type_words(void);         /* "embedding|dense_input|..." */

/* Print the `model` section of the reference deck: a small net that works, and the keys of each
 * type. Rank 0, stdout. */
void hps_layer_print_reference(enum hps_deck_form form);

/* For the net and the layer types. */

bool hps_layer_name_is_valid(const char *name);     /* 1 to 63 letters, digits, _ and -. Pure. */
/* HPS_DECK with "unknown layer type" and the nearest type, at `item`. */
enum hps_status hps_layer_unknown_type(const struct hps_item *item, const char *type);
/* The activation of a deck's word: none, relu, sigmoid, tanh, gelu. Pure. */
enum hps_act hps_layer_act(const char *word);
/* See the inputs of the layer as *n vectors of *dim numbers (*dim 0: the width of the first input).
 * HPS_DECK where the width of an input is no multiple of *dim, or *n < min (1 or 2). */
enum hps_status hps_layer_vectors(const struct hps_layer *l, const struct hps_net *net, int min,
                                  int *dim, int *n);
/* Initial weights w (n): numbers first .. first + n - 1 of the stream `key`, uniform with variance
 * 2 / fan (Glorot and Bengio 2010 with fan = in + out; He et al. 2015 before a relu with fan = in).
 * Pure. */
void hps_layer_init_uniform(float *w, size_t n, double fan, uint64_t key, size_t first);
/* Initial weights of a normalisation: a gain of 1 for each column, then a shift of 0 for each. */
void hps_layer_init_gains(const struct hps_layer *l, uint64_t key, float *param);
/* writes_rounded of layers whose operation writes bf16 wherever a device keeps tensors so: true. */
bool hps_layer_writes_rounded(const struct hps_layer *l, const struct hps_dev *dev);
/* For a matrix of weights w (in, out): the bytes of what its products read beside it, at the
 * precision of hps_dev_product, and how to make that. */
size_t hps_layer_packed_bytes(const struct hps_dev *dev, int in, int out);
void hps_layer_pack(struct hps_dev *dev, int in, int out, const float *w, char *packed);
/* Set the width of the layer. HPS_DECK where it is more than a layer may have. */
enum hps_status hps_layer_set_width(struct hps_layer *l, long long width);

#endif
