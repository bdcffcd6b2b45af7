/* rule.h - the update rules of optimisers: what one step does to one weight. The CPU's loops and
 * the GPU's kernels are made of these functions: a rule is written once. C and CUDA C read it
 * alike. */
#ifndef HPS_HW_RULE_H
#define HPS_HW_RULE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/both.h"

/* An update rule with the numbers of one step. The states are stored beside the weights.
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
 * where g = scale * gradient + l2 * w; for lamb and ftrl g = scale * gradient, and l2 is where
 * their formula has it. All are lazy on rows: only touched rows are updated.
 *
 * The list of rules: one(NAME, word of the deck, states of a weight, states of a row, whether the
 * first state is a sum of squares that starts as the deck says). */
#define HPS_RULES(one)                                                                             \
    one(SGD, "sgd", 0, 0, false)                                                                   \
    one(MOMENTUM, "momentum", 1, 0, false)                                                         \
    one(NESTEROV, "nesterov", 1, 0, false)                                                         \
    one(ADAGRAD, "adagrad", 1, 0, true)                                                            \
    one(ROW_ADAGRAD, "row_adagrad", 0, 1, true)                                                    \
    one(RMSPROP, "rmsprop", 1, 0, false)                                                           \
    one(ADAM, "adam", 2, 0, false)                                                                 \
    one(LAMB, "lamb", 2, 0, false)                                                                 \
    one(FTRL, "ftrl", 2, 0, true)

#define HPS_RULE_NAME(name, ...) HPS_RULE_##name,
enum hps_rule_kind { HPS_RULES(HPS_RULE_NAME) };
#undef HPS_RULE_NAME
#define HPS_RULE_ONE(...) + 1
enum { HPS_NRULE = 0 HPS_RULES(HPS_RULE_ONE) };
#undef HPS_RULE_ONE

/* The words that a deck may have (nesterov is momentum with a key). */
#define HPS_RULE_WORDS "sgd|momentum|adagrad|row_adagrad|rmsprop|adam|lamb|ftrl"
/* The rules that update each weight by itself: they have a case in hps_rule_moved. */
#define HPS_RULES_ALONE(one)                                                                       \
    one(SGD) one(MOMENTUM) one(NESTEROV) one(ADAGRAD) one(RMSPROP) one(ADAM) one(FTRL)

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
    int application;            /* of several in this step, from 0: roundings by chance
                                   (hw/row_format.h) are drawn for each           */
};

/* Floats of a row of a table: its weights, then their states, then its own. Pure. */
static inline HPS_BOTH size_t hps_rule_stride(const struct hps_rule *rule, int dim)
{
    return (size_t)dim * (size_t)(1 + rule->nstate) + (size_t)rule->nrow;
}

/* A rule with the numbers that all weights of a step share. */
struct hps_rule_step {
    float lr, eps, l1, l2, scale, beta, per_lr;
    float keep1, take1, rise1;  /* beta1, 1 - beta1, 1 / (1 - beta1^step): the bias correction */
    float keep2, take2, rise2;  /* the same of beta2 */
    enum hps_rule_kind kind;
};

static inline struct hps_rule_step hps_rule_prepare(const struct hps_rule *r)
{
    double b1 = r->beta1, b2 = r->beta2, step = (double)r->step;
    bool adam = r->kind == HPS_RULE_ADAM, corrected = adam || r->kind == HPS_RULE_LAMB;
    struct hps_rule_step k;

    k.kind = r->kind;
    k.lr = adam ? (float)((double)r->lr / (1 - pow(b1, step))) : r->lr;
    k.eps = r->eps;
    k.l1 = r->l1;
    k.l2 = r->l2;
    k.scale = r->scale;
    k.beta = r->beta;
    k.per_lr = r->kind == HPS_RULE_FTRL ? (float)(1 / (double)r->lr) : 0;
    k.keep1 = (float)b1;
    k.keep2 = (float)b2;
    k.take1 = (float)(1 - b1);
    k.take2 = (float)(1 - b2);
    k.rise1 = corrected ? (float)(1 / (1 - pow(b1, step))) : 0;
    k.rise2 = corrected ? (float)(1 / (1 - pow(b2, step))) : 0;
    return k;
}

/* The gradient of a weight with scale and l2. */
HPS_BOTH_INLINE float hps_rule_slope(const struct hps_rule_step *k, float w, float g)
{
    return k->scale * g + k->l2 * w;
}

HPS_BOTH_INLINE float hps_rule_ftrl(const struct hps_rule_step *k, float w, float g, float *s,
                                    float *z)
{
    float d = k->scale * g, sum = *s + d * d, root = sqrtf(sum);
    float pull = *z + d - (root - sqrtf(*s)) * k->per_lr * w;
    float over = fabsf(pull) - k->l1, stiff = (k->beta + root) * k->per_lr + k->l2;

    *s = sum;
    *z = pull;
    return over > 0 ? -copysignf(over, pull) / stiff : 0.0f;
}

/* The new weight of rules that update each weight by itself; s, z: its states, as many as the rule
 * has. `kind` is k->kind, as a constant where a loop is to be fast. */
HPS_BOTH_INLINE float hps_rule_moved(const struct hps_rule_step *k, enum hps_rule_kind kind,
                                     float w, float g, float *s, float *z)
{
    float d = hps_rule_slope(k, w, g);

    switch (kind) {
    case HPS_RULE_MOMENTUM:
        *s = k->keep1 * *s + d;
        return w - k->lr * *s;
    case HPS_RULE_NESTEROV:
        *s = k->keep1 * *s + d;
        return w - k->lr * (d + k->keep1 * *s);
    case HPS_RULE_ADAGRAD:
        *s += d * d;
        return w - k->lr * d / (sqrtf(*s) + k->eps);
    case HPS_RULE_RMSPROP:
        *s = k->keep2 * *s + k->take2 * d * d;
        return w - k->lr * d / (sqrtf(*s) + k->eps);
    case HPS_RULE_ADAM:
        *s = k->keep1 * *s + k->take1 * d;
        *z = k->keep2 * *z + k->take2 * d * d;
        return w - k->lr * *s / (sqrtf(*z * k->rise2) + k->eps);
    case HPS_RULE_FTRL: return hps_rule_ftrl(k, w, g, s, z);
    case HPS_RULE_ROW_ADAGRAD: case HPS_RULE_LAMB:      /* not by itself */
    case HPS_RULE_SGD: break;
    }
    return w - k->lr * d;
}

/* ---- lamb, whose rate needs the norms of all weights and updates ---- */

/* The update of a weight without rate and ratio. */
HPS_BOTH_INLINE float hps_rule_lamb_move(const struct hps_rule_step *k, float w, float m, float v)
{
    return k->rise1 * m / (sqrtf(v * k->rise2) + k->eps) + k->l2 * w;
}

/* Update the means of a weight; returns its update. */
HPS_BOTH_INLINE float hps_rule_lamb_mean(const struct hps_rule_step *k, float w, float g, float *m,
                                         float *v)
{
    float d = k->scale * g;

    *m = k->keep1 * *m + k->take1 * d;
    *v = k->keep2 * *v + k->take2 * d * d;
    return hps_rule_lamb_move(k, w, *m, *v);
}

/* The rate, from the sums of squares of weights (ww) and updates (uu). */
HPS_BOTH_INLINE float hps_rule_lamb_rate(const struct hps_rule_step *k, double ww, double uu)
{
    return ww > 0 && uu > 0 ? (float)((double)k->lr * sqrt(ww / uu)) : k->lr;
}

#endif
