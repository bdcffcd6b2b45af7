/* cpu.h - what the files of the CPU backend share: work in slices, the operations by name.
 * For src/hw/dev_cpu.c and src/hw/cpu_*.c only; the meaning of each operation is in dev.h. */
#ifndef HPS_HW_CPU_H
#define HPS_HW_CPU_H

#include "base/clones.h"
#include "hw/cpu_queue.h"

#define HPS_CPU_AHEAD 12        /* rows to prefetch in front of the one in work      */
#define HPS_CPU_SHORT 16        /* the longest row whose sum is kept in registers    */

struct hps_cpu {                /* dev->state */
    void *scratch;              /* one block for an operation's partial sums, kept */
    size_t scratch_bytes;
    struct hps_cpu_queue *queue;
    float *attend;              /* a block of attention at work, kept              */
    size_t attend_floats;
    float *folded;              /* its first level's weights                       */
    size_t folded_floats;
};

/* Do what is queued, then part(job, t, n) for t = 0 .. n-1, n = dev->nthread: on n threads when
 * `work_ns`, a guess of what one thread would need, is worth waking them, else one after the other.
 * The parts are always the same, so the bits are too. Returns when all are done. */
void hps_cpu_spread(const struct hps_dev *dev, double work_ns,
                    hps_cpu_part *part, const void *job);

/* So many bytes, not zeroed, good until the next call. */
void *hps_cpu_scratch(struct hps_dev *dev, size_t bytes);

static inline void hps_cpu_fetch(const float *row, size_t dim)
{
    __builtin_prefetch(row);
    __builtin_prefetch(row + dim - 1);
}

/* call(args, dim), with the constant where dim is a usual one. */
#define HPS_CPU_WITH_DIM(dim, call, ...)                                                           \
    switch (dim) {                                                                                 \
    case 1: call(__VA_ARGS__, 1); break;                                                           \
    case 8: call(__VA_ARGS__, 8); break;                                                           \
    case 10: call(__VA_ARGS__, 10); break;                                                         \
    case 16: call(__VA_ARGS__, 16); break;                                                         \
    default: call(__VA_ARGS__, dim);                                                               \
    }

/* The i-th sum: in `room` (dim), or where it lies already. */
static inline const float *hps_cpu_row_sum(const struct hps_row_sums *s, size_t i, size_t dim,
                                           float *room)
{
    if (!s->start)
        return s->row + i * dim;
    int k = s->start[i], end = s->start[i + 1];
    const float *row = s->row + (size_t)s->from[k] * dim;
    if (++k == end)
        return row;
    float sum[HPS_CPU_SHORT], *to = dim <= HPS_CPU_SHORT ? sum : room;
    for (size_t d = 0; d < dim; d++)
        to[d] = row[d];
    for (; k < end; k++) {
        row = s->row + (size_t)s->from[k] * dim;
        if (k + HPS_CPU_AHEAD < end)
            hps_cpu_fetch(s->row + (size_t)s->from[k + HPS_CPU_AHEAD] * dim, dim);
        for (size_t d = 0; d < dim; d++)
            to[d] += row[d];
    }
    for (size_t d = 0; d < dim && dim <= HPS_CPU_SHORT; d++)
        room[d] = sum[d];
    return room;
}

/* y (B, n) = act(y + b), keeping y + b in pre (gelu). Rows of pre follow each other. */
void hps_cpu_act(enum hps_act act, size_t B, size_t n, float *y, size_t ldy, const float *b,
                 float *pre);
/* dy (B, n) *= act'; db (n) += its column sums. */
void hps_cpu_act_back(enum hps_act act, size_t B, size_t n, const float *y, size_t ldy,
                      const float *pre, float *dy, size_t lddy, float *db);

void hps_cpu_fc_forward(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                        const float *w, const float *b, struct hps_tensor y, float *pre);
void hps_cpu_fc_backward(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                         const float *w, struct hps_tensor y, const float *pre,
                         struct hps_tensor dy, struct hps_tensor dx, bool add, float *dw,
                         float *db);
double hps_cpu_gemm_s(struct hps_dev *dev, int m, int n, int k, int repeat);

void hps_cpu_copy(struct hps_dev *dev, int B, int width, const float *x, size_t ldx, float *y,
                  size_t ldy, bool add);
void hps_cpu_dropout(struct hps_dev *dev, int B, int width, float p, uint64_t key,
                     const long long *example, const float *x, size_t ldx, float *y, size_t ldy,
                     bool add);
void hps_cpu_logistic(struct hps_dev *dev, int B, struct hps_tensor x, const float *label,
                      float weight, float *score, double *loss_sum, struct hps_tensor dx,
                      bool add);
void hps_cpu_cross_entropy(struct hps_dev *dev, int B, struct hps_tensor x, const float *label,
                           float weight, float *score, double *loss_sum, struct hps_tensor dx);
void hps_cpu_squared(struct hps_dev *dev, int B, struct hps_tensor x, const float *label,
                     float weight, float *score, double *loss_sum, struct hps_tensor dx);
void hps_cpu_hinge(struct hps_dev *dev, int B, struct hps_tensor x, const float *label,
                   float margin, float weight, float *score, double *loss_sum,
                   struct hps_tensor dx);
