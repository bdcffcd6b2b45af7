/* op_dot_interaction.h - pairwise dot products of the vectors of an example. */
#ifndef HPS_HW_OP_DOT_INTERACTION_H
#define HPS_HW_OP_DOT_INTERACTION_H

#include "hw/ops.h"

struct hps_dev;

/* n vectors v of length dim: the tensors x (nx), each (B, a multiple of dim), concatenated. */
struct hps_vectors {
    int B, dim, nx;
    const struct hps_tensor *x;
};

struct hps_op_dot_interaction {
    /* y (B, n(n-1)/2) = v_i . v_j for j < i, the lower triangle row by row; `self`: for j <= i,
     * y (B, n(n+1)/2). y may be in bf16. */
    void (*forward)(struct hps_dev *dev, const struct hps_vectors *v, bool self,
                    struct hps_tensor y);
    /* dx (nx) */
    void (*backward)(struct hps_dev *dev, const struct hps_vectors *v, bool self,
                     struct hps_tensor dy, const struct hps_tensor *dx);
};

#endif
