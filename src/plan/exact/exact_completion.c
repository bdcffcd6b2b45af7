/* exact_completion.c - the completion bound: a lower bound on the cost from a boundary to the end
 * of a path, by the units left of a few groups. */
#include "plan/exact/exact_label_impl.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/multiversion.h"

/* Numbers of units left, at most. */
#define STATES 2048

struct hps_exact_completion *hps_exact_completion_new(const struct hps_exact_model *m)
{
    struct hps_exact_completion *x = hps_mem_new(1, sizeof *x);
    size_t L = (size_t)m->L, G = (size_t)m->G;

    x->m = m;
    x->group = hps_mem_new(3 * G, sizeof *x->group);
    x->at = x->group + G;
    x->stride = x->at + G;
    x->min = hps_mem_new((L + 1) * STATES, sizeof *x->min);
    x->price = hps_mem_new((size_t)m->dual[G], sizeof *x->price);
    return x;
}

void hps_exact_completion_free(struct hps_exact_completion *x)
{
    if (!x) return;
    hps_mem_free(x->group);
    hps_mem_free(x->min);
    hps_mem_free(x->price);
    hps_mem_free(x);
}

/* The group of the highest charge for the states that it takes; -1: there are no states left for
 * any. */
static int next_group(const struct hps_exact_completion *x, const double *lambda)
{
    const struct hps_exact_model *m = x->m;
    double max = 0;
    int best = -1;

    for (int g = 0; g < m->G; g++) {
        if (x->at[g] >= 0 || m->sum[g] >= STATES || x->n * (m->sum[g] + 1) > STATES) continue;
        double worth = hps_exact_dual_most(m, lambda, g) / log2((double)m->sum[g] + 1);
        if (worth > max) {
            max = worth;
            best = g;
        }
    }
    return best;
}

/* Order groups so that neighbouring states belong to a group of a large limit: long loops. */
static void arrange(struct hps_exact_completion *x)
{
    const struct hps_exact_model *m = x->m;

    for (int a = 0, stride = 1; a < x->ngroup; a++) {
        x->at[x->group[a]] = a;
        x->stride[a] = stride;
        stride *= (int)m->sum[x->group[a]] + 1;
    }
}

static void choose(struct hps_exact_completion *x, const double *lambda)
{
    const struct hps_exact_model *m = x->m;

    x->n = 1;
    x->ngroup = 0;
    memset(x->at, -1, (size_t)m->G * sizeof *x->at);
    memcpy(x->price, lambda, (size_t)m->dual[m->G] * sizeof *lambda);
    for (int g; (g = next_group(x, lambda)) >= 0;) {
        int a = x->ngroup++;
        for (; a > 0 && m->sum[x->group[a - 1]] < m->sum[g]; a--)
            x->group[a] = x->group[a - 1];
        x->group[a] = g;
        x->at[g] = 0;
        x->n *= (int)m->sum[g] + 1;
        for (int d = m->dual[g]; d < m->dual[g + 1]; d++)
            x->price[d] = 0;
    }
    arrange(x);
}

/* Put a stage before the completions, for all numbers of units left that suffice: in each block of
 * `n` states those from `first` on, moved by `first`. */
HPS_MULTIVERSION static void offer(double *restrict to, const double *restrict from, int states,
                                   int n, int first, double c)
{
    for (int b = 0; b < states; b += n)
        for (int s = b + first; s < b + n; s++) {
            double value = from[s - first] + c;
            to[s] = value < to[s] ? value : to[s];
        }
}

double hps_exact_completion_fill(struct hps_exact_completion *x, struct hps_exact_view *v)
{
    const struct hps_exact_model *m = x->m;
    int L = m->L;

    choose(x, v->dual.lambda);
    hps_exact_dual_charge(v, x->price);
    x->base = hps_exact_model_served(m, v->t1, v->t2) - hps_exact_dual_base(v, x->price);
    for (int s = 0; s < x->n; s++)
        x->min[(size_t)L * (size_t)x->n + (size_t)s] = 0;
    for (int i = L - 1; i >= 0; i--) {
        double *to = x->min + (size_t)i * (size_t)x->n;
        for (int s = 0; s < x->n; s++)
            to[s] = INFINITY;
        for (int a = v->first[i]; a < v->first[i + 1]; a++) {
            const struct hps_exact_item *e = &v->item[a];
            const double *from = x->min + (size_t)(e->j + 1) * (size_t)x->n;
            int stride = x->at[e->g] < 0 ? 0 : x->stride[x->at[e->g]];
            int block = stride > 0 ? stride * ((int)m->sum[e->g] + 1) : x->n;
            offer(to, from, x->n, block, stride * (int)e->k, e->c);
        }
    }
    int served = x->at[m->servers.type];
    x->begin = x->n - 1 - (served >= 0 ? x->stride[served] * v->served : 0);
    return x->min[x->begin] + x->base;
}
