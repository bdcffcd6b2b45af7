/* cpu_vec.c - elementwise operations on vectors: copy, dropout, the norm, reductions. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "hw/cpu/cpu_impl.h"
#include "hw/cpu/cpu_rounded_impl.h"
#include "hw/op_dropout.h"

#define ROWS 256                /* of a task, about */

struct map {
    size_t B, width;
    struct hps_tensor x, y;
    float p;                    /* dropout */
    uint64_t key;
    const long long *example;
    const struct hps_bf16_lib *bf16;    /* copy: to y in bf16 */
};

HPS_MULTIVERSION static void copy_rows(size_t rows, size_t n, const float *restrict x, size_t ldx,
                                       float *restrict y, size_t ldy, bool add)
{
    for (size_t r = 0; r < rows; r++, x += ldx, y += ldy)
        if (add)
            for (size_t c = 0; c < n; c++)
                y[c] += x[c];
        else
            for (size_t c = 0; c < n; c++)
                y[c] = x[c];
}

static void copy_to_rounded(const struct map *m, size_t first, size_t rows)
{
    struct hps_tensor x = m->x;
    uint16_t *y = m->y.rounded + first * m->y.ld;

    if (!x.rounded) {
        m->bf16->round(rows, m->width, x.data + first * x.ld, x.ld, y, m->y.ld);
        return;
    }
    for (size_t r = 0; r < rows; r++, y += m->y.ld)
        memcpy(y, x.rounded + (first + r) * x.ld, m->width * sizeof *y);
}

static void copy_task(const void *job, int t, int n)
{
    const struct map *m = job;
    size_t first = hps_cpu_cut(m->B, HPS_CPU_GRAIN, t, n);
    size_t rows = hps_cpu_cut(m->B, HPS_CPU_GRAIN, t + 1, n) - first;

    if (m->y.rounded)
        copy_to_rounded(m, first, rows);
    else
        copy_rows(rows, m->width, m->x.data + first * m->x.ld, m->x.ld,
                  m->y.data + first * m->y.ld, m->y.ld, m->y.add);
}

void hps_cpu_copy(struct hps_dev *dev, int B, struct hps_tensor x, struct hps_tensor y)
{
    struct map m = { .B = (size_t)B, .width = (size_t)x.width, .x = x, .y = y };

    if (y.rounded) m.bf16 = hps_cpu_bf16_lib(dev, dev->precision);
    y.width = x.width;          /* y may be wider */
    hps_cpu_queue_writes(dev, m.B, y);
    hps_cpu_queue_rows(dev, m.B, 0.4 * (double)B * x.width, hps_cpu_ntask(dev, m.B, ROWS),
                       copy_task, &m, sizeof m);
}

/* Is the random number of (key, i) at least p? Without a branch, which would be unpredictable:
 * its 24 bits as an integer are compared with p * 2^24. */
HPS_MULTIVERSION static void drop_row(const struct map *m, uint64_t first, const float *x, float *y)
{
    enum { BLOCK = 64 };
    const float scale = 1.0f / (1.0f - m->p);
    const uint64_t least = (uint64_t)ceilf(m->p * 0x1p24f);
    float keep[BLOCK];

    for (size_t at = 0; at < m->width; at += BLOCK, x += BLOCK, y += BLOCK) {
        size_t n = m->width - at < BLOCK ? m->width - at : BLOCK;
        for (size_t c = 0; c < BLOCK; c++)
            keep[c] = hps_rng_bits(m->key, first + at + c) >> 40 >= least ? scale : 0.0f;
        for (size_t c = 0; c < n; c++) {
            float v = keep[c] > 0.0f ? x[c] * keep[c] : 0.0f;
            y[c] = m->y.add ? y[c] + v : v;
        }
    }
}

static void dropout_task(const void *job, int t, int n)
{
    const struct map *m = job;
    size_t last = hps_cpu_cut(m->B, HPS_CPU_GRAIN, t + 1, n);

    for (size_t r = hps_cpu_cut(m->B, HPS_CPU_GRAIN, t, n); r < last; r++)
        drop_row(m, (uint64_t)m->example[r] * m->width, m->x.data + r * m->x.ld,
                 m->y.data + r * m->y.ld);
}

