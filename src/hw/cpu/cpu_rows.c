/* cpu_rows.c - rows of tables: gather, move, sum.
 *
 * Such loops are bound by the latency of memory, so rows are prefetched. */
#include <string.h>

#include "hw/cpu/cpu_impl.h"

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
