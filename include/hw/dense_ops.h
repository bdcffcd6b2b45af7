/* dense_ops.h - device operations on matrices and dense weights: one table a backend. The rules of
 * hw/dev.h hold for each operation. */
#ifndef HPS_HW_DENSE_OPS_H
#define HPS_HW_DENSE_OPS_H

#include "hw/ops.h"
#include "hw/rule.h"

struct hps_dev;

/* To what the operands of a matrix product are rounded; its sums are fp32. */
enum hps_precision { HPS_FP32, HPS_TF32, HPS_BF16 };

/* Fully connected: y = act(x w + b). */
struct hps_fc {
    enum hps_act act;
    enum hps_precision precision;       /* hps_dev_product                                 */
    int B;
    struct hps_tensor x;        /* (B, in), may be in bf16 where `precision` is            */
    const float *w, *b;         /* (in, out), (out); b NULL: none, where act is none       */
    struct hps_tensor y;        /* (B, out), may be in bf16 where act is none or relu      */
    float *pre;                 /* (B, out) contiguous: x w + b, of gelu alone             */
    const void *packed;         /* w as fc_pack left it, where fc_packed_bytes is not 0    */
};

struct hps_dense_ops {
    /* What products read beside w, or in place of it: made of w (in, out) once after each of its
     * changes. The bytes that it takes; 0: nothing. NULL: always 0. */
    size_t (*fc_packed_bytes)(const struct hps_dev *dev, enum hps_precision precision, int in,
                              int out);
    void (*fc_pack)(struct hps_dev *dev, enum hps_precision precision, int in, int out,
                    const float *w, void *packed);
    /* May tensors be in bf16 at the precision of the device, where an operation takes such? They
     * are rounded as products in bf16 round their operands. NULL: no. */
    bool (*keeps_rounded)(const struct hps_dev *dev);
    /* gelu (the exact x * Phi(x)) also fills `pre`. */
    void (*fc_forward)(struct hps_dev *dev, const struct hps_fc *fc);
    /* Its derivative. dy (B, out) is overwritten by dy * act'(y). dw, db are added to; db NULL:
     * there is no b. act' is computed from y (relu, sigmoid, tanh) or `pre` as fc_forward filled it
     * (gelu). */
    void (*fc_backward)(struct hps_dev *dev, const struct hps_fc *fc, struct hps_tensor dy,
                        struct hps_tensor dx, float *dw, float *db);

    /* y = act(x), element by element; dx (+)= dy * act'(x), from x and y. */
    void (*act_forward)(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                        struct hps_tensor y);
    void (*act_backward)(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                         struct hps_tensor y, struct hps_tensor dy, struct hps_tensor dx);

    /* y = x, or y += x where y.add is set. y may be in bf16, and then x too. */
    void (*copy)(struct hps_dev *dev, int B, struct hps_tensor x, struct hps_tensor y);
    /* y = by * x, element by element. */
    void (*scale)(struct hps_dev *dev, int B, float by, struct hps_tensor x, struct hps_tensor y);

    /* to (n) = part (k, n) summed over k, in order; k is at least 1. */
    void (*reduce)(struct hps_dev *dev, int k, size_t n, const float *part, float *to);
    void (*reduce_doubles)(struct hps_dev *dev, int k, size_t n, const double *part, double *to);

    /* An optimiser's update: param (n), grad (n), state: nstate times (n), `plane` >= n floats from
     * one to the next. grad is zeroed in the same pass. */
    void (*update)(struct hps_dev *dev, const struct hps_rule *rule, size_t n, float *param,
                   float *grad, float *state, size_t plane);
    /* *sum (host) = sum of squares of x (n), in double, deterministic. Waits. */
    void (*norm2)(struct hps_dev *dev, size_t n, const float *x, double *sum);

    /* Micro-benchmark for the roofline: seconds of one C(m,n) += A(m,k) B(k,n) at the device's
     * precision, the median of `repeat` after a warm-up. Waits. */
    double (*gemm_s)(struct hps_dev *dev, int m, int n, int k, int repeat);
};

#endif
