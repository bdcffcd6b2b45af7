/* op_batch_norm.h - the columns of a micro-batch to mean 0 and variance 1. */
#ifndef HPS_HW_OP_BATCH_NORM_H
#define HPS_HW_OP_BATCH_NORM_H

#include "hw/ops.h"

struct hps_dev;

/* A batch norm over `rows` examples in all, on whichever ranks. */
struct hps_batch_norm {
    int rows, width;
    double epsilon;             /* added to the variance                       */
    double share;               /* weight of these rows in the running stats   */
    const float *gain;          /* (width)                                     */
    float *stats;               /* (2, width) means, variances of these rows   */
};

/* A linear combination, column by column: p * (x - m) + r + q * z, with p, m, r, q (width).
 * z.data NULL: without the last term. */
struct hps_blend {
    const float *p, *m, *r, *q;
    struct hps_tensor x, z;
};

/* Batch normalisation (Ioffe and Szegedy 2015) in parts, so that ranks can sum between them: each
 * rank calls moments on its rows, the ranks add up the sums, then each calls forward and blend; in
 * the backward moments of (dy, x), gradients, a sum over the ranks, backward, blend. Below,
 * h = (x - mean) * rate with rate = 1 / sqrt(variance + epsilon). */
struct hps_op_batch_norm {
    /* sums (2, width) = for each column the sum of x, and of x * z. B = 0 gives 0. */
    void (*moments)(struct hps_dev *dev, int B, struct hps_tensor x, struct hps_tensor z,
                    double *sums);
    /* From the moments (x, x) of all rows, compute norm->stats and blend them into running
     * (2, width) with weight norm->share, where the variance is that of a sample (unchanged where
     * there is one row). sums NULL: norm->stats is given. p (width) = gain * rate. */
    void (*forward)(struct hps_dev *dev, const struct hps_batch_norm *norm, const double *sums,
                    float *running, float *p);
    /* From the moments (dy, x) of this rank's rows: dshift += sum of dy, dgain += sum of dy h. The
     * second half of sums is overwritten by the sum of dy h. */
    void (*gradients)(struct hps_dev *dev, const struct hps_batch_norm *norm, double *sums,
                      float *dgain, float *dshift);
    /* From these sums of all rows, compute p, r, q (width) with dx = q dy + p (x - mean) + r. */
    void (*backward)(struct hps_dev *dev, const struct hps_batch_norm *norm, const double *sums,
                     float *p, float *r, float *q);
    /* y (+)= the combination. */
    void (*blend)(struct hps_dev *dev, int B, const struct hps_blend *blend, struct hps_tensor y);
};

#endif
