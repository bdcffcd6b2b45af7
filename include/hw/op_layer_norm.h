/* op_layer_norm.h - each row to mean 0 and variance 1. */
#ifndef HPS_HW_OP_LAYER_NORM_H
#define HPS_HW_OP_LAYER_NORM_H

#include "hw/ops.h"

struct hps_dev;

/* y = gain * (x - mean) / sqrt(variance + eps) + shift (Ba, Kiros, Hinton 2016). */
struct hps_layer_norm {
    int B;
    struct hps_tensor x;            /* (B, width)                                   */
    const float *gain, *shift;      /* (width)                                      */
    float eps;
    float *saved;                   /* (B, 2) means, rates: for the backward        */
};

struct hps_op_layer_norm {
    void (*forward)(struct hps_dev *dev, const struct hps_layer_norm *norm, struct hps_tensor y);
    /* dgain, dshift are added to. */
    void (*backward)(struct hps_dev *dev, const struct hps_layer_norm *norm, struct hps_tensor dy,
                     struct hps_tensor dx, float *dgain, float *dshift);
};

#endif
