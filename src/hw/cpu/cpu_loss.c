/* cpu_loss.c - the pointwise losses: each row by itself, sums by part in order. */
#include <math.h>
#include <string.h>

#include "hw/cpu/cpu_math_impl.h"
#include "hw/op_loss.h"

#define ROWS 256                /* of a part of the logistic loss, about */
#define CHUNK 256               /* classes in work at once where nothing is learnt */

struct loss {
    struct hps_loss of;
    size_t B;
    float margin;
    double *sum;                /* one a part                */
    int parts;                  /* of a loss that is queued  */
};

static void spread_loss(struct hps_dev *dev, double row_ns, struct loss *l, hps_cpu_part *part)
{
    l->sum = hps_cpu_scratch(dev, (size_t)dev->nthread * sizeof *l->sum);
    hps_cpu_spread(dev, row_ns * (double)l->B, part, l);
    for (int t = 0; t < dev->nthread; t++)
        *l->of.sum += l->sum[t];
}

/* The largest, NaN aside. */
static inline float most(size_t n, const float *x)
{
    float lane[HPS_CPU_LANES], top = x[0];
    size_t c = 0;

    for (size_t j = 0; j < HPS_CPU_LANES; j++)
        lane[j] = x[0];
    for (; c + HPS_CPU_LANES <= n; c += HPS_CPU_LANES)
        for (size_t j = 0; j < HPS_CPU_LANES; j++)
            lane[j] = x[c + j] > lane[j] ? x[c + j] : lane[j];
    for (; c < n; c++)
        top = x[c] > top ? x[c] : top;
    for (size_t j = 0; j < HPS_CPU_LANES; j++)
        top = lane[j] > top ? lane[j] : top;
    return top;
}

/* e = exp(x - top); their sum. */
static inline double exps(size_t n, const float *restrict x, float top, float *restrict e)
{
    double lane[HPS_CPU_LANES] = { 0 }, sum = 0;
    size_t c = 0;

    for (size_t i = 0; i < n; i++)
        e[i] = hps_cpu_exp(x[i] - top);
    for (; c + HPS_CPU_LANES <= n; c += HPS_CPU_LANES)
        for (size_t j = 0; j < HPS_CPU_LANES; j++)
            lane[j] += (double)e[c + j];
    for (; c < n; c++)
        sum += (double)e[c];
    for (size_t j = 0; j < HPS_CPU_LANES; j++)
        sum += lane[j];
    return sum;
}

/* The chance of the second of two classes, else the first of the likeliest. */
static float class_score(size_t C, const float *x, float top, double sum)
{
    size_t best = 0;

    if (C == 2) return (float)(exp((double)x[1] - (double)top) / sum);
    while (best + 1 < C && !(x[best] == top))
        best++;
    return (float)best;
}

/* The largest logit is taken off: no exponential overflows. */
static inline double class_row(const struct loss *l, size_t r)
{
    const float *x = l->of.x.data + r * l->of.x.ld;
    float *dx = l->of.dx.data ? l->of.dx.data + r * l->of.dx.ld : NULL, part[CHUNK];
    size_t C = (size_t)l->of.x.width;
    float top = most(C, x);
    bool known = l->of.label[r] >= 0 && l->of.label[r] < (float)C;
    double sum = 0, label = known ? (double)x[(size_t)l->of.label[r]] : NAN;

    if (dx) sum = exps(C, x, top, dx);
    for (size_t c = 0; !dx && c < C; c += CHUNK)
        sum += exps(C - c < CHUNK ? C - c : CHUNK, x + c, top, part);
    if (l->of.score) l->of.score[r] = class_score(C, x, top, sum);
    float share = (float)((double)l->of.weight / sum);
    for (size_t c = 0; dx && c < C; c++)
        dx[c] *= share;
    if (dx && known) dx[(size_t)l->of.label[r]] -= l->of.weight;
    return log(sum) + (double)top - label;
}

HPS_MULTIVERSION static void class_rows(const struct loss *l, size_t first, size_t last,
                                        double *sum)
{
    for (size_t r = first; r < last; r++)
        *sum += class_row(l, r);
}

static void class_part(const void *job, int t, int n)
{
    const struct loss *l = job;

    l->sum[t] = 0;
    class_rows(l, hps_cpu_cut(l->B, 1, t, n), hps_cpu_cut(l->B, 1, t + 1, n), &l->sum[t]);
}

