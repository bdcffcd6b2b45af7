/* kern.h - the launchers of the CUDA kernels: C functions that queue kernels on a stream (a
 * cudaStream_t) and return a cudaError_t as an int. Pointers are device memory unless said; structs
 * are passed by value. What an operation computes is said in hw/dense_ops.h, hw/row_ops.h and
 * hw/op_*.h under its name; operations of several kernels are assembled in cuda_*.c. `scratch` is
 * the caller's memory. Local. */
#ifndef HPS_HW_KERN_H
#define HPS_HW_KERN_H

#include "hw/lookup.h"
#include "hw/op_batch_norm.h"
#include "hw/op_cosine.h"
#include "hw/op_in_batch.h"
#include "hw/op_layer_norm.h"
#include "hw/op_loss.h"
#include "hw/rule.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sums have two levels: over blocks of so many numbers (or rows), then over the blocks. The scratch
 * of a sum over n numbers is hps_kern_sum_blocks(n) doubles, that of column sums over B rows is
 * hps_kern_column_blocks(B) rows. Pure. */
#define HPS_KERN_SUM_BLOCK ((size_t)2048)
#define HPS_KERN_COLUMN_BLOCK ((size_t)512)
static inline size_t hps_kern_sum_blocks(size_t n) { return n / HPS_KERN_SUM_BLOCK + 1; }
static inline size_t hps_kern_column_blocks(size_t B) { return B / HPS_KERN_COLUMN_BLOCK + 1; }

/* The same for sums by key over n pairs sorted by key: floats of scratch. Pure. */
#define HPS_KERN_SORTED_BLOCK ((size_t)64)
static inline size_t hps_kern_partial_floats(size_t n, int dim)
{
    return 2 * (n / HPS_KERN_SORTED_BLOCK + 1) * (size_t)dim;
}

/* ---- kern_map.cu: element by element ---- */

int hps_kern_copy(void *stream, int B, struct hps_tensor x, struct hps_tensor y);
int hps_kern_dropout(void *stream, int B, float p, uint64_t key, const long long *example,
                     struct hps_tensor x, struct hps_tensor y);
int hps_kern_act(void *stream, enum hps_act act, int B, struct hps_tensor x, struct hps_tensor y);
int hps_kern_act_back(void *stream, enum hps_act act, int B, struct hps_tensor x,
                      struct hps_tensor y, struct hps_tensor dy, struct hps_tensor dx);
/* y = act(y + b), b (width) or NULL; pre (B, width): y + b for gelu, else NULL. */
int hps_kern_bias_act(void *stream, enum hps_act act, int B, struct hps_tensor y, const float *b,
                      float *pre);
int hps_kern_reduce(void *stream, int k, size_t n, const float *part, float *to);
int hps_kern_reduce_doubles(void *stream, int k, size_t n, const double *part, double *to);
int hps_kern_scale(void *stream, int B, float by, struct hps_tensor x, struct hps_tensor y);

/* ---- kern_row.cu: row by row ---- */

int hps_kern_cosine(void *stream, struct hps_cosine c);
int hps_kern_cosine_back(void *stream, struct hps_cosine c, struct hps_tensor dy,
                         struct hps_tensor da, struct hps_tensor db);
int hps_kern_softmax(void *stream, int B, struct hps_tensor x, struct hps_tensor y);
int hps_kern_softmax_back(void *stream, int B, struct hps_tensor y, struct hps_tensor dy,
                          struct hps_tensor dx);
int hps_kern_layer_norm(void *stream, struct hps_layer_norm norm, struct hps_tensor y);
int hps_kern_layer_norm_back(void *stream, struct hps_layer_norm norm, struct hps_tensor dy,
                             struct hps_tensor dx);
int hps_kern_l2_normalise(void *stream, int B, struct hps_tensor x, float *y, float *norm);
int hps_kern_l2_normalise_back(void *stream, int B, int width, const float *y, const float *norm,
                               float *dy);

/* ---- kern_sum.cu ---- */

