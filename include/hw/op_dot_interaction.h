/* op_dot_interaction.h - pairwise dot products of the vectors of an example. */
#ifndef HPS_HW_OP_DOT_INTERACTION_H
#define HPS_HW_OP_DOT_INTERACTION_H

#include "hw/ops.h"

struct hps_dev;

/* The n vectors v of dim that the tensors x (nx), each (B, some * dim), make side by side. */
struct hps_vectors {
    int B, dim, nx;
    const struct hps_tensor *x;
};

struct hps_op_dot_interaction {
    /* y (B, n(n-1)/2) = v_i . v_j, j < i, row after row of the triangle; `self`: j <= i,
     * n(n+1)/2 of them. */
    void (*forward)(struct hps_dev *dev, const struct hps_vectors *v, bool self,
                    struct hps_tensor y);
    /* dx (nx) */
    void (*backward)(struct hps_dev *dev, const struct hps_vectors *v, bool self,
                     struct hps_tensor dy, const struct hps_tensor *dx);
};

#endif
