/* dev.h - the device interface: what a backend must do, and the list of devices of this build.
 *
 * A backend is a constant table of functions over one device. Pointers called `device` memory come
 * from ops->alloc and are touched by ops only; on the CPU backend they are plain memory (dev->host
 * is true). Operations are queued in order on the device's one stream and may return before they
 * are done; ops->sync waits. Sizes: B rows (examples), ld = distance of rows in floats (ld >=
 * width). Matrices are row-major; B = 0 does nothing. What goes in and what comes out do not
 * overlap unless said.
 * Nothing here allocates inside an operation, but for scratch that is kept. All are Local. The same
 * call on the same inputs with the same number of threads gives the same bits. */
#ifndef HPS_HW_DEV_H
#define HPS_HW_DEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/say.h"

struct hps_dev_ops;

struct hps_dev {
    const struct hps_dev_ops *ops;
    bool host;                  /* device memory is host memory          */
    int nthread;                /* CPU: threads of this rank             */
    double slow;                /* emulation: computation lasts this many times as long (>= 1),
                                   the rest slept: applied by train/step and plan/measure,
                                   never in here                         */
    void *state;                /* the backend's own                     */
};

/* A matrix view: (B, width) float on the device. */
struct hps_tensor {
    float *data;                /* NULL: not there (an unwanted gradient) */
    size_t ld;
    int width;
};

enum hps_act { HPS_ACT_NONE, HPS_ACT_RELU, HPS_ACT_SIGMOID, HPS_ACT_TANH, HPS_ACT_GELU };

/* One bag of ids per example and slot, already translated to positions in a compact array of rows.
 *   index  (nid)           row position of each id: by slot, then example, then place in the bag
 *   offset (nslot*B + 1)   where the bag of (slot, example) starts: offset[slot * B + b]
 * `single`: every bag holds exactly one id, nid = nslot*B, and offset may be NULL.
 * The same by row, host memory, NULL where nobody made it: row position place[i], all different, is
 * in the bags (b * nslot + slot) from[start[i] .. start[i+1]-1], in the order of the ids. One of
 * the two, place or index, may be NULL.
 * Rows that are read where they lie: that of position p is number at[p] of rows `stride` floats
 * apart, or where at[p] < 0 number p of those at `far`, dim floats apart; at NULL: number p of rows
 * dim floats apart. */
struct hps_bag {
    int nslot, B;
    size_t nid;
    const int *index;
    const int *offset;
    bool single;
    size_t nplace;
    const int *place;           /* (nplace)     */
    const int *start;           /* (nplace + 1) */
    const int *from;
    const int *at;
    size_t stride;
    const float *far;
};
enum hps_pool_kind { HPS_POOL_SUM, HPS_POOL_MEAN };       /* inside a slot  */
enum hps_combine { HPS_COMBINE_CONCAT, HPS_COMBINE_SUM }; /* over the slots */

/* Rows of a micro-batch held against the others: row b of mine is row first + b of all. Where label
 * is above 0.5 it takes `negatives` others, all different, by permutation of (key, example); all of
 * them where they are no more. */
struct hps_pairs {
    int B, rows, first, width;
    const float *u;             /* (B, width)    */
    const float *all;           /* (rows, width) */
    const float *label;         /* (B)           */
    const long long *example;   /* (B)           */
    int negatives;
    uint64_t key;
    float margin;
};

/* The net that weighs the rows of a bag against a candidate: from 4*dim features to hidden widths
 * to one score; `act` (none, relu, sigmoid, tanh) behind every hidden one. Its weights: for each
 * level w (in, out), then b (out). */
#define HPS_ATTEND_HIDDEN 8     /* most hidden levels */
struct hps_attend {
    int dim, nhidden;
    const int *hidden;          /* (nhidden) */
    enum hps_act act;
    bool softmax;
};

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
static inline size_t hps_rule_stride(const struct hps_rule *rule, int dim)
{
    return (size_t)dim * (size_t)(1 + rule->nstate) + (size_t)rule->nrow;
}

/* n vectors of dim, each a sum: the i-th of vectors from[start[i]] .. from[start[i+1]-1] of `row`,
 * at least one; start and from NULL: vector i itself. Device memory. */
struct hps_row_sums {
    const float *row;           /* (.., dim) */
    const int *start, *from;
};

struct hps_dev_ops {
    const char *name;           /* "cpu", "cuda"                       */

