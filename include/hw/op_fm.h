/* op_fm.h - the second-order term of a factorization machine (Rendle 2010). */
#ifndef HPS_HW_OP_FM_H
#define HPS_HW_OP_FM_H

#include "hw/op_dot_interaction.h"

struct hps_op_fm {
    /* y (B, dim) = sum over j < i of v_i * v_j, elementwise, or (B, 1), the sum of these. sums
     * (B, dim) is saved for the backward. */
    void (*forward)(struct hps_dev *dev, const struct hps_vectors *v, struct hps_tensor y,
                    float *sums);
    /* dx (nx) */
    void (*backward)(struct hps_dev *dev, const struct hps_vectors *v, float *sums,
                     struct hps_tensor dy, const struct hps_tensor *dx);
};

#endif
