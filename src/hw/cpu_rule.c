/* cpu_rule.c - the update rules, once as a loop over weights, used for planes and for rows. */
#include <math.h>
#include <string.h>

#include "hw/cpu.h"

#define BLOCK 4096              /* weights of a plane in work at once */
#define INLINE __attribute__((always_inline)) static inline

struct rule {                   /* struct hps_rule with what one step has in common worked out */
    enum hps_rule_kind kind;
    float lr, eps, l2, scale;
    float keep1, take1, keep2, take2, rise2;
};

static struct rule prepare(const struct hps_rule *r)
{
    struct rule k = { .kind = r->kind, .lr = r->lr, .eps = r->eps, .l2 = r->l2,
                      .scale = r->scale };

    if (r->kind != HPS_RULE_ADAM)
        return k;
    double b1 = (double)r->beta1, b2 = (double)r->beta2, step = (double)r->step;
    k.keep1 = r->beta1;
    k.keep2 = r->beta2;
    k.take1 = (float)(1 - b1);
    k.take2 = (float)(1 - b2);
    k.lr = (float)((double)r->lr / (1 - pow(b1, step)));
    k.rise2 = (float)(1 / (1 - pow(b2, step)));
    return k;
}

INLINE void sgd(const struct rule *k, size_t n, float *restrict w, const float *restrict g)
{
    for (size_t i = 0; i < n; i++)
        w[i] -= k->lr * (k->scale * g[i] + k->l2 * w[i]);
}

INLINE void adagrad(const struct rule *k, size_t n, float *restrict w, const float *restrict g,
                    float *restrict s)
{
    for (size_t i = 0; i < n; i++) {
        float d = k->scale * g[i] + k->l2 * w[i];
        float sum = s[i] + d * d;
        s[i] = sum;
        w[i] -= k->lr * d / (sqrtf(sum) + k->eps);
    }
}

INLINE void adam(const struct rule *k, size_t n, float *restrict w, const float *restrict g,
                 float *restrict m, float *restrict v)
{
    for (size_t i = 0; i < n; i++) {
        float d = k->scale * g[i] + k->l2 * w[i];
        float mean = k->keep1 * m[i] + k->take1 * d;
        float square = k->keep2 * v[i] + k->take2 * d * d;
        m[i] = mean;
        v[i] = square;
        w[i] -= k->lr * mean / (sqrtf(square * k->rise2) + k->eps);
    }
}

INLINE void apply(const struct rule *k, size_t n, float *w, const float *g, float *s, size_t plane)
{
    switch (k->kind) {
    case HPS_RULE_SGD: sgd(k, n, w, g); break;
    case HPS_RULE_ADAGRAD: adagrad(k, n, w, g, s); break;
    case HPS_RULE_ADAM: adam(k, n, w, g, s, s + plane); break;
    }
}

struct update {
    struct rule rule;
    size_t n;
    float *param, *grad, *state;
};

HPS_CLONES static void apply_planes(const struct update *u, size_t first, size_t last)
{
    for (size_t i = first; i < last; i += BLOCK) {
        size_t n = last - i < BLOCK ? last - i : BLOCK;
        apply(&u->rule, n, u->param + i, u->grad + i, u->state + i, u->n);
        memset(u->grad + i, 0, n * sizeof *u->grad);
    }
}

static void update_part(const void *job, int t, int n)
{
    const struct update *u = job;
    apply_planes(u, hps_cpu_cut(u->n, 16, t, n), hps_cpu_cut(u->n, 16, t + 1, n));
}

void hps_cpu_update(struct hps_dev *dev, const struct hps_rule *rule, size_t n, float *param,
                    float *grad, float *state)
{
    struct update u = { prepare(rule), n, param, grad, state };
    hps_cpu_spread(dev, (double)n * (0.5 + 0.5 * rule->nstate), update_part, &u);
}

struct rows {
    struct rule rule;
    size_t n, dim, stride, ahead;
    float *table;
    const int *at;
    const float *grad;
};

INLINE void fetch_row(const struct rows *j, size_t i)
{
    const float *row = j->table + (size_t)j->at[i] * j->stride;

    for (size_t f = 0; f < j->ahead; f += 16)
        __builtin_prefetch(row + f, 1);
    __builtin_prefetch(row + j->ahead - 1, 1);
}

INLINE void apply_rows(const struct rows *j, size_t i, size_t last, size_t dim)
{
    for (; i < last; i++) {
        float *row = j->table + (size_t)j->at[i] * j->stride;
        if (i + HPS_CPU_AHEAD < j->n)
            fetch_row(j, i + HPS_CPU_AHEAD);
        apply(&j->rule, dim, row, j->grad + i * dim, row + dim, dim);
    }
}

HPS_CLONES static void apply_span(const struct rows *j, size_t first, size_t last)
{
    switch (j->dim) {
    case 1: apply_rows(j, first, last, 1); break;
    case 8: apply_rows(j, first, last, 8); break;
    case 10: apply_rows(j, first, last, 10); break;
    case 16: apply_rows(j, first, last, 16); break;
    default: apply_rows(j, first, last, j->dim);
    }
}

static void apply_part(const void *job, int t, int n)
{
    const struct rows *j = job;
    apply_span(j, hps_cpu_cut(j->n, 16, t, n), hps_cpu_cut(j->n, 16, t + 1, n));
}

void hps_cpu_rows_apply(struct hps_dev *dev, const struct hps_rule *rule, float *table,
                        size_t stride, int dim, size_t n, const int *at, const float *grad)
{
    size_t width = (size_t)dim * (1 + (size_t)rule->nstate);
    struct rows j = { prepare(rule), n, (size_t)dim, stride, width, table, at, grad };

    hps_cpu_spread(dev, (double)n * (10 + 1.0 * (double)width), apply_part, &j);
}
