/* cpu_in_batch.c - in-batch negatives: L2 normalisation of rows, the hinge loss between rows. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "hw/cpu/cpu_math_impl.h"
#include "hw/op_in_batch.h"

struct norm {
    size_t B, width, ldx;
    const float *x;
    float *y, *norm, *dy;
};

HPS_MULTIVERSION static void norm_rows(const struct norm *u, size_t first, size_t last)
{
    for (size_t r = first; r < last; r++) {
        const float *x = u->x + r * u->ldx;
        float *y = u->y + r * u->width, norm = sqrtf(hps_cpu_dot(u->width, x, x) + 1e-12f);
        u->norm[r] = norm;
        for (size_t c = 0; c < u->width; c++)
            y[c] = x[c] / u->norm[r];
    }
}

static void norm_task(const void *job, int t, int n)
{
    const struct norm *u = job;
    norm_rows(u, hps_cpu_cut(u->B, 1, t, n), hps_cpu_cut(u->B, 1, t + 1, n));
}

static void l2_normalise(struct hps_dev *dev, int B, struct hps_tensor x, float *y, float *norm)
{
    struct norm u = { .B = (size_t)B, .width = (size_t)x.width, .ldx = x.ld, .x = x.data, .y = y,
                      .norm = norm };

    hps_cpu_parallel_for(dev, 0.5 * B * x.width, norm_task, &u);
}

HPS_MULTIVERSION static void norm_back_rows(const struct norm *u, size_t first, size_t last)
{
    for (size_t r = first; r < last; r++) {
        float *y = u->y + r * u->width, *dy = u->dy + r * u->width;
        float along = hps_cpu_dot(u->width, y, dy);
        for (size_t c = 0; c < u->width; c++)
            dy[c] = (dy[c] - along * y[c]) / u->norm[r];
    }
}

static void norm_back_task(const void *job, int t, int n)
{
    const struct norm *u = job;
    norm_back_rows(u, hps_cpu_cut(u->B, 1, t, n), hps_cpu_cut(u->B, 1, t + 1, n));
}

static void l2_normalise_back(struct hps_dev *dev, int B, int width, float *y, float *norm,
                              float *dy)
{
    struct norm u = { .B = (size_t)B, .width = (size_t)width, .y = y, .norm = norm, .dy = dy };

    hps_cpu_parallel_for(dev, 0.5 * B * width, norm_back_task, &u);
}

struct held {
    const struct hps_in_batch *p;
    float weight, *score, *du, *dall;
    float *force;               /* (B, n) derivative by the dot product of each pair      */
    int n;                      /* pairs of a row: with its own item, then with negatives */
    int *at;                    /* (B, n) the row of the item                              */
    double *sum;
};

/* The j-th negative of row b. */
static size_t other(const struct hps_in_batch *p, size_t b, size_t j)
{
    size_t mine = (size_t)p->first + b, others = (size_t)p->rows - 1;

    if ((size_t)p->negatives < others)
        j = (size_t)hps_rng_permute(hps_rng_sub(p->key, (uint64_t)p->example[b]), j, others);
    return j + (j >= mine);
}

static double pair_row(const struct held *k, size_t b)
{
    const struct hps_in_batch *p = k->p;
    size_t D = (size_t)p->width, n = (size_t)k->n;
    const float *u = p->u + b * D, *mine = p->all + ((size_t)p->first + b) * D;
    float *force = k->force + b * n, own = hps_cpu_dot(D, u, mine), share = 1.0f / (float)(n - 1);
    int *at = k->at + b * n;
    double sum = 0;

    at[0] = p->first + (int)b;
    if (k->score) k->score[b] = own;
    memset(force, 0, n * sizeof *force);
    for (size_t j = 1; j < n && p->label[b] > 0.5f; j++) {
        at[j] = (int)other(p, b, j - 1);
        float lack = p->margin - own + hps_cpu_dot(D, u, p->all + (size_t)at[j] * D);
        sum += lack <= 0 ? 0 : (double)lack;
        force[j] = lack > 0 ? share * k->weight : 0;
        force[0] -= force[j];
    }
    return n > 1 ? sum * (double)share : 0;
}

HPS_MULTIVERSION static void pair_rows(const struct held *k, size_t first, size_t last,
                                       double *sum)
{
    const struct hps_in_batch *p = k->p;
    size_t D = (size_t)p->width, n = (size_t)k->n;

    for (size_t b = first; b < last; b++) {
        const float *force = k->force + b * n;
        *sum += pair_row(k, b);
        if (!k->du) continue;
        memset(k->du + b * D, 0, D * sizeof *k->du);
        for (size_t j = 0; j < n; j++)
            if (force[j] != 0)
                hps_cpu_add(D, force[j], p->all + (size_t)k->at[b * n + j] * D, k->du + b * D);
    }
}

static void pair_task(const void *job, int t, int n)
{
    const struct held *k = job;
    size_t B = (size_t)k->p->B;

    k->sum[t] = 0;
    pair_rows(k, hps_cpu_cut(B, 1, t, n), hps_cpu_cut(B, 1, t + 1, n), &k->sum[t]);
}

/* The gradients of the items: many rows add to one item, so each task has columns of its own. */
HPS_MULTIVERSION static void pull_columns(const struct held *k, size_t first, size_t last)
{
    const struct hps_in_batch *p = k->p;
    size_t D = (size_t)p->width, n = (size_t)k->n;

    for (size_t r = 0; r < (size_t)p->rows; r++)
        memset(k->dall + r * D + first, 0, (last - first) * sizeof *k->dall);
    for (size_t b = 0; b < (size_t)p->B; b++)
        for (size_t j = 0; j < n; j++) {
            float force = k->force[b * n + j];
            if (force != 0)
                hps_cpu_add(last - first, force, p->u + b * D + first,
                    k->dall + (size_t)k->at[b * n + j] * D + first);
        }
}

static void pull_task(const void *job, int t, int n)
{
    const struct held *k = job;
    size_t D = (size_t)k->p->width, first = hps_cpu_cut(D, 16, t, n);

    pull_columns(k, first, hps_cpu_cut(D, 16, t + 1, n));
}

static void hinge(struct hps_dev *dev, const struct hps_in_batch *p, float weight, float *score,
                  double *loss_sum, float *du, float *dall)
{
    int others = p->negatives < p->rows - 1 ? p->negatives : p->rows - 1;
    size_t ntask = (size_t)dev->nthread * sizeof(double), n = (size_t)others + 1;
    size_t pairs = (size_t)p->B * n;
    double *sum = hps_cpu_scratch(dev, ntask + pairs * (sizeof(float) + sizeof(int)));
    struct held k = { .p = p, .weight = weight, .score = score, .du = du, .dall = dall,
                       .force = (float *)(void *)(sum + dev->nthread), .n = others + 1,
                       .sum = sum };
    k.at = (int *)(void *)(k.force + pairs);
    double work_ns = (double)p->B * (double)n * (20 + 0.3 * p->width);

    hps_cpu_parallel_for(dev, work_ns, pair_task, &k);
    for (int t = 0; t < dev->nthread; t++)
        *loss_sum += sum[t];
    if (dall) hps_cpu_parallel_for(dev, work_ns, pull_task, &k);
}

const struct hps_op_in_batch hps_cpu_in_batch = { l2_normalise, l2_normalise_back, hinge };