/* to (width) += column sums of x; scratch: hps_kern_column_blocks(B) * width floats. */
int hps_kern_column_sums(void *stream, int B, struct hps_tensor x, float *scratch, float *to);
/* dgain, dshift += the gradients of a layer norm; scratch as above, used twice. */
int hps_kern_layer_norm_sums(void *stream, struct hps_layer_norm norm, struct hps_tensor dy,
                             float *scratch, float *dgain, float *dshift);
/* *sum = sum of squares of x; *sum += sum of x. scratch: hps_kern_sum_blocks(n) doubles. */
int hps_kern_squares(void *stream, size_t n, const float *x, double *scratch, double *sum);
int hps_kern_total(void *stream, size_t n, const double *x, double *scratch, double *sum);

/* ---- kern_norm.cu: batch norm ---- */

/* scratch: 2 * hps_kern_column_blocks(B) * width doubles. */
int hps_kern_moments(void *stream, int B, struct hps_tensor x, struct hps_tensor z, double *scratch,
                     double *sums);
int hps_kern_norm(void *stream, struct hps_batch_norm norm, const double *sums, float *running,
                  float *p);
int hps_kern_norm_gradients(void *stream, struct hps_batch_norm norm, double *sums, float *dgain,
                            float *dshift);
int hps_kern_norm_back(void *stream, struct hps_batch_norm norm, const double *sums, float *p,
                       float *r, float *q);
int hps_kern_blend(void *stream, int B, struct hps_blend blend, struct hps_tensor y);

/* ---- kern_dots.cu: the n vectors of an example side by side ---- */

struct hps_kern_vectors {
    int B, n, dim;
    const float *v;             /* (B, n * dim) */
};
int hps_kern_dots(void *stream, struct hps_kern_vectors v, bool self, struct hps_tensor y);
int hps_kern_dots_back(void *stream, struct hps_kern_vectors v, bool self, struct hps_tensor dy,
                       float *dv);
int hps_kern_fm(void *stream, struct hps_kern_vectors v, struct hps_tensor y, float *sums);
int hps_kern_fm_back(void *stream, int B, int dim, struct hps_tensor x, const float *sums,
                     struct hps_tensor dy, struct hps_tensor dx);

/* ---- kern_bag.cu ---- */

/* The part of a lookup by index that a kernel needs; all arrays are device memory. */
struct hps_kern_bags {
    int nslot, B;
    size_t nid;
    const int *offset;          /* (nslot * B + 1); not read where `single` */
    bool single;
    const int *index;           /* (nid) unique row index of each id        */
    struct hps_rows rows;
};
static inline struct hps_kern_bags hps_kern_bags_of(const struct hps_lookup *lookup)
{
    struct hps_kern_bags bags = { lookup->nslot,  lookup->B,        lookup->nid, lookup->offset,
                                  lookup->single, lookup->of.index, lookup->rows };
    return bags;
}
struct hps_kern_pool {
    int dim;
    bool mean;                  /* inside a slot; else the sum          */
    bool concat;                /* over the slots; else the sum         */
};
int hps_kern_bag(void *stream, struct hps_kern_bags bag, struct hps_kern_pool pool,
                 struct hps_tensor y);
/* of (nid) = the number of each id's bag, slot * B + example; nth (nid) = 0, 1, ... */
int hps_kern_bag_numbers(void *stream, struct hps_kern_bags bag, int *of, int *nth);
/* Stable sort of pairs by key. temp NULL: sets *bytes of scratch that n pairs need. */
struct hps_kern_sort {
    size_t n;
    const int *key, *value;
    int *key_out, *value_out;
};
int hps_kern_sort(void *stream, const struct hps_kern_sort *sort, void *temp, size_t *bytes);
/* rows_grad += the gradients of the bags' rows, summed in the order of the sorted ids. */
struct hps_kern_sorted {
    const int *key;             /* (nid) unique row indices, ascending               */
    const int *nth;             /* (nid) the number of the id before the sort        */
    const int *of;              /* (nid) as made by hps_kern_bag_numbers             */
    float *partial;               /* hps_kern_partial_floats(nid, dim) floats of scratch       */
};
int hps_kern_bag_back(void *stream, struct hps_kern_bags bag, struct hps_kern_pool pool,
                      struct hps_kern_sorted ids, struct hps_tensor dy, float *rows_grad);

