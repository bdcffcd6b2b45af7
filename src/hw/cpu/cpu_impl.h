/* cpu_impl.h - what the sources of the CPU backend share: its state, parallel-for, sums of rows,
 * and the operations whose tables are in dev_cpu.c. What an operation computes is said in
 * hw/dense_ops.h, hw/row_ops.h and hw/op_*.h. */
#ifndef HPS_HW_CPU_CPU_IMPL_H
#define HPS_HW_CPU_CPU_IMPL_H

#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/multiversion.h"
#include "hw/cpu_queue.h"

#define HPS_CPU_PREFETCH 24     /* rows that are prefetched ahead                    */
#define HPS_CPU_SHORT 16        /* the longest row whose sum is kept in registers    */

struct hps_cpu {                /* dev->state */
    void *scratch;              /* of one operation, see hps_cpu_scratch           */
    size_t scratch_bytes;
    struct hps_cpu_queue *queue;
    char *block;                /* see hps_cpu_block_scratch                       */
    size_t block_bytes;         /* of all threads                                  */
    float *attend;              /* scratch of an attention                         */
    size_t attend_floats;
    float *combined;            /* its first layer's weights, see cpu_attend.c     */
    size_t combined_floats;
};

/* Execute the queue, then task(job, t, n) for t = 0 .. n - 1, n = dev->nthread: on n threads where
 * `work_ns`, a guess of the time of one thread, is worth waking them, else in a loop. The tasks are
 * the same in both cases, and so are the bits. Returns when all are done. */
void hps_cpu_parallel_for(const struct hps_dev *dev, double work_ns,
                          hps_cpu_task *task, const void *job);

/* Scratch memory, not zeroed, valid until the next call. */
void *hps_cpu_scratch(struct hps_dev *dev, size_t bytes);

/* Scratch memory, not zeroed, at least `bytes` for each thread: thread t has that at t * *stride.
 * A task finds nothing in it and leaves nothing, so it stays in the caches. Threads are in unlike
 * operations at a time: the stride is one for all that are in the queue. */
char *hps_cpu_block_scratch(struct hps_dev *dev, size_t bytes, size_t *stride);

