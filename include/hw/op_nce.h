/* op_nce.h - noise-contrastive estimation. */
#ifndef HPS_HW_OP_NCE_H
#define HPS_HW_OP_NCE_H

#include "hw/op_loss.h"

struct hps_op_nce {
    /* Noise-contrastive estimation (Gutmann and Hyvarinen 2010; Mnih and Teh 2012) of loss->x
     * (B, D) over K classes. e (B, K, D + 1) holds their weights and biases: first the true class,
     * then K - 1 samples. f = x . w + b is the log of a class's odds over noise. With
     * o = f - log(K - 1) and the logistic function s, loss = -log s(o) of the true class - sum of
     * log s(-o) of the samples. score: f of the true class. There are no labels. Where loss->dx is
     * given (ld = D), e is overwritten by its gradient. */
    void (*run)(struct hps_dev *dev, const struct hps_loss *loss, int K, float *e);
};

#endif
