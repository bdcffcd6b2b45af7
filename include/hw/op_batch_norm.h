/* op_batch_norm.h - the columns of a micro-batch to mean 0 and variance 1. */
#ifndef HPS_HW_OP_BATCH_NORM_H
#define HPS_HW_OP_BATCH_NORM_H

#include "hw/ops.h"

struct hps_dev;

/* The columns of a batch norm over `rows` examples, wherever these are. */
struct hps_batch_norm {
    int rows, width;
    double epsilon;             /* added to the variance                       */
    double share;               /* of these rows in the running state          */
    const float *gain;          /* (width)                                     */
    float *stats;               /* (2, width) means, variances of these rows   */
};

/* Of each column: p * (x - m) + r + q * z; p, m, r, q (width); z.data NULL: without. */
struct hps_blend {
    const float *p, *m, *r, *q;
    struct hps_tensor x, z;
};

/* Ioffe and Szegedy 2015, once a column; h = (x - mean) * rate, rate = 1 / sqrt(variance +
 * epsilon). The sums (2, width) are those of moments. */
struct hps_op_batch_norm {
    /* Of each column: sums (2, width) = sum of x, sum of x * z; of no row: 0. */
    void (*moments)(struct hps_dev *dev, int B, struct hps_tensor x, struct hps_tensor z,
                    double *sums);
    /* With the sums of all rows, of x and x: norm->stats are made of them, and running (2, width)
     * takes its share, the variance as of a sample (of one row it stays); sums NULL: the stats are
     * there. p (width) = gain * rate. */
    void (*forward)(struct hps_dev *dev, const struct hps_batch_norm *norm, const double *sums,
                    float *running, float *p);
    /* With the sums of my rows, of dy and x: dshift += sum of dy, dgain += sum of dy h, which the
     * second sums become. */
    void (*gradients)(struct hps_dev *dev, const struct hps_batch_norm *norm, double *sums,
                      float *dgain, float *dshift);
    /* With the sums of all rows, summed from those: dx = q dy + p (x - mean) + r. */
    void (*backward)(struct hps_dev *dev, const struct hps_batch_norm *norm, const double *sums,
                     float *p, float *r, float *q);
    /* y (+)= the blend. */
    void (*blend)(struct hps_dev *dev, int B, const struct hps_blend *blend, struct hps_tensor y);
};

#endif