/* ---- kern_rule.cu: tables and rules ---- */

int hps_kern_gather(void *stream, const float *table, struct hps_row_list rows, float *out);
int hps_kern_rows_move(void *stream, size_t stride, size_t n, const int *from_at,
                       const float *from, const int *to_at, float *to);
int hps_kern_rows_sum(void *stream, int dim, size_t n, struct hps_row_sums sums, float *to);
int hps_kern_rows_apply(void *stream, struct hps_rule rule, float *table, struct hps_row_list rows,
                        struct hps_row_sums grad);
/* scratch: 2 * hps_kern_sum_blocks(n) + 2 doubles (lamb). */
int hps_kern_update(void *stream, struct hps_rule rule, size_t n, float *param, float *grad,
                    float *state, size_t plane, double *scratch);

/* ---- kern_loss.cu: losses (B) [out] the loss of each row ---- */

int hps_kern_logistic(void *stream, struct hps_loss loss, double *losses);
int hps_kern_cross_entropy(void *stream, struct hps_loss loss, double *losses);
int hps_kern_squared(void *stream, struct hps_loss loss, double *losses);
int hps_kern_hinge(void *stream, struct hps_loss loss, float margin, double *losses);
int hps_kern_nce(void *stream, struct hps_loss loss, int K, float *e, double *losses);

/* In-batch negatives: each row with its own item, then with n - 1 others. */
struct hps_kern_pairs {
    struct hps_in_batch p;
    int n;
    int *at;                    /* (B, n) the row of `all`                 */
    float *force;               /* (B, n) derivative by the dot product    */
};
/* Fills at and force. */
int hps_kern_pairs(void *stream, struct hps_kern_pairs pairs, float weight, float *score,
                   double *losses);
int hps_kern_pairs_du(void *stream, struct hps_kern_pairs pairs, float *du);
/* dall += the gradients. key, nth (B * n): `at` sorted, and the number of each before the sort;
 * partial: hps_kern_partial_floats(B * n, width) floats. */
int hps_kern_pairs_dall(void *stream, struct hps_kern_pairs pairs, const int *key, const int *nth,
                        float *partial, float *dall);
int hps_kern_count_up(void *stream, size_t n, int *to);        /* to[i] = i */

/* ---- kern_attend.cu: attention, for the ids first .. first + n - 1 of the bags ---- */

struct hps_kern_attend {
    struct hps_kern_bags bag;
    int dim;
    const int *of;              /* (nid) the example of each id */
    struct hps_tensor c;
};
/* f (n, 4 dim) = candidate, row, their difference, their product. */
int hps_kern_features(void *stream, struct hps_kern_attend a, size_t first, size_t n, float *f);
/* weight (nid) from score (nid), for all bags. */
int hps_kern_attend_weights(void *stream, struct hps_kern_bags bag, int dim, bool softmax,
                            const float *score, float *weight);
int hps_kern_attend_pool(void *stream, struct hps_kern_bags bag, int dim, const float *weight,
                         struct hps_tensor y);
/* dscore (nid), drow (nid, dim) from dy. */
int hps_kern_attend_pool_back(void *stream, struct hps_kern_attend a, bool softmax,
                              const float *weight, struct hps_tensor dy, float *dscore,
                              float *drow);
/* From df (n, 4 dim): drow +=, dcand (nid, dim) =. */
int hps_kern_features_back(void *stream, struct hps_kern_attend a, size_t first, size_t n,
                           const float *df, float *drow, float *dcand);
/* dc (+)= the sum of dcand over each bag. */
int hps_kern_candidates(void *stream, struct hps_kern_bags bag, int dim, const float *dcand,
                        struct hps_tensor dc);

#ifdef __cplusplus
}
#endif
#endif