    /* Open the `local`-th device this rank may use with `nthread` CPU threads; sets all of *dev
     * (slow = 1). HPS_FAIL with a message. */
    enum hps_status (*open)(struct hps_dev *dev, int local, int nthread);
    void (*close)(struct hps_dev *dev);

    /* alloc gives zeroed memory; no memory ends the run, said with the size. free takes NULL. */
    void *(*alloc)(struct hps_dev *dev, size_t bytes);
    void (*free)(struct hps_dev *dev, void *p);
    void (*put)(struct hps_dev *dev, void *to, const void *from_host, size_t bytes);
    void (*get)(struct hps_dev *dev, void *to_host, const void *from, size_t bytes);
    void (*zero)(struct hps_dev *dev, void *p, size_t bytes);
    void (*sync)(struct hps_dev *dev);

    /* Fully connected: y = act(x w + b);  x (B, in), w (in, out), b (out), y (B, out). gelu (the
     * exact x * Phi(x)) also keeps `pre` (B, out), contiguous: x w + b; the others ignore it. With
     * none, b and db may be NULL: there is none. */
    void (*fc_forward)(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                       const float *w, const float *b, struct hps_tensor y, float *pre);
    /* Its derivative. dy (B, out) is overwritten by dy * act'(y). dw, db are added to. dx: data
     * NULL = not wanted; `add`: add to dx, else overwrite. act' comes from y for none, relu,
     * sigmoid, tanh; gelu needs `pre`, which fc_forward kept. y is not looked at for none. */
    void (*fc_backward)(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                        const float *w, struct hps_tensor y, const float *pre,
                        struct hps_tensor dy, struct hps_tensor dx, bool add, float *dw,
                        float *db);

    /* y = x or y += x, element by element (concat, add, relay are made of this). */
    void (*copy)(struct hps_dev *dev, int B, int width, const float *x, size_t ldx, float *y,
                 size_t ldy, bool add);

    /* Inverted dropout: y = x * keep/(1-p), 0 <= p < 1; element (b, c) is kept when
     * unit(key, example[b]*width + c) >= p. Backward is the same call on gradients. `example` (B)
     * lies on the device. y may be x. */
    void (*dropout)(struct hps_dev *dev, int B, int width, float p, uint64_t key,
                    const long long *example, const float *x, size_t ldx, float *y, size_t ldy,
                    bool add);

    /* y = act(x), element by element; dx (+)= dy * act'(x), from x and y. */
    void (*act_forward)(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                        struct hps_tensor y);
    void (*act_backward)(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                         struct hps_tensor y, struct hps_tensor dy, struct hps_tensor dx,
                         bool add);
    /* y = a * b + x, element by element. Backward: da (+)= dy * b, then b is overwritten by its own
     * gradient dy * a. da may be the memory of neither. */
    void (*gate_forward)(struct hps_dev *dev, int B, struct hps_tensor a, struct hps_tensor b,
                         struct hps_tensor x, struct hps_tensor y);
    void (*gate_backward)(struct hps_dev *dev, int B, struct hps_tensor a, struct hps_tensor b,
                          struct hps_tensor dy, struct hps_tensor da, bool add);
    /* y (B, 1) = a . b / (|a| |b|), |a|^2 = a . a + 1e-12; keep (B, 2) gets 1/|a|, 1/|b|. Unwanted
     * gradients have data NULL. */
    void (*cosine_forward)(struct hps_dev *dev, int B, struct hps_tensor a, struct hps_tensor b,
                           struct hps_tensor y, float *keep);
    void (*cosine_backward)(struct hps_dev *dev, int B, struct hps_tensor a, struct hps_tensor b,
                            struct hps_tensor y, float *keep, struct hps_tensor dy,
                            struct hps_tensor da, bool add_a, struct hps_tensor db, bool add_b);
    /* Of each row: y = exp(x) / sum exp(x), without overflow; dx (+)= y * (dy - y . dy). */
    void (*softmax_forward)(struct hps_dev *dev, int B, struct hps_tensor x, struct hps_tensor y);
    void (*softmax_backward)(struct hps_dev *dev, int B, struct hps_tensor y,
                             struct hps_tensor dy, struct hps_tensor dx, bool add);
    /* Of each row: y = gain * (x - mean) / sqrt(variance + eps) + shift (Ba, Kiros, Hinton 2016);
     * gain, shift (width); keep (B, 2). dgain, dshift are added to. */
    void (*row_norm_forward)(struct hps_dev *dev, int B, struct hps_tensor x, const float *gain,
                             const float *shift, float eps, struct hps_tensor y, float *keep);
    void (*row_norm_backward)(struct hps_dev *dev, int B, struct hps_tensor x, const float *gain,
                              float *keep, struct hps_tensor dy, struct hps_tensor dx, bool add,
                              float *dgain, float *dshift);
    /* Of each column: sums (2, width), host = sum of x, sum of x * z. Waits. */
    void (*moments)(struct hps_dev *dev, int B, struct hps_tensor x, struct hps_tensor z,
                    double *sums);
    /* Of each column: y (+)= p * (x - m) + r + q * z; p, m, r, q (width) host memory, read before
     * this returns; z.data NULL: without. */
    void (*blend)(struct hps_dev *dev, int B, const float *p, struct hps_tensor x, const float *m,
                  const float *r, const float *q, struct hps_tensor z, struct hps_tensor y,
                  bool add);

