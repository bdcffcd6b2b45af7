/* op_dropout.h - inverted dropout. */
#ifndef HPS_HW_OP_DROPOUT_H
#define HPS_HW_OP_DROPOUT_H

#include "hw/ops.h"

struct hps_dev;

struct hps_op_dropout {
    /* y (+)= x / (1 - p) where the element is kept, else 0; 0 <= p < 1. Element (b, c) is kept
     * where the random number of (key, example[b] * width + c) in [0, 1) is at least p. The
     * backward is the same call on gradients. `example` (B) is device memory. y may be x. */
    void (*run)(struct hps_dev *dev, int B, float p, uint64_t key, const long long *example,
                struct hps_tensor x, struct hps_tensor y);
};

#endif
