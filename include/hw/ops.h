/* ops.h - what the operations of a device work on: views of matrices, update rules.
 * Plain data without MPI or a library: C and CUDA C read it alike. */
#ifndef HPS_HW_OPS_H
#define HPS_HW_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/both.h"

/* A matrix view: (B, width) float on the device. */
struct hps_tensor {
    float *data;                /* NULL: not there (an unwanted gradient)                  */
    size_t ld;
    int width;
    bool add;                   /* a gradient that is written here is added to what is there */
};

/* A contiguous view; what is const is only read through it. Pure. */
static inline struct hps_tensor hps_tensor_of(const float *data, int width)
{
    return (struct hps_tensor){ (float *)(size_t)data, (size_t)width, width, false };
}

enum hps_act { HPS_ACT_NONE, HPS_ACT_RELU, HPS_ACT_SIGMOID, HPS_ACT_TANH, HPS_ACT_GELU };

enum hps_pool_kind { HPS_POOL_SUM, HPS_POOL_MEAN };       /* inside a slot  */
enum hps_combine { HPS_COMBINE_CONCAT, HPS_COMBINE_SUM }; /* over the slots */

/* An update rule with the numbers of one step; the states lie beside the weights.
 *   sgd          w -= lr g
 *   momentum     v = beta1 v + g;  w -= lr v                                (Polyak 1964)
 *   nesterov     v = beta1 v + g;  w -= lr (g + beta1 v)
 *                (Sutskever, Martens, Dahl, Hinton 2013, by the weights that are looked ahead to)
 *   adagrad      s += g^2;  w -= lr g / (sqrt(s) + eps)              (Duchi, Hazan, Singer 2011)
 *   row_adagrad  s += mean of g^2 over the row, one s a row;  w -= lr g / (sqrt(s) + eps)
 *                (Mudigere et al. 2022, arXiv 2104.05158: rows only)
 *   rmsprop      s = beta2 s + (1 - beta2) g^2;  w -= lr g / (sqrt(s) + eps)
 *                (Tieleman and Hinton 2012)
 *   adam         m, v of Kingma and Ba 2015, bias corrected by `step`
 *   lamb         m, v as adam;  u = m / (sqrt(v) + eps) + l2 w;  w -= lr |w| / |u| u, the ratio 1
 *                where a norm is 0 (You et al. 2020, algorithm 2). Norms are those of one call
 *                (dense: a layer), of rows each row's own
 *   ftrl         s += g^2, z += g - (change of sqrt(s)) / lr w;  w = 0 where |z| <= l1, else
 *                -(z - sign(z) l1) / ((beta + sqrt(s)) / lr + l2)
 *                (McMahan et al. 2013, algorithm 1, with alpha = lr; lr > 0)
 * where g = scale * gradient + l2 * w, but for lamb and ftrl, which use l2 as written: scale *
 * gradient. All are lazy on rows: only touched rows move. */
enum hps_rule_kind {
    HPS_RULE_SGD, HPS_RULE_MOMENTUM, HPS_RULE_NESTEROV, HPS_RULE_ADAGRAD, HPS_RULE_ROW_ADAGRAD,
    HPS_RULE_RMSPROP, HPS_RULE_ADAM, HPS_RULE_LAMB, HPS_RULE_FTRL
};
struct hps_rule {
    enum hps_rule_kind kind;
    int nstate;                 /* floats of state a weight: 0, 1, 2              */
    int nrow;                   /* and of a row, behind those of its weights      */
    double beta1, beta2;        /* double: 1 - beta has digits to lose            */
    float lr, eps, beta;
    float l1, l2;
    float start;                /* of a sum of squares                            */
    float scale;                /* of the gradient (clipping); 1: none            */
    long long step;             /* 1-based                                        */
};

/* Floats of a row of a table: its weights, then their states, then its own. Pure. */
static inline HPS_BOTH size_t hps_rule_stride(const struct hps_rule *rule, int dim)
{
    return (size_t)dim * (size_t)(1 + rule->nstate) + (size_t)rule->nrow;
}

/* n vectors of dim, each a sum: the i-th of vectors from[start[i]] .. from[start[i+1]-1] of `row`,
 * at least one; start and from NULL: vector i itself. Device memory. */
struct hps_row_sums {
    const float *row;           /* (.., dim) */
    const int *start, *from;
};

#endif
