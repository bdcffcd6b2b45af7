/* op_in_batch.h - losses against other rows of the micro-batch: in-batch negatives. */
#ifndef HPS_HW_OP_IN_BATCH_H
#define HPS_HW_OP_IN_BATCH_H

#include "hw/ops.h"

struct hps_dev;

/* In-batch negatives: each row of a micro-batch is compared with other rows of it. Row b of this
 * rank is row first + b of `all`. A row whose label is above 0.5 gets `negatives` different other
 * rows, by a permutation that (key, example) seeds, or all others where they are not more. */
struct hps_in_batch {
    int B, rows, first, width;
    const float *u;             /* (B, width)    */
    const float *all;           /* (rows, width) */
    const float *label;         /* (B)           */
    const long long *example;   /* (B)           */
    int negatives;
    uint64_t key;
    float margin;
};

struct hps_op_in_batch {
    /* Rows of length 1: y (B, width) = x / norm, norm (B) = sqrt(x.x + 1e-12). Backward: dy
     * (B, width) becomes dx = (dy - (y . dy) y) / norm. */
    void (*l2_normalise)(struct hps_dev *dev, int B, struct hps_tensor x, float *y, float *norm);
    void (*l2_normalise_back)(struct hps_dev *dev, int B, int width, float *y, float *norm,
                              float *dy);
    /* Hinge loss: the mean over row b's negatives o of max(0, margin - u[b] . all[b] + u[b] .
     * all[o]), added to *loss_sum. score: u[b] . all[b]. du (B, width) and dall (rows, width)
     * are overwritten by the gradients; NULL: not computed. */
    void (*hinge)(struct hps_dev *dev, const struct hps_in_batch *rows, float weight,
                  float *score, double *loss_sum, float *du, float *dall);
};

#endif
