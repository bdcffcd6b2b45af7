/* cpu_loss.c - losses but the logistic: each row by itself, sums by part in order. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "hw/cpu/cpu_math_impl.h"

#define LANES 8
#define CHUNK 256               /* classes in work at once where nothing is learnt */

struct loss {
    size_t B;
    struct hps_tensor x, dx;
    const float *label;
    float margin, weight, *score;
    double *sum;                /* one a part */
};

static void spread_loss(struct hps_dev *dev, double row_ns, struct loss *l, double *loss_sum,
                        hps_cpu_part *part)
{
    l->sum = hps_cpu_scratch(dev, (size_t)dev->nthread * sizeof *l->sum);
    hps_cpu_spread(dev, row_ns * (double)l->B, part, l);
    for (int t = 0; t < dev->nthread; t++)
        *loss_sum += l->sum[t];
}

/* The largest, NaN aside. */
static inline float most(size_t n, const float *x)
{
    float lane[LANES], top = x[0];
    size_t c = 0;

    for (size_t j = 0; j < LANES; j++)
        lane[j] = x[0];
    for (; c + LANES <= n; c += LANES)
        for (size_t j = 0; j < LANES; j++)
            lane[j] = x[c + j] > lane[j] ? x[c + j] : lane[j];
    for (; c < n; c++)
        top = x[c] > top ? x[c] : top;
    for (size_t j = 0; j < LANES; j++)
        top = lane[j] > top ? lane[j] : top;
    return top;
}

/* e = exp(x - top); their sum. */
static inline double exps(size_t n, const float *restrict x, float top, float *restrict e)
{
    double lane[LANES] = { 0 }, sum = 0;
    size_t c = 0;

    for (size_t i = 0; i < n; i++)
        e[i] = hps_cpu_exp(x[i] - top);
    for (; c + LANES <= n; c += LANES)
        for (size_t j = 0; j < LANES; j++)
            lane[j] += (double)e[c + j];
    for (; c < n; c++)
        sum += (double)e[c];
    for (size_t j = 0; j < LANES; j++)
        sum += lane[j];
    return sum;
}

/* The chance of the second of two classes, else the first of the likeliest. */
static float class_score(size_t C, const float *x, float top, double sum)
{
    size_t best = 0;

    if (C == 2)
        return (float)(exp((double)x[1] - (double)top) / sum);
    while (best + 1 < C && !(x[best] == top))
        best++;
    return (float)best;
}