    /* The n vectors v of dim that the tensors x (nx), each (B, some * dim), make side by side.
     * dots: y (B, n(n-1)/2) = v_i . v_j, j < i, row after row of the triangle; `self`: j <= i,
     * n(n+1)/2 of them. Gradients (nx) as for a layer. */
    void (*dots_forward)(struct hps_dev *dev, int B, int dim, bool self, int nx,
                         const struct hps_tensor *x, struct hps_tensor y);
    void (*dots_backward)(struct hps_dev *dev, int B, int dim, bool self, int nx,
                          const struct hps_tensor *x, struct hps_tensor dy,
                          const struct hps_tensor *dx, const bool *add);
    /* fm: y (B, dim) = sum over j < i of v_i * v_j, number by number, or (B, 1): the sum of
     * those (Rendle 2010); sums (B, dim) from forward to backward. */
    void (*fm_forward)(struct hps_dev *dev, int B, int dim, int nx, const struct hps_tensor *x,
                       struct hps_tensor y, float *sums);
    void (*fm_backward)(struct hps_dev *dev, int B, int dim, int nx, const struct hps_tensor *x,
                        float *sums, struct hps_tensor dy, const struct hps_tensor *dx,
                        const bool *add);

    /* Bags of rows: y (B, nslot*dim) or (B, dim) from rows (nrow, dim); an empty bag gives 0. */
    void (*bag_forward)(struct hps_dev *dev, const struct hps_bag *bag, int dim,
                        enum hps_pool_kind pool, enum hps_combine combine, const float *rows,
                        struct hps_tensor y);
    /* rows_grad (nrow, dim): `add`, or else all of it is overwritten. Every row's sum is made in
     * the order of the ids. */
    void (*bag_backward)(struct hps_dev *dev, const struct hps_bag *bag, int dim,
                         enum hps_pool_kind pool, enum hps_combine combine, struct hps_tensor dy,
                         float *rows_grad, size_t nrow, bool add);

    /* Attention over the bags of one slot: y (B, dim) = sum of weight * row, the weights from a net
     * on (c, row, c - row, c * row) with the candidate c (B, dim); softmax: exp(score / sqrt(dim))
     * / sum of them in the bag, else the score itself (Zhou et al. 2018). An empty bag gives 0.
     * grad (as the weights) and rows_grad are added to; rows in the order of the ids. */
    void (*attend_forward)(struct hps_dev *dev, const struct hps_attend *net,
                           const struct hps_bag *bag, const float *param, const float *rows,
                           struct hps_tensor c, struct hps_tensor y);
    void (*attend_backward)(struct hps_dev *dev, const struct hps_attend *net,
                            const struct hps_bag *bag, const float *param, const float *rows,
                            struct hps_tensor c, struct hps_tensor dy, float *grad,
                            struct hps_tensor dc, bool add, float *rows_grad, size_t nrow);

    /* Logistic loss on one logit a row: p = 1/(1+exp(-x)); loss = -(t log p + (1-t) log(1-p)),
     * computed without overflow. score (B; NULL: not wanted) gets p; *loss_sum (device double) is
     * added the sum of losses; dx (B,1) = (p - t) * weight. dx.data NULL: forward only. A NaN in
     * gives NaN out. */
    void (*logistic)(struct hps_dev *dev, int B, struct hps_tensor x, const float *label,
                     float weight, float *score, double *loss_sum, struct hps_tensor dx, bool add);