static void dropout(struct hps_dev *dev, int B, float p, uint64_t key, const long long *example,
                    struct hps_tensor x, struct hps_tensor y)
{
    struct map m = { .B = (size_t)B, .width = (size_t)x.width, .x = x, .y = y, .p = p, .key = key,
                     .example = example };

    hps_cpu_queue_writes(dev, m.B, y);
    hps_cpu_queue_rows(dev, m.B, 2.0 * (double)B * x.width, hps_cpu_ntask(dev, m.B, ROWS),
                       dropout_task, &m, sizeof m);
}

const struct hps_op_dropout hps_cpu_dropout = { dropout };

struct norm {
    size_t n;
    const float *x;
    double *sum;                /* one a task */
};

HPS_MULTIVERSION static double squares(size_t n, const float *x)
{
    double lane[8] = { 0 }, sum = 0;
    size_t i = 0;

    for (; i + 8 <= n; i += 8)
        for (size_t k = 0; k < 8; k++)
            lane[k] += (double)x[i + k] * (double)x[i + k];
    for (; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    for (size_t k = 0; k < 8; k++)
        sum += lane[k];
    return sum;
}

static void norm_task(const void *job, int t, int n)
{
    const struct norm *m = job;
    size_t first = hps_cpu_cut(m->n, 8, t, n), last = hps_cpu_cut(m->n, 8, t + 1, n);

    m->sum[t] = squares(last - first, m->x + first);
}

void hps_cpu_norm2(struct hps_dev *dev, size_t n, const float *x, double *sum)
{
    double *part = hps_cpu_scratch(dev, (size_t)dev->nthread * sizeof *part);
    struct norm m = { n, x, part };

    hps_cpu_parallel_for(dev, 0.3 * (double)n, norm_task, &m);
    *sum = 0;
    for (int t = 0; t < dev->nthread; t++)
        *sum += part[t];
}

struct reduction {
    int k;
    size_t n;
    const float *part;
    float *to;
    const double *part_double;          /* or doubles */
    double *to_double;
};

HPS_MULTIVERSION static void reduce_floats(const struct reduction *f, size_t first, size_t last)
{
    const float *part = f->part;
    float *restrict to = f->to;

    for (size_t i = first; i < last; i++)
        to[i] = part[i];
    for (int r = 1; r < f->k; r++)
        for (size_t i = first; i < last; i++)
            to[i] += part[(size_t)r * f->n + i];
}

HPS_MULTIVERSION static void reduce_doubles(const struct reduction *f, size_t first, size_t last)
{
    const double *part = f->part_double;
    double *restrict to = f->to_double;

    for (size_t i = first; i < last; i++)
        to[i] = part[i];
    for (int r = 1; r < f->k; r++)
        for (size_t i = first; i < last; i++)
            to[i] += part[(size_t)r * f->n + i];
}

static void reduce_task(const void *job, int t, int n)
{
    const struct reduction *f = job;
    size_t first = hps_cpu_cut(f->n, 16, t, n), last = hps_cpu_cut(f->n, 16, t + 1, n);

    if (f->to)
        reduce_floats(f, first, last);
    else
        reduce_doubles(f, first, last);
}

void hps_cpu_reduce(struct hps_dev *dev, int k, size_t n, const float *part, float *to)
{
    struct reduction f = { .k = k, .n = n, .part = part, .to = to };

    hps_cpu_parallel_for(dev, 0.3 * k * (double)n, reduce_task, &f);
}

void hps_cpu_reduce_doubles(struct hps_dev *dev, int k, size_t n, const double *part, double *to)
{
    struct reduction f = { .k = k, .n = n, .part_double = part, .to_double = to };

    hps_cpu_parallel_for(dev, 0.3 * k * (double)n, reduce_task, &f);
}
