/* cpu_vec.c - element by element: copy, dropout, the logistic loss, the norm, parts that are
 * added up. */
#include <math.h>

#include "base/rng.h"
#include "hw/cpu/cpu_impl.h"

#define ROWS 256                /* of a part, about */

struct map {
    size_t B, width, ldx, ldy;
    const float *x;
    float *y;
    bool add;
    float p;                    /* dropout */
    uint64_t key;
    const long long *example;
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

static void copy_part(const void *job, int t, int n)
{
    const struct map *m = job;
    size_t first = hps_cpu_cut(m->B, HPS_CPU_GRAIN, t, n);
    size_t last = hps_cpu_cut(m->B, HPS_CPU_GRAIN, t + 1, n);

    copy_rows(last - first, m->width, m->x + first * m->ldx, m->ldx, m->y + first * m->ldy,
              m->ldy, m->add);
}

void hps_cpu_copy(struct hps_dev *dev, int B, int width, const float *x, size_t ldx, float *y,
                  size_t ldy, bool add)
{
    struct map m = { .B = (size_t)B, .width = (size_t)width, .ldx = ldx, .ldy = ldy, .x = x,
                     .y = y, .add = add };

    hps_cpu_writes(dev, m.B, (struct hps_tensor){ y, ldy, width });
    hps_cpu_rows(dev, m.B, 0.4 * (double)B * width, hps_cpu_parts(dev, m.B, ROWS), copy_part, &m,
                 sizeof m);
}

/* unit(key, i) >= p without a branch, which no processor would guess: the 24 bits of unit as a
 * whole number are at least p * 2^24. */
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
            y[c] = m->add ? y[c] + v : v;
        }
    }
}

static void dropout_part(const void *job, int t, int n)
{
    const struct map *m = job;
    size_t last = hps_cpu_cut(m->B, HPS_CPU_GRAIN, t + 1, n);

    for (size_t r = hps_cpu_cut(m->B, HPS_CPU_GRAIN, t, n); r < last; r++)
        drop_row(m, (uint64_t)m->example[r] * m->width, m->x + r * m->ldx, m->y + r * m->ldy);
}

void hps_cpu_dropout(struct hps_dev *dev, int B, int width, float p, uint64_t key,
                     const long long *example, const float *x, size_t ldx, float *y, size_t ldy,
                     bool add)
{
    struct map m = { .B = (size_t)B, .width = (size_t)width, .ldx = ldx, .ldy = ldy, .x = x,
                     .y = y, .add = add, .p = p, .key = key, .example = example };

    hps_cpu_writes(dev, m.B, (struct hps_tensor){ y, ldy, width });
    hps_cpu_rows(dev, m.B, 2.0 * (double)B * width, hps_cpu_parts(dev, m.B, ROWS), dropout_part, &m,
                 sizeof m);
}

struct loss {
    size_t B;
    struct hps_tensor x, dx;
    const float *label;
    float weight, *score;
    bool add;
    double *sum, *all;          /* one a part; where they go */
    int parts;
};

/* With e = exp(-|x|) in (0, 1] nothing overflows, and no digits are lost. */
static void logistic_part(const void *job, int t, int n)
{
    const struct loss *l = job;
    size_t last = hps_cpu_cut(l->B, HPS_CPU_GRAIN, t + 1, n);
    double sum = 0;

    for (size_t r = hps_cpu_cut(l->B, HPS_CPU_GRAIN, t, n); r < last; r++) {
        double x = (double)l->x.data[r * l->x.ld], label = (double)l->label[r];
        double e = exp(-fabs(x));
        double p = x < 0 ? e / (1 + e) : 1 / (1 + e);
        sum += (x < 0 ? 0 : x) - label * x + log1p(e);
        if (l->score)
            l->score[r] = (float)p;
        if (l->dx.data) {
            float *dx = l->dx.data + r * l->dx.ld;
            float d = (float)((p - label) * (double)l->weight);
            *dx = l->add ? *dx + d : d;
        }
    }
    l->sum[t] = sum;
}

static void sum_part(const void *job, int t, int n)
{
    const struct loss *l = job;
    (void)t, (void)n;

    for (int p = 0; p < l->parts; p++)
        *l->all += l->sum[p];
}

void hps_cpu_logistic(struct hps_dev *dev, int B, struct hps_tensor x, const float *label,
                      float weight, float *score, double *loss_sum, struct hps_tensor dx, bool add)
{
    struct loss l = { (size_t)B, x, dx, label, weight, score, add, NULL, loss_sum, 0 };

    hps_cpu_writes(dev, l.B, dx);
    hps_cpu_writes(dev, l.B, (struct hps_tensor){ score, 1, 1 });
    l.parts = hps_cpu_parts(dev, l.B, ROWS);
    l.sum = hps_cpu_keep(dev, (size_t)l.parts * sizeof *l.sum);
    hps_cpu_rows(dev, l.B, 40.0 * B, l.parts, logistic_part, &l, sizeof l);
    hps_cpu_after(dev, 0, 1, sum_part, &l, sizeof l);
}

struct norm {
    size_t n;
    const float *x;
    double *sum;                /* one a part */
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

static void norm_part(const void *job, int t, int n)
{
    const struct norm *m = job;
    size_t first = hps_cpu_cut(m->n, 8, t, n), last = hps_cpu_cut(m->n, 8, t + 1, n);

    m->sum[t] = squares(last - first, m->x + first);
}

void hps_cpu_norm2(struct hps_dev *dev, size_t n, const float *x, double *sum)
{
    double *part = hps_cpu_scratch(dev, (size_t)dev->nthread * sizeof *part);
    struct norm m = { n, x, part };

    hps_cpu_spread(dev, 0.3 * (double)n, norm_part, &m);
    *sum = 0;
    for (int t = 0; t < dev->nthread; t++)
        *sum += part[t];
}

struct fold {
    int k;
    size_t n;
    const float *part;
    float *to;
    const double *part_double;          /* or these two */
    double *to_double;
};

HPS_MULTIVERSION static void fold_floats(const struct fold *f, size_t first, size_t last)
{
    const float *part = f->part;
    float *restrict to = f->to;

    for (size_t i = first; i < last; i++)
        to[i] = part[i];
    for (int r = 1; r < f->k; r++)
        for (size_t i = first; i < last; i++)
            to[i] += part[(size_t)r * f->n + i];
}

HPS_MULTIVERSION static void reduce_doubles(const struct fold *f, size_t first, size_t last)
{
    const double *part = f->part_double;
    double *restrict to = f->to_double;

    for (size_t i = first; i < last; i++)
        to[i] = part[i];
    for (int r = 1; r < f->k; r++)
        for (size_t i = first; i < last; i++)
            to[i] += part[(size_t)r * f->n + i];
}

static void fold_part(const void *job, int t, int n)
{
    const struct fold *f = job;
    size_t first = hps_cpu_cut(f->n, 16, t, n), last = hps_cpu_cut(f->n, 16, t + 1, n);

    if (f->to)
        fold_floats(f, first, last);
    else
        reduce_doubles(f, first, last);
}

void hps_cpu_reduce(struct hps_dev *dev, int k, size_t n, const float *part, float *to)
{
    struct fold f = { .k = k, .n = n, .part = part, .to = to };

    hps_cpu_spread(dev, 0.3 * k * (double)n, fold_part, &f);
}

void hps_cpu_reduce_doubles(struct hps_dev *dev, int k, size_t n, const double *part, double *to)
{
    struct fold f = { .k = k, .n = n, .part_double = part, .to_double = to };

    hps_cpu_spread(dev, 0.3 * k * (double)n, fold_part, &f);
}
