/* op_loss.h - losses of one row at a time. */
#ifndef HPS_HW_OP_LOSS_H
#define HPS_HW_OP_LOSS_H

#include "hw/ops.h"

struct hps_dev;

/* The pointwise losses: of each row against its label, added up. Each loss gets one of these. */
struct hps_loss {
    int B;
    struct hps_tensor x;        /* (B, 1), or (B, classes)                             */
    const float *label;         /* (B)                                                 */
    float weight;               /* of a row in the gradient                            */
    float *score;               /* (B) [out] predictions; NULL: not wanted             */
    double *sum;                /* device: the sum of the losses is added, unweighted  */
    struct hps_tensor dx;       /* as x [out] the gradient; no data: forward only      */
};

struct hps_op_loss {
    /* p = 1/(1+exp(-x)), of one logit a row; loss = -(t log p + (1-t) log(1-p)), computed without
     * overflow. score: p. dx = (p - t) * weight. A NaN in gives NaN out. */
    void (*logistic)(struct hps_dev *dev, const struct hps_loss *loss);
    /* -log softmax(x)[label], label a whole number in 0..C-1 (else NaN). score: the probability of
     * class 1 where C = 2, else the likeliest class (the first of equals). */
    void (*cross_entropy)(struct hps_dev *dev, const struct hps_loss *loss);
    /* (x - label)^2. score: x. */
    void (*squared)(struct hps_dev *dev, const struct hps_loss *loss);
    /* max(0, margin - t x), t = 1 where label is above 0.5, else -1. score: x. */
    void (*hinge)(struct hps_dev *dev, const struct hps_loss *loss, float margin);
};

#endif