static void cross_entropy(struct hps_dev *dev, const struct hps_loss *loss)
{
    struct loss l = { .of = *loss, .B = (size_t)loss->B };

    spread_loss(dev, 20 + 2.0 * loss->x.width, &l, class_part);
}

static void squared_part(const void *job, int t, int n)
{
    const struct loss *l = job;
    size_t last = hps_cpu_cut(l->B, 1, t + 1, n);
    double sum = 0;

    for (size_t r = hps_cpu_cut(l->B, 1, t, n); r < last; r++) {
        float x = l->of.x.data[r * l->of.x.ld];
        double off = (double)x - (double)l->of.label[r];
        sum += off * off;
        if (l->of.score) l->of.score[r] = x;
        if (l->of.dx.data) l->of.dx.data[r * l->of.dx.ld] = (float)(2 * off * (double)l->of.weight);
    }
    l->sum[t] = sum;
}

static void squared(struct hps_dev *dev, const struct hps_loss *loss)
{
    struct loss l = { .of = *loss, .B = (size_t)loss->B };

    spread_loss(dev, 2, &l, squared_part);
}

static void hinge_part(const void *job, int t, int n)
{
    const struct loss *l = job;
    size_t last = hps_cpu_cut(l->B, 1, t + 1, n);
    double sum = 0;

    for (size_t r = hps_cpu_cut(l->B, 1, t, n); r < last; r++) {
        float x = l->of.x.data[r * l->of.x.ld], sign = l->of.label[r] > 0.5f ? 1.0f : -1.0f;
        float lack = l->margin - sign * x;
        sum += lack <= 0 ? 0 : (double)lack;            /* a NaN stays one */
        if (l->of.score) l->of.score[r] = x;
        if (l->of.dx.data) l->of.dx.data[r * l->of.dx.ld] = lack > 0 ? -sign * l->of.weight : 0;
    }
    l->sum[t] = sum;
}

static void hinge(struct hps_dev *dev, const struct hps_loss *loss, float margin)
{
    struct loss l = { .of = *loss, .B = (size_t)loss->B, .margin = margin };

    spread_loss(dev, 2, &l, hinge_part);
}

/* ---- logistic: queued with the layers around it ---- */

/* With e = exp(-|x|) in (0, 1] nothing overflows, and no digits are lost. */
static void logistic_part(const void *job, int t, int n)
{
    const struct loss *l = job;
    size_t last = hps_cpu_cut(l->B, HPS_CPU_GRAIN, t + 1, n);
    double sum = 0;

    for (size_t r = hps_cpu_cut(l->B, HPS_CPU_GRAIN, t, n); r < last; r++) {
        double x = (double)l->of.x.data[r * l->of.x.ld], label = (double)l->of.label[r];
        double e = exp(-fabs(x));
        double p = x < 0 ? e / (1 + e) : 1 / (1 + e);
        sum += (x < 0 ? 0 : x) - label * x + log1p(e);
        if (l->of.score) l->of.score[r] = (float)p;
        if (l->of.dx.data) {
            float *dx = l->of.dx.data + r * l->of.dx.ld;
            float d = (float)((p - label) * (double)l->of.weight);
            *dx = l->of.dx.add ? *dx + d : d;
        }
    }
    l->sum[t] = sum;
}

static void sum_part(const void *job, int t, int n)
{
    const struct loss *l = job;
    (void)t, (void)n;

    for (int p = 0; p < l->parts; p++)
        *l->of.sum += l->sum[p];
}

static void logistic(struct hps_dev *dev, const struct hps_loss *loss)
{
    struct loss l = { .of = *loss, .B = (size_t)loss->B };

    hps_cpu_writes(dev, l.B, loss->dx);
    hps_cpu_writes(dev, l.B, hps_tensor_of(loss->score, 1));
    l.parts = hps_cpu_parts(dev, l.B, ROWS);
    l.sum = hps_cpu_keep(dev, (size_t)l.parts * sizeof *l.sum);
    hps_cpu_rows(dev, l.B, 40.0 * loss->B, l.parts, logistic_part, &l, sizeof l);
    hps_cpu_after(dev, 0, 1, sum_part, &l, sizeof l);
}

const struct hps_op_loss hps_cpu_loss = { logistic, cross_entropy, squared, hinge };
