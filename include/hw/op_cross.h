/* op_cross.h - the elementwise part of a cross layer (DCN v2, Wang et al. 2021). */
#ifndef HPS_HW_OP_CROSS_H
#define HPS_HW_OP_CROSS_H

#include "hw/ops.h"

struct hps_dev;

struct hps_op_cross {
    /* y = a * b + x, element by element. */
    void (*forward)(struct hps_dev *dev, int B, struct hps_tensor a, struct hps_tensor b,
                    struct hps_tensor x, struct hps_tensor y);
    /* da (+)= dy * b; then b is overwritten by its own gradient, dy * a. da must not overlap a or
     * b. */
    void (*backward)(struct hps_dev *dev, int B, struct hps_tensor a, struct hps_tensor b,
                     struct hps_tensor dy, struct hps_tensor da);
};

#endif
