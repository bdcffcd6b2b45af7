/* op_softmax.h - the softmax of each row. */
#ifndef HPS_HW_OP_SOFTMAX_H
#define HPS_HW_OP_SOFTMAX_H

#include "hw/ops.h"

struct hps_dev;

struct hps_op_softmax {
    /* y = exp(x) / sum exp(x), without overflow; dx (+)= y * (dy - y . dy). */
    void (*forward)(struct hps_dev *dev, int B, struct hps_tensor x, struct hps_tensor y);
    void (*backward)(struct hps_dev *dev, int B, struct hps_tensor y, struct hps_tensor dy,
                     struct hps_tensor dx);
};

#endif
