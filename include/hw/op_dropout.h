/* op_dropout.h - inverted dropout. */
#ifndef HPS_HW_OP_DROPOUT_H
#define HPS_HW_OP_DROPOUT_H

#include "hw/ops.h"

struct hps_dev;

struct hps_op_dropout {
    /* y (+)= x * keep/(1-p), 0 <= p < 1; element (b, c) is kept when unit(key, example[b]*width +
     * c) >= p. Backward is the same call on gradients. `example` (B) lies on the device. y may be
     * x. */
    void (*run)(struct hps_dev *dev, int B, float p, uint64_t key, const long long *example,
                struct hps_tensor x, struct hps_tensor y);
};

#endif
