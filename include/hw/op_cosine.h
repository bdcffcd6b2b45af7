/* op_cosine.h - the cosine of two rows. */
#ifndef HPS_HW_OP_COSINE_H
#define HPS_HW_OP_COSINE_H

#include "hw/ops.h"

struct hps_dev;

/* y = a . b / (|a| |b|), |a|^2 = a . a + 1e-12. */
struct hps_cosine {
    int B;
    struct hps_tensor a, b;     /* (B, width)                             */
    struct hps_tensor y;        /* (B, 1)                                 */
    float *saved;               /* (B, 2) 1/|a|, 1/|b|, for the backward  */
};

struct hps_op_cosine {
    void (*forward)(struct hps_dev *dev, const struct hps_cosine *c);
    void (*backward)(struct hps_dev *dev, const struct hps_cosine *c, struct hps_tensor dy,
                     struct hps_tensor da, struct hps_tensor db);
};

#endif