/* The number of the thread that executes a task, from 0. */
static inline int hps_cpu_thread(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

static inline void hps_cpu_prefetch(const float *row, size_t dim)
{
    __builtin_prefetch(row);
    __builtin_prefetch(row + dim - 1);
}

/* A vector of eight floats. Rows of sixteen are common, and compilers do not always keep a loop
 * over sixteen floats in two registers. Without AVX the compiler splits it. */
typedef float hps_cpu_eight __attribute__((vector_size(32), aligned(4)));

/* to = from;  to += share * from. The rows do not overlap. */
HPS_INLINE void hps_cpu_row_set(float *restrict to, const float *restrict from, size_t dim)
{
    const hps_cpu_eight *f = (const hps_cpu_eight *)from;
    hps_cpu_eight *t = (hps_cpu_eight *)to;

    if (dim == 16) {
        t[0] = f[0];
        t[1] = f[1];
        return;
    }
    HPS_VECTORS
    for (size_t d = 0; d < dim; d++)
        to[d] = from[d];
}

HPS_INLINE void hps_cpu_row_add(float *restrict to, const float *restrict from, float share,
                                size_t dim)
{
    const hps_cpu_eight *f = (const hps_cpu_eight *)from;
    hps_cpu_eight *t = (hps_cpu_eight *)to;

    if (dim == 16) {
        t[0] += share * f[0];
        t[1] += share * f[1];
        return;
    }
    HPS_VECTORS
    for (size_t d = 0; d < dim; d++)
        to[d] += share * from[d];
}

/* call(args, dim), with a constant dim where it is a common one. */
#define HPS_CPU_WITH_DIM(dim, call, ...)                                                           \
    switch (dim) {                                                                                 \
    case 1: call(__VA_ARGS__, 1); break;                                                           \
    case 8: call(__VA_ARGS__, 8); break;                                                           \
    case 10: call(__VA_ARGS__, 10); break;                                                         \
    case 16: call(__VA_ARGS__, 16); break;                                                         \
    default: call(__VA_ARGS__, dim);                                                               \
    }

/* Summand k of n; prefetches a later one. */
HPS_INLINE const float *hps_cpu_summand(const struct hps_row_sums *s, int k, int n, size_t dim)
{
    if (k + HPS_CPU_PREFETCH < n)
        hps_cpu_prefetch(s->row + (size_t)s->from[k + HPS_CPU_PREFETCH] * dim, dim);
    return s->row + (size_t)s->from[k] * dim;
}

/* The i-th sum; the sums have n summands in all. The result is in `scratch` (dim), or it is the
 * only summand itself. */
HPS_INLINE const float *hps_cpu_row_sum(const struct hps_row_sums *s, size_t i, int n, size_t dim,
                                        float *scratch)
{
    if (!s->start) return s->row + i * dim;
    int k = s->start[i], end = s->start[i + 1];
    const float *row = hps_cpu_summand(s, k, n, dim);
    if (++k == end) return row;
    float sum[HPS_CPU_SHORT], *to = dim <= HPS_CPU_SHORT ? sum : scratch;
    hps_cpu_row_set(to, row, dim);
    for (; k < end; k++)
        hps_cpu_row_add(to, hps_cpu_summand(s, k, n, dim), 1, dim);
    if (to != scratch) hps_cpu_row_set(scratch, to, dim);
    return scratch;
}

static inline int hps_cpu_summands(const struct hps_row_sums *s, size_t n)
{
    return s->start ? s->start[n] : 0;
}

/* y (B, n) = act(y + b); pre (B, n) = y + b (gelu), contiguous. */
void hps_cpu_act(enum hps_act act, size_t B, size_t n, float *y, size_t ldy, const float *b,
                 float *pre);
/* dy (B, n) *= act'; db (n) += its column sums. y and pre as left by hps_cpu_act, where `act` needs
 * them. */
void hps_cpu_act_back(enum hps_act act, size_t B, struct hps_tensor y, const float *pre,
                      struct hps_tensor dy, float *db);

/* The operations on dense matrices and on rows, for the tables in dev_cpu.c (hw/dense_ops.h,
 * hw/row_ops.h). */
size_t hps_cpu_fc_packed_bytes(const struct hps_dev *dev, enum hps_precision precision, int in,
                               int out);
void hps_cpu_fc_pack(struct hps_dev *dev, enum hps_precision precision, int in, int out,
                     const float *w, void *packed);
bool hps_cpu_keeps_rounded(const struct hps_dev *dev);
void hps_cpu_fc_forward(struct hps_dev *dev, const struct hps_fc *fc);
void hps_cpu_fc_backward(struct hps_dev *dev, const struct hps_fc *fc, struct hps_tensor dy,
                         struct hps_tensor dx, float *dw, float *db);
void hps_cpu_act_forward(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                         struct hps_tensor y);
void hps_cpu_act_backward(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                          struct hps_tensor y, struct hps_tensor dy, struct hps_tensor dx);
void hps_cpu_copy(struct hps_dev *dev, int B, struct hps_tensor x, struct hps_tensor y);
void hps_cpu_scale(struct hps_dev *dev, int B, float by, struct hps_tensor x, struct hps_tensor y);
void hps_cpu_reduce(struct hps_dev *dev, int k, size_t n, const float *part, float *to);
void hps_cpu_reduce_doubles(struct hps_dev *dev, int k, size_t n, const double *part, double *to);
void hps_cpu_update(struct hps_dev *dev, const struct hps_rule *rule, size_t n, float *param,
                    float *grad, float *state, size_t plane);
void hps_cpu_norm2(struct hps_dev *dev, size_t n, const float *x, double *sum);
double hps_cpu_gemm_s(struct hps_dev *dev, int m, int n, int k, int repeat);

void hps_cpu_bag_forward(struct hps_dev *dev, const struct hps_lookup *lookup, int dim,
                         enum hps_pool_kind pool, enum hps_combine combine, struct hps_tensor y);
void hps_cpu_bag_backward(struct hps_dev *dev, const struct hps_lookup *lookup, int dim,
                          enum hps_pool_kind pool, enum hps_combine combine, struct hps_tensor dy,
                          bool add);
void hps_cpu_rows_apply(struct hps_dev *dev, const struct hps_rule *rule, float *table,
                        struct hps_row_list rows, const struct hps_row_sums *grad);
void hps_cpu_rows_gather(struct hps_dev *dev, const float *table, struct hps_row_list rows,
                         float *out);
void hps_cpu_rows_gather_encoded(struct hps_dev *dev, struct hps_encoded_rows rows, float *out);
void hps_cpu_rows_apply_encoded(struct hps_dev *dev, const struct hps_rule *rule,
                                struct hps_encoded_rows rows, const struct hps_row_sums *grad);
void hps_cpu_rows_move(struct hps_dev *dev, size_t stride, size_t n, const int *from_at,
                       const float *from, const int *to_at, float *to);
void hps_cpu_rows_sum(struct hps_dev *dev, int dim, size_t n, const struct hps_row_sums *sums,
                      float *to);

/* The tables of operations of single layer types. */
#define HPS_CPU_OP(name) extern const struct hps_op_##name hps_cpu_##name;
HPS_LAYER_OPS(HPS_CPU_OP)
#undef HPS_CPU_OP

#endif
