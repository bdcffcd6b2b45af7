/* cpu_rows.c - rows of tables: gather, move, sum.
 *
 * Such loops are bound by the latency of memory, so rows are prefetched. */
#include <string.h>

#include "hw/cpu/cpu_impl.h"
#include "hw/row_format.h"

struct rows {
    size_t n, dim, stride;
    const int *at;
    const float *from;
    float *to;
};

HPS_INLINE void gather_rows(const struct rows *j, size_t i, size_t last, size_t dim)
{
    for (; i < last; i++) {
        if (i + HPS_CPU_PREFETCH < j->n)
            hps_cpu_prefetch(j->from + (size_t)j->at[i + HPS_CPU_PREFETCH] * j->stride, dim);
        hps_cpu_row_set(j->to + i * dim, j->from + (size_t)j->at[i] * j->stride, dim);
    }
}

HPS_MULTIVERSION static void gather_span(const struct rows *j, size_t first, size_t last)
{
    HPS_CPU_WITH_DIM(j->dim, gather_rows, j, first, last);
}

static void gather_task(const void *job, int t, int n)
{
    const struct rows *j = job;
    gather_span(j, hps_cpu_cut(j->n, 16, t, n), hps_cpu_cut(j->n, 16, t + 1, n));
}

void hps_cpu_rows_gather(struct hps_dev *dev, const float *table, struct hps_row_list rows,
                         float *out)
{
    struct rows j = { rows.n, (size_t)rows.dim, rows.stride, rows.at, table, out };
    hps_cpu_parallel_for(dev, (double)rows.n * (8 + 0.5 * rows.dim), gather_task, &j);
}

/* ---- encoded ---- */

struct encoded {
    struct hps_encoded_rows rows;
    float *to;
};

HPS_INLINE void decode_rows(const struct encoded *j, size_t i, size_t last, enum hps_number kind,
                            size_t dim)
{
    const unsigned char *from = j->rows.row;
    size_t bytes = j->rows.format->bytes;

    for (; i < last; i++) {
        if (i + HPS_CPU_PREFETCH < j->rows.n)
            __builtin_prefetch(from + (size_t)j->rows.at[i + HPS_CPU_PREFETCH] * bytes);
        hps_row_load(kind, from + (size_t)j->rows.at[i] * bytes, dim, j->to + i * dim);
    }
}

HPS_MULTIVERSION static void decode_span(const struct encoded *j, size_t first, size_t last)
{
    const struct hps_row_format *f = j->rows.format;

    if (f->weights == HPS_AS_BF16) {
        HPS_CPU_WITH_DIM(f->dim, decode_rows, j, first, last, HPS_AS_BF16);
    } else {
        decode_rows(j, first, last, f->weights, f->dim);
    }
}

static void decode_task(const void *job, int t, int n)
{
    const struct encoded *j = job;
    decode_span(j, hps_cpu_cut(j->rows.n, 16, t, n), hps_cpu_cut(j->rows.n, 16, t + 1, n));
}

void hps_cpu_rows_gather_encoded(struct hps_dev *dev, struct hps_encoded_rows rows, float *out)
{
    struct encoded j = { rows, out };
    hps_cpu_parallel_for(dev, (double)rows.n * (8 + 0.5 * (double)rows.format->dim), decode_task,
                         &j);
}

/* ---- move, sum ---- */

struct moves {
    size_t n, stride;
    const int *from_at, *to_at;
    const float *from;
    float *to;
};

static void move_task(const void *job, int t, int n)
{
    const struct moves *j = job;
    size_t last = hps_cpu_cut(j->n, 16, t + 1, n);

    for (size_t i = hps_cpu_cut(j->n, 16, t, n); i < last; i++)
        memcpy(j->to + (size_t)j->to_at[i] * j->stride,
               j->from + (size_t)j->from_at[i] * j->stride, j->stride * sizeof *j->to);
}

void hps_cpu_rows_move(struct hps_dev *dev, size_t stride, size_t n, const int *from_at,
                       const float *from, const int *to_at, float *to)
{
    struct moves j = { n, stride, from_at, to_at, from, to };
    hps_cpu_parallel_for(dev, (double)n * (8 + 0.5 * (double)stride), move_task, &j);
}

struct sums {
    size_t n, dim;
    const struct hps_row_sums *sums;
    float *to;
};

static void sums_task(const void *job, int t, int n)
{
    const struct sums *j = job;
    const struct hps_row_sums *s = j->sums;
    int all = hps_cpu_summands(s, j->n);
    size_t last = hps_cpu_cut(j->n, 16, t + 1, n);

    for (size_t i = hps_cpu_cut(j->n, 16, t, n); i < last; i++) {
        float *to = j->to + i * j->dim;
        const float *from = hps_cpu_row_sum(s, i, all, j->dim, to);
        if (from != to) memcpy(to, from, j->dim * sizeof *to);
    }
}

void hps_cpu_rows_sum(struct hps_dev *dev, int dim, size_t n, const struct hps_row_sums *sums,
                      float *to)
{
    struct sums j = { n, (size_t)dim, sums, to };
    hps_cpu_parallel_for(dev, (double)n * (8 + 0.5 * dim), sums_task, &j);
}