/* The largest logit is taken off: no exponential overflows. */
static inline double class_row(const struct loss *l, size_t r)
{
    const float *x = l->x.data + r * l->x.ld;
    float *dx = l->dx.data ? l->dx.data + r * l->dx.ld : NULL, part[CHUNK];
    size_t C = (size_t)l->x.width;
    float top = most(C, x);
    bool known = l->label[r] >= 0 && l->label[r] < (float)C;
    double sum = 0, label = known ? (double)x[(size_t)l->label[r]] : NAN;

    if (dx)
        sum = exps(C, x, top, dx);
    for (size_t c = 0; !dx && c < C; c += CHUNK)
        sum += exps(C - c < CHUNK ? C - c : CHUNK, x + c, top, part);
    if (l->score)
        l->score[r] = class_score(C, x, top, sum);
    float share = (float)((double)l->weight / sum);
    for (size_t c = 0; dx && c < C; c++)
        dx[c] *= share;
    if (dx && known)
        dx[(size_t)l->label[r]] -= l->weight;
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

void hps_cpu_cross_entropy(struct hps_dev *dev, int B, struct hps_tensor x, const float *label,
                           float weight, float *score, double *loss_sum, struct hps_tensor dx)
{
    struct loss l = { .B = (size_t)B, .x = x, .dx = dx, .label = label, .weight = weight,
                      .score = score };

    spread_loss(dev, 20 + 2.0 * x.width, &l, loss_sum, class_part);
}

static void squared_part(const void *job, int t, int n)
{
    const struct loss *l = job;
    size_t last = hps_cpu_cut(l->B, 1, t + 1, n);
    double sum = 0;

    for (size_t r = hps_cpu_cut(l->B, 1, t, n); r < last; r++) {
        float x = l->x.data[r * l->x.ld];
        double off = (double)x - (double)l->label[r];
        sum += off * off;
        if (l->score)
            l->score[r] = x;
        if (l->dx.data)
            l->dx.data[r * l->dx.ld] = (float)(2 * off * (double)l->weight);
    }
    l->sum[t] = sum;
}

void hps_cpu_squared(struct hps_dev *dev, int B, struct hps_tensor x, const float *label,
                     float weight, float *score, double *loss_sum, struct hps_tensor dx)
{
    struct loss l = { .B = (size_t)B, .x = x, .dx = dx, .label = label, .weight = weight,
                      .score = score };

    spread_loss(dev, 2, &l, loss_sum, squared_part);
}

static void hinge_part(const void *job, int t, int n)
{
    const struct loss *l = job;
    size_t last = hps_cpu_cut(l->B, 1, t + 1, n);
    double sum = 0;

    for (size_t r = hps_cpu_cut(l->B, 1, t, n); r < last; r++) {
        float x = l->x.data[r * l->x.ld], sign = l->label[r] > 0.5f ? 1.0f : -1.0f;
        float lack = l->margin - sign * x;
        sum += lack <= 0 ? 0 : (double)lack;            /* a NaN stays one */
        if (l->score)
            l->score[r] = x;
        if (l->dx.data)
            l->dx.data[r * l->dx.ld] = lack > 0 ? -sign * l->weight : 0;
    }
    l->sum[t] = sum;
}

void hps_cpu_hinge(struct hps_dev *dev, int B, struct hps_tensor x, const float *label,
                   float margin, float weight, float *score, double *loss_sum,
                   struct hps_tensor dx)
{
    struct loss l = { .B = (size_t)B, .x = x, .dx = dx, .label = label, .margin = margin,
                      .weight = weight, .score = score };

    spread_loss(dev, 2, &l, loss_sum, hinge_part);
}

static inline float dot(size_t n, const float *a, const float *b)
{
    float lane[LANES] = { 0 }, sum = 0;
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            lane[j] += a[i + j] * b[i + j];
    for (; i < n; i++)
        sum += a[i] * b[i];
    for (size_t j = 0; j < LANES; j++)
        sum += lane[j];
    return sum;
}

static inline void add(size_t n, float by, const float *restrict x, float *restrict y)
{
    for (size_t i = 0; i < n; i++)
        y[i] += by * x[i];
}

struct unit {
    size_t B, width, ldx;
    const float *x;
    float *y, *norm, *dy;
};

HPS_MULTIVERSION static void unit_rows(const struct unit *u, size_t first, size_t last)
{
    for (size_t r = first; r < last; r++) {
        const float *x = u->x + r * u->ldx;
        float *y = u->y + r * u->width, norm = sqrtf(dot(u->width, x, x) + 1e-12f);
        u->norm[r] = norm;
        for (size_t c = 0; c < u->width; c++)
            y[c] = x[c] / u->norm[r];
    }
}

static void unit_part(const void *job, int t, int n)
{
    const struct unit *u = job;
    unit_rows(u, hps_cpu_cut(u->B, 1, t, n), hps_cpu_cut(u->B, 1, t + 1, n));
}

void hps_cpu_unit(struct hps_dev *dev, int B, struct hps_tensor x, float *y, float *norm)
{
    struct unit u = { .B = (size_t)B, .width = (size_t)x.width, .ldx = x.ld, .x = x.data, .y = y,
                      .norm = norm };

    hps_cpu_spread(dev, 0.5 * B * x.width, unit_part, &u);
}

HPS_MULTIVERSION static void unit_back_rows(const struct unit *u, size_t first, size_t last)
{
    for (size_t r = first; r < last; r++) {
        float *y = u->y + r * u->width, *dy = u->dy + r * u->width;
        float along = dot(u->width, y, dy);
        for (size_t c = 0; c < u->width; c++)
            dy[c] = (dy[c] - along * y[c]) / u->norm[r];
    }
}

static void unit_back_part(const void *job, int t, int n)
{
    const struct unit *u = job;
    unit_back_rows(u, hps_cpu_cut(u->B, 1, t, n), hps_cpu_cut(u->B, 1, t + 1, n));
}

void hps_cpu_unit_back(struct hps_dev *dev, int B, int width, float *y, float *norm, float *dy)
{
    struct unit u = { .B = (size_t)B, .width = (size_t)width, .y = y, .norm = norm, .dy = dy };

    hps_cpu_spread(dev, 0.5 * B * width, unit_back_part, &u);
}

struct pairs {
    const struct hps_pairs *p;
    float weight, *score, *du, *dall, *force;   /* force (B, n) of each pair, the first: its own */
    int n;                      /* the pairs of a row with its own one */
    int *at;                    /* (B, n) whose item each is           */
    double *sum;
};

/* The j-th other row that row b is held against. */
static size_t other(const struct hps_pairs *p, size_t b, size_t j)
{
    size_t mine = (size_t)p->first + b, others = (size_t)p->rows - 1;

    if ((size_t)p->negatives < others)
        j = (size_t)hps_rng_permute(hps_rng_sub(p->key, (uint64_t)p->example[b]), j, others);
    return j + (j >= mine);
}

static double pair_row(const struct pairs *k, size_t b)
{
    const struct hps_pairs *p = k->p;
    size_t D = (size_t)p->width, n = (size_t)k->n;
    const float *u = p->u + b * D, *mine = p->all + ((size_t)p->first + b) * D;
    float *force = k->force + b * n, own = dot(D, u, mine), share = 1.0f / (float)(n - 1);
    int *at = k->at + b * n;
    double sum = 0;

    at[0] = p->first + (int)b;
    if (k->score)
        k->score[b] = own;
    memset(force, 0, n * sizeof *force);
    for (size_t j = 1; j < n && p->label[b] > 0.5f; j++) {
        at[j] = (int)other(p, b, j - 1);
        float lack = p->margin - own + dot(D, u, p->all + (size_t)at[j] * D);
        sum += lack <= 0 ? 0 : (double)lack;
        force[j] = lack > 0 ? share * k->weight : 0;
        force[0] -= force[j];
    }
    return n > 1 ? sum * (double)share : 0;
}

HPS_MULTIVERSION static void pair_rows(const struct pairs *k, size_t first, size_t last,
                                       double *sum)
{
    const struct hps_pairs *p = k->p;
    size_t D = (size_t)p->width, n = (size_t)k->n;

    for (size_t b = first; b < last; b++) {
        const float *force = k->force + b * n;
        *sum += pair_row(k, b);
        if (!k->du)
            continue;
        memset(k->du + b * D, 0, D * sizeof *k->du);
        for (size_t j = 0; j < n; j++)
            if (force[j] != 0)
                add(D, force[j], p->all + (size_t)k->at[b * n + j] * D, k->du + b * D);
    }
}

static void pair_part(const void *job, int t, int n)
{
    const struct pairs *k = job;
    size_t B = (size_t)k->p->B;

    k->sum[t] = 0;
    pair_rows(k, hps_cpu_cut(B, 1, t, n), hps_cpu_cut(B, 1, t + 1, n), &k->sum[t]);
}

/* What pulls at the others: many rows pull at one, so each part has columns for itself. */
HPS_MULTIVERSION static void pull_columns(const struct pairs *k, size_t first, size_t last)
{
    const struct hps_pairs *p = k->p;
    size_t D = (size_t)p->width, n = (size_t)k->n;

    for (size_t r = 0; r < (size_t)p->rows; r++)
        memset(k->dall + r * D + first, 0, (last - first) * sizeof *k->dall);
    for (size_t b = 0; b < (size_t)p->B; b++)
        for (size_t j = 0; j < n; j++) {
            float force = k->force[b * n + j];
            if (force != 0)
                add(last - first, force, p->u + b * D + first,
                    k->dall + (size_t)k->at[b * n + j] * D + first);
        }
}

static void pull_part(const void *job, int t, int n)
{
    const struct pairs *k = job;
    size_t D = (size_t)k->p->width, first = hps_cpu_cut(D, 16, t, n);

    pull_columns(k, first, hps_cpu_cut(D, 16, t + 1, n));
}

void hps_cpu_pairs(struct hps_dev *dev, const struct hps_pairs *p, float weight, float *score,
                   double *loss_sum, float *du, float *dall)
{
    int others = p->negatives < p->rows - 1 ? p->negatives : p->rows - 1;
    size_t parts = (size_t)dev->nthread * sizeof(double), n = (size_t)others + 1;
    size_t pairs = (size_t)p->B * n;
    double *sum = hps_cpu_scratch(dev, parts + pairs * (sizeof(float) + sizeof(int)));
    struct pairs k = { .p = p, .weight = weight, .score = score, .du = du, .dall = dall,
                       .force = (float *)(void *)(sum + dev->nthread), .n = others + 1,
                       .sum = sum };
    k.at = (int *)(void *)(k.force + pairs);
    double work_ns = (double)p->B * (double)n * (20 + 0.3 * p->width);

    hps_cpu_spread(dev, work_ns, pair_part, &k);
    for (int t = 0; t < dev->nthread; t++)
        *loss_sum += sum[t];
    if (dall)
        hps_cpu_spread(dev, work_ns, pull_part, &k);
}

struct nce {
    size_t B, K, D, ldx;
    const float *x;
    float *e, weight, *score, *dx;
    double *sum;
};

/* log(1 + exp(x)) */
static double softplus(double x)
{
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

/* One class of row b: its loss; its row becomes its gradient. */
static inline double nce_class(const struct nce *k, const float *x, size_t b, size_t j)
{
    float *e = k->e + (b * k->K + j) * (k->D + 1), *dx = k->dx ? k->dx + b * k->D : NULL;
    double f = (double)dot(k->D, x, e) + (double)e[k->D], want = j == 0 ? 1 : 0;
    double odds = f - log((double)(k->K - 1));

    if (j == 0 && k->score)
        k->score[b] = (float)f;
    if (dx) {
        float force = (float)((1 / (1 + exp(-odds)) - want) * (double)k->weight);
        add(k->D, force, e, dx);
        for (size_t d = 0; d < k->D; d++)
            e[d] = force * x[d];
        e[k->D] = force;
    }
    return softplus(want > 0 ? -odds : odds);
}

HPS_MULTIVERSION static void nce_rows(const struct nce *k, size_t first, size_t last, double *sum)
{
    for (size_t b = first; b < last; b++) {
        if (k->dx)
            memset(k->dx + b * k->D, 0, k->D * sizeof *k->dx);
        for (size_t j = 0; j < k->K; j++)
            *sum += nce_class(k, k->x + b * k->ldx, b, j);
    }
}

static void nce_part(const void *job, int t, int n)
{
    const struct nce *k = job;

    k->sum[t] = 0;
    nce_rows(k, hps_cpu_cut(k->B, 1, t, n), hps_cpu_cut(k->B, 1, t + 1, n), &k->sum[t]);
}

void hps_cpu_nce(struct hps_dev *dev, int B, struct hps_tensor x, int K, float *e, float weight,
                 float *score, double *loss_sum, float *dx)
{
    double *sum = hps_cpu_scratch(dev, (size_t)dev->nthread * sizeof *sum);
    struct nce k = { (size_t)B, (size_t)K, (size_t)x.width, x.ld, x.data, e, weight, score, dx,
                     sum };

    hps_cpu_spread(dev, (double)B * K * (40 + 1.0 * x.width), nce_part, &k);
    for (int t = 0; t < dev->nthread; t++)
        *loss_sum += sum[t];
}
