/* cpu_loss.c - the pointwise losses: row by row, sums by task in order. */
#include <math.h>
#include <string.h>

#include "hw/cpu/cpu_math_impl.h"
#include "hw/op_loss.h"

#define ROWS 256                /* of a task of the logistic loss, about      */
#define CHUNK 256               /* classes at a time where no gradient is wanted */

struct loss {
    struct hps_loss of;
    size_t B;
    float margin;
    double *sum;                /* (ntask)                   */
    int ntask;                  /* of a loss that is queued  */
};

static void parallel_loss(struct hps_dev *dev, double row_ns, struct loss *l, hps_cpu_task *part)
{
    l->sum = hps_cpu_scratch(dev, (size_t)dev->nthread * sizeof *l->sum);
    hps_cpu_parallel_for(dev, row_ns * (double)l->B, part, l);
    for (int t = 0; t < dev->nthread; t++)
        *l->of.sum += l->sum[t];
}

/* The largest number, ignoring NaN. */
static inline float max_of(size_t n, const float *x)
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

/* The probability of the second of two classes, else the first of the likeliest classes. */
static float class_score(size_t C, const float *x, float top, double sum)
{
    size_t best = 0;

    if (C == 2) return (float)(exp((double)x[1] - (double)top) / sum);
    while (best + 1 < C && !(x[best] == top))
        best++;
    return (float)best;
}

/* The largest logit is subtracted, so that no exponential overflows. */
static inline double class_row(const struct loss *l, size_t r)
{
    const float *x = l->of.x.data + r * l->of.x.ld;
    float *dx = l->of.dx.data ? l->of.dx.data + r * l->of.dx.ld : NULL, part[CHUNK];
    size_t C = (size_t)l->of.x.width;
    float top = max_of(C, x);
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

static void class_task(const void *job, int t, int n)
{
    const struct loss *l = job;

    l->sum[t] = 0;
    class_rows(l, hps_cpu_cut(l->B, 1, t, n), hps_cpu_cut(l->B, 1, t + 1, n), &l->sum[t]);
}

static void cross_entropy(struct hps_dev *dev, const struct hps_loss *loss)
{
    struct loss l = { .of = *loss, .B = (size_t)loss->B };

    parallel_loss(dev, 20 + 2.0 * loss->x.width, &l, class_task);
}

static void squared_task(const void *job, int t, int n)
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

    parallel_loss(dev, 2, &l, squared_task);
}

static void hinge_task(const void *job, int t, int n)
{
    const struct loss *l = job;
    size_t last = hps_cpu_cut(l->B, 1, t + 1, n);
    double sum = 0;

    for (size_t r = hps_cpu_cut(l->B, 1, t, n); r < last; r++) {
        float x = l->of.x.data[r * l->of.x.ld], sign = l->of.label[r] > 0.5f ? 1.0f : -1.0f;
        float lack = l->margin - sign * x;
        sum += lack <= 0 ? 0 : (double)lack;            /* propagates NaN */
        if (l->of.score) l->of.score[r] = x;
        if (l->of.dx.data) l->of.dx.data[r * l->of.dx.ld] = lack > 0 ? -sign * l->of.weight : 0;
    }
    l->sum[t] = sum;
}

static void hinge(struct hps_dev *dev, const struct hps_loss *loss, float margin)
{
    struct loss l = { .of = *loss, .B = (size_t)loss->B, .margin = margin };

    parallel_loss(dev, 2, &l, hinge_task);
}

/* ---- logistic: queued with the layers around it ---- */

/* With e = exp(-|x|) in (0, 1] nothing overflows and no digits cancel. */
static void logistic_task(const void *job, int t, int n)
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

static void sum_task(const void *job, int t, int n)
{
    const struct loss *l = job;
    (void)t, (void)n;

    for (int p = 0; p < l->ntask; p++)
        *l->of.sum += l->sum[p];
}

static void logistic(struct hps_dev *dev, const struct hps_loss *loss)
{
    struct loss l = { .of = *loss, .B = (size_t)loss->B };

    hps_cpu_queue_writes(dev, l.B, loss->dx);
    hps_cpu_queue_writes(dev, l.B, hps_tensor_of(loss->score, 1));
    l.ntask = hps_cpu_ntask(dev, l.B, ROWS);
    l.sum = hps_cpu_queue_scratch(dev, (size_t)l.ntask * sizeof *l.sum);
    hps_cpu_queue_rows(dev, l.B, 40.0 * loss->B, l.ntask, logistic_task, &l, sizeof l);
    hps_cpu_queue_after(dev, 0, 1, sum_task, &l, sizeof l);
}

const struct hps_op_loss hps_cpu_loss = { logistic, cross_entropy, squared, hinge };