    /* The others have weight, score, loss_sum and dx as logistic, but dx is overwritten.
     * cross_entropy: -log softmax(x)[label], x (B, C), label a whole number in 0..C-1 (else NaN).
     * score: the chance of class 1 where C = 2, else the likeliest class (the first of equals).
     * squared: (x - label)^2, x (B, 1). score: x.
     * hinge: max(0, margin - t x), t = 1 where label is above 0.5, else -1. score: x. */
    void (*cross_entropy)(struct hps_dev *dev, int B, struct hps_tensor x, const float *label,
                          float weight, float *score, double *loss_sum, struct hps_tensor dx);
    void (*squared)(struct hps_dev *dev, int B, struct hps_tensor x, const float *label,
                    float weight, float *score, double *loss_sum, struct hps_tensor dx);
    void (*hinge)(struct hps_dev *dev, int B, struct hps_tensor x, const float *label,
                  float margin, float weight, float *score, double *loss_sum,
                  struct hps_tensor dx);
    /* Rows of length 1: y (B, width) = x / norm, norm (B) = sqrt(x.x + 1e-12). Back: dy
     * (B, width) becomes dx = (dy - (y . dy) y) / norm. */
    void (*unit)(struct hps_dev *dev, int B, struct hps_tensor x, float *y, float *norm);
    void (*unit_back)(struct hps_dev *dev, int B, int width, float *y, float *norm, float *dy);
    /* Hinge between rows: the mean over row b's others o of max(0, margin - u[b].all[b] +
     * u[b].all[o]). score: u[b].all[b]. du (B, width), dall (rows, width) are overwritten; NULL:
     * not wanted. */
    void (*pairs)(struct hps_dev *dev, const struct hps_pairs *pairs, float weight, float *score,
                  double *loss_sum, float *du, float *dall);
    /* Noise-contrastive estimation (Gutmann and Hyvarinen 2010; Mnih and Teh 2012) of x (B, D)
     * over K classes: e (B, K, D + 1) are their weights and biases, the one that was seen, then K -
     * 1 drawn as noise. With f = x.w + b, the log of how much likelier than noise a class is, and o
     * = f - log(K - 1): loss = -log s(o) of the seen one - sum of log s(-o) of the others, s the
     * logistic function. score: f of the seen one. dx (B, D) NULL: forward only; else e becomes its
     * gradient. */
    void (*nce)(struct hps_dev *dev, int B, struct hps_tensor x, int K, float *e, float weight,
                float *score, double *loss_sum, float *dx);

    /* Dense update: param (n), grad (n), state (nstate, n) planes. grad is zeroed in the same
     * pass. */
    void (*update)(struct hps_dev *dev, const struct hps_rule *rule, size_t n, float *param,
                   float *grad, float *state);
    /* Rows of a table, `stride` floats apart: hps_rule_stride floats each.
     * gather: out (n, dim) = weights of rows at[i]. apply: the rule on rows at[i] with the i-th
     * gradient; at is distinct. */
    void (*rows_gather)(struct hps_dev *dev, const float *table, size_t stride, int dim, size_t n,
                        const int *at, float *out);
    void (*rows_apply)(struct hps_dev *dev, const struct hps_rule *rule, float *table,
                       size_t stride, int dim, size_t n, const int *at,
                       const struct hps_row_sums *grad);
    /* to (n, dim) = the sums, each in its order. */
    void (*rows_sum)(struct hps_dev *dev, int dim, size_t n, const struct hps_row_sums *sums,
                     float *to);

    /* *sum (host) = sum of squares of x (n), in double, deterministic. Waits. */
    void (*norm2)(struct hps_dev *dev, size_t n, const float *x, double *sum);

    /* Micro-benchmark: seconds of one C(m,n) += A(m,k) B(k,n), the median of `repeat` after one to
     * warm up, for the roofline. Waits. */
    double (*gemm_s)(struct hps_dev *dev, int m, int n, int k, int repeat);
};

extern const struct hps_dev_ops hps_dev_cpu;

/* The backend called `name`, NULL when this build has none. */
const struct hps_dev_ops *hps_dev_find(const char *name);

/* The BLAS uses no threads of its own from now on: ours call it, and what it computes does not
 * depend on how many it would have had. Local. */
void hps_dev_blas_alone(void);

#endif
