/* cpu_impl.h - what the files of the CPU backend share: work in slices, the operations by name.
 * For src/hw/cpu/dev_cpu.c and src/hw/cpu_*.c only; the meaning of each operation is in dev.h. */
#ifndef HPS_HW_CPU_CPU_IMPL_H
#define HPS_HW_CPU_CPU_IMPL_H

#include "base/multiversion.h"
#include "hw/cpu_queue.h"

#define HPS_CPU_AHEAD 24        /* rows to prefetch in front of the one in work      */
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

/* Eight numbers at once, of which two make a usual row: registers, where compilers do not always
 * see that a loop over sixteen is one. Without AVX in pieces. */
typedef float hps_cpu_eight __attribute__((vector_size(32), aligned(4)));

/* to = from;  to += share * from: rows that do not overlap. */
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

/* call(args, dim), with the constant where dim is a usual one. */
#define HPS_CPU_WITH_DIM(dim, call, ...)                                                           \
    switch (dim) {                                                                                 \
    case 1: call(__VA_ARGS__, 1); break;                                                           \
    case 8: call(__VA_ARGS__, 8); break;                                                           \
    case 10: call(__VA_ARGS__, 10); break;                                                         \
    case 16: call(__VA_ARGS__, 16); break;                                                         \
    default: call(__VA_ARGS__, dim);                                                               \
    }

/* Summand k of n; one that comes later, of whatever sum, is fetched. */
HPS_INLINE const float *hps_cpu_summand(const struct hps_row_sums *s, int k, int n, size_t dim)
{
    if (k + HPS_CPU_AHEAD < n)
        hps_cpu_fetch(s->row + (size_t)s->from[k + HPS_CPU_AHEAD] * dim, dim);
    return s->row + (size_t)s->from[k] * dim;
}

/* The i-th sum, of n summands in all: in `room` (dim), or where it lies already. */
HPS_INLINE const float *hps_cpu_row_sum(const struct hps_row_sums *s, size_t i, int n, size_t dim,
                                        float *room)
{
    if (!s->start)
        return s->row + i * dim;
    int k = s->start[i], end = s->start[i + 1];
    const float *row = hps_cpu_summand(s, k, n, dim);
    if (++k == end)
        return row;
    float sum[HPS_CPU_SHORT], *to = dim <= HPS_CPU_SHORT ? sum : room;
    hps_cpu_row_set(to, row, dim);
    for (; k < end; k++)
        hps_cpu_row_add(to, hps_cpu_summand(s, k, n, dim), 1, dim);
    if (to != room)
        hps_cpu_row_set(room, to, dim);
    return room;
}

static inline int hps_cpu_summands(const struct hps_row_sums *s, size_t n)
{
    return s->start ? s->start[n] : 0;
}

/* y (B, n) = act(y + b), keeping y + b in pre (gelu). Rows of pre follow each other. */
void hps_cpu_act(enum hps_act act, size_t B, size_t n, float *y, size_t ldy, const float *b,
                 float *pre);
/* dy (B, n) *= act'; db (n) += its column sums. */
void hps_cpu_act_back(enum hps_act act, size_t B, size_t n, const float *y, size_t ldy,
                      const float *pre, float *dy, size_t lddy, float *db);

#define HPS_DEV_VERB(verb) hps_cpu_##verb
#include "hw/dev_verbs.h"

#endif
