/* op_nce.h - noise-contrastive estimation. */
#ifndef HPS_HW_OP_NCE_H
#define HPS_HW_OP_NCE_H

#include "hw/op_loss.h"

struct hps_op_nce {
    /* Noise-contrastive estimation (Gutmann and Hyvarinen 2010; Mnih and Teh 2012) of loss->x
     * (B, D) over K classes: e (B, K, D + 1) are their weights and biases, the class that was seen,
     * then K - 1 that were drawn. With f = x.w + b, the log of how much likelier than noise a class
     * is, and o = f - log(K - 1): loss = -log s(o) of the seen class - sum of log s(-o) of the
     * others, s the logistic function. score: f of the seen class. There are no labels. With a dx
     * (ld = D) e becomes its gradient. */
    void (*run)(struct hps_dev *dev, const struct hps_loss *loss, int K, float *e);
};

#endif
