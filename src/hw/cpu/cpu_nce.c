/* cpu_nce.c - noise-contrastive estimation: row by row over its classes, sums by task in order. */
#include <math.h>
#include <string.h>

#include "hw/cpu/cpu_math_impl.h"
#include "hw/op_nce.h"

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

/* The loss of one class of row b; its weights are overwritten by their gradient. */
static inline double nce_class(const struct nce *k, const float *x, size_t b, size_t j)
{
    float *e = k->e + (b * k->K + j) * (k->D + 1), *dx = k->dx ? k->dx + b * k->D : NULL;
    double f = (double)hps_cpu_dot(k->D, x, e) + (double)e[k->D], want = j == 0 ? 1 : 0;
    double odds = f - log((double)(k->K - 1));

    if (j == 0 && k->score) k->score[b] = (float)f;
    if (dx) {
        float force = (float)((1 / (1 + exp(-odds)) - want) * (double)k->weight);
        hps_cpu_add(k->D, force, e, dx);
        for (size_t d = 0; d < k->D; d++)
            e[d] = force * x[d];
        e[k->D] = force;
    }
    return softplus(want > 0 ? -odds : odds);
}

HPS_MULTIVERSION static void nce_rows(const struct nce *k, size_t first, size_t last, double *sum)
{
    for (size_t b = first; b < last; b++) {
        if (k->dx) memset(k->dx + b * k->D, 0, k->D * sizeof *k->dx);
        for (size_t j = 0; j < k->K; j++)
            *sum += nce_class(k, k->x + b * k->ldx, b, j);
    }
}

static void nce_task(const void *job, int t, int n)
{
    const struct nce *k = job;

    k->sum[t] = 0;
    nce_rows(k, hps_cpu_cut(k->B, 1, t, n), hps_cpu_cut(k->B, 1, t + 1, n), &k->sum[t]);
}

static void nce(struct hps_dev *dev, const struct hps_loss *loss, int K, float *e)
{
    double *sum = hps_cpu_scratch(dev, (size_t)dev->nthread * sizeof *sum);
    struct nce k = { (size_t)loss->B, (size_t)K, (size_t)loss->x.width, loss->x.ld, loss->x.data,
                     e, loss->weight, loss->score, loss->dx.data, sum };

    hps_cpu_parallel_for(dev, (double)k.B * K * (40 + 1.0 * (double)k.D), nce_task, &k);
    for (int t = 0; t < dev->nthread; t++)
        *loss->sum += sum[t];
}

const struct hps_op_nce hps_cpu_nce = { nce };
