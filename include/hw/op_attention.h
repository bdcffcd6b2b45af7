/* op_attention.h - attention over the rows of bags. */
#ifndef HPS_HW_OP_ATTENTION_H
#define HPS_HW_OP_ATTENTION_H

#include "hw/lookup.h"

struct hps_dev;

/* The small network that scores each row of a bag against a candidate: from 4 * dim features
 * through hidden layers with `act` (none, relu, sigmoid, tanh) to one score. Its weights: for
 * each layer w (in, out), then b (out). */
#define HPS_ATTENTION_HIDDEN 8      /* hidden layers, at most */
struct hps_attention {
    int dim, nhidden;
    const int *hidden;          /* (nhidden) */
    enum hps_act act;
    bool softmax;
};

/* Its inputs for one micro-batch. */
struct hps_attended {
    const struct hps_attention *net;
    const struct hps_lookup *lookup;    /* of one slot, by index            */
    const float *param;                 /* the weights of the network       */
    struct hps_tensor c;                /* (B, dim) the candidates          */
};

struct hps_op_attention {
    /* y (B, dim) = sum of weight * row over the bag. The score of a row is the network's output for
     * (c, row, c - row, c * row). The weight is the score, or with softmax exp(score / sqrt(dim))
     * over its sum in the bag (Zhou et al. 2018). An empty bag gives 0. */
    void (*forward)(struct hps_dev *dev, const struct hps_attended *a, struct hps_tensor y);
    /* grad (as the weights) and lookup->grad->row are added to; rows in the order of the ids. */
    void (*backward)(struct hps_dev *dev, const struct hps_attended *a, struct hps_tensor dy,
                     float *grad, struct hps_tensor dc);
};

#endif