void hps_cpu_unit(struct hps_dev *dev, int B, struct hps_tensor x, float *y, float *norm);
void hps_cpu_unit_back(struct hps_dev *dev, int B, int width, float *y, float *norm, float *dy);
void hps_cpu_pairs(struct hps_dev *dev, const struct hps_pairs *pairs, float weight, float *score,
                   double *loss_sum, float *du, float *dall);
void hps_cpu_nce(struct hps_dev *dev, int B, struct hps_tensor x, int K, float *e, float weight,
                 float *score, double *loss_sum, float *dx);
void hps_cpu_norm2(struct hps_dev *dev, size_t n, const float *x, double *sum);

void hps_cpu_act_forward(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                         struct hps_tensor y);
void hps_cpu_act_backward(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                          struct hps_tensor y, struct hps_tensor dy, struct hps_tensor dx,
                          bool add);
void hps_cpu_gate_forward(struct hps_dev *dev, int B, struct hps_tensor a, struct hps_tensor b,
                          struct hps_tensor x, struct hps_tensor y);
void hps_cpu_gate_backward(struct hps_dev *dev, int B, struct hps_tensor a, struct hps_tensor b,
                           struct hps_tensor dy, struct hps_tensor da, bool add);
void hps_cpu_cosine_forward(struct hps_dev *dev, int B, struct hps_tensor a, struct hps_tensor b,
                            struct hps_tensor y, float *keep);
void hps_cpu_cosine_backward(struct hps_dev *dev, int B, struct hps_tensor a, struct hps_tensor b,
                             struct hps_tensor y, float *keep, struct hps_tensor dy,
                             struct hps_tensor da, bool add_a, struct hps_tensor db, bool add_b);
void hps_cpu_softmax_forward(struct hps_dev *dev, int B, struct hps_tensor x, struct hps_tensor y);
void hps_cpu_softmax_backward(struct hps_dev *dev, int B, struct hps_tensor y, struct hps_tensor dy,
                              struct hps_tensor dx, bool add);
void hps_cpu_row_norm_forward(struct hps_dev *dev, int B, struct hps_tensor x, const float *gain,
                              const float *shift, float eps, struct hps_tensor y, float *keep);
void hps_cpu_row_norm_backward(struct hps_dev *dev, int B, struct hps_tensor x, const float *gain,
                               float *keep, struct hps_tensor dy, struct hps_tensor dx, bool add,
                               float *dgain, float *dshift);
void hps_cpu_moments(struct hps_dev *dev, int B, struct hps_tensor x, struct hps_tensor z,
                     double *sums);
void hps_cpu_blend(struct hps_dev *dev, int B, const float *p, struct hps_tensor x, const float *m,
                   const float *r, const float *q, struct hps_tensor z, struct hps_tensor y,
                   bool add);
void hps_cpu_dots_forward(struct hps_dev *dev, int B, int dim, bool self, int nx,
                          const struct hps_tensor *x, struct hps_tensor y);
void hps_cpu_dots_backward(struct hps_dev *dev, int B, int dim, bool self, int nx,
                           const struct hps_tensor *x, struct hps_tensor dy,
                           const struct hps_tensor *dx, const bool *add);
void hps_cpu_fm_forward(struct hps_dev *dev, int B, int dim, int nx, const struct hps_tensor *x,
                        struct hps_tensor y, float *sums);
void hps_cpu_fm_backward(struct hps_dev *dev, int B, int dim, int nx, const struct hps_tensor *x,
                         float *sums, struct hps_tensor dy, const struct hps_tensor *dx,
                         const bool *add);
void hps_cpu_attend_forward(struct hps_dev *dev, const struct hps_attend *net,
                            const struct hps_bag *bag, const float *param, const float *rows,
                            struct hps_tensor c, struct hps_tensor y);
void hps_cpu_attend_backward(struct hps_dev *dev, const struct hps_attend *net,
                             const struct hps_bag *bag, const float *param, const float *rows,
                             struct hps_tensor c, struct hps_tensor dy, float *grad,
                             struct hps_tensor dc, bool add, float *rows_grad, size_t nrow);

void hps_cpu_bag_forward(struct hps_dev *dev, const struct hps_bag *bag, int dim,
                         enum hps_pool_kind pool, enum hps_combine combine, const float *rows,
                         struct hps_tensor y);
void hps_cpu_bag_backward(struct hps_dev *dev, const struct hps_bag *bag, int dim,
                          enum hps_pool_kind pool, enum hps_combine combine,
                          struct hps_tensor dy, float *rows_grad, size_t nrow, bool add);

void hps_cpu_update(struct hps_dev *dev, const struct hps_rule *rule, size_t n, float *param,
                    float *grad, float *state);
void hps_cpu_rows_apply(struct hps_dev *dev, const struct hps_rule *rule, float *table,
                        size_t stride, int dim, size_t n, const int *at,
                        const struct hps_row_sums *grad);
void hps_cpu_rows_gather(struct hps_dev *dev, const float *table, size_t stride, int dim,
                         size_t n, const int *at, float *out);
void hps_cpu_rows_sum(struct hps_dev *dev, int dim, size_t n, const struct hps_row_sums *sums,
                      float *to);

#endif
