/* op_in_batch.h - losses against other rows of the micro-batch: in-batch negatives. */
#ifndef HPS_HW_OP_IN_BATCH_H
#define HPS_HW_OP_IN_BATCH_H

#include "hw/ops.h"

struct hps_dev;

/* Rows of a micro-batch held against the others: row b of mine is row first + b of all. Where label
 * is above 0.5 it takes `negatives` others, all different, by permutation of (key, example); all of
 * them where they are no more. */
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
    /* Hinge between rows: the mean over row b's negatives o of max(0, margin - u[b].all[b] +
     * u[b].all[o]), added to *loss_sum. score: u[b].all[b]. du (B, width), dall (rows, width) are
     * overwritten; NULL: not wanted. */
    void (*hinge)(struct hps_dev *dev, const struct hps_in_batch *rows, float weight,
                  float *score, double *loss_sum, float *du, float *dall);
};

#endif
