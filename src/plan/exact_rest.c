/* exact_rest.c - what the rest of a path costs at least, by the units that are left of a few
 * groups. */
#include "plan/exact_label.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

/* Numbers of units left, at most. */
#define STATES 1024

struct hps_exact_rest *hps_exact_rest_new(const struct hps_exact_model *m)
{
    struct hps_exact_rest *x = hps_mem_new(1, sizeof *x);
    size_t L = (size_t)m->L, G = (size_t)m->G;

    x->m = m;
    x->group = hps_mem_new(3 * G, sizeof *x->group);
    x->at = x->group + G;
    x->stride = x->at + G;
    x->least = hps_mem_new((L + 1) * STATES, sizeof *x->least);
    x->price = hps_mem_new((size_t)m->dual[G], sizeof *x->price);
    return x;
}

void hps_exact_rest_free(struct hps_exact_rest *x)
{
    if (!x)
        return;
    hps_mem_free(x->group);
    hps_mem_free(x->least);
    hps_mem_free(x->price);
    hps_mem_free(x);
}

/* The group that costs most for the states that it takes; -1: none has room. */
static int next_group(const struct hps_exact_rest *x, const double *lambda)
{
    const struct hps_exact_model *m = x->m;
    double most = 0;
    int best = -1;

    for (int g = 0; g < m->G; g++) {
        if (x->at[g] >= 0 || m->sum[g] >= STATES || x->n * (m->sum[g] + 1) > STATES)
            continue;
        double worth = hps_exact_dual_most(m, lambda, g) / log2((double)m->sum[g] + 1);
        if (worth > most) {
            most = worth;
            best = g;
        }
    }
    return best;
}

static void choose(struct hps_exact_rest *x, const double *lambda)
{
    const struct hps_exact_model *m = x->m;

    x->n = 1;
    x->ngroup = 0;
    memset(x->at, -1, (size_t)m->G * sizeof *x->at);
    memcpy(x->price, lambda, (size_t)m->dual[m->G] * sizeof *lambda);
    for (int g; (g = next_group(x, lambda)) >= 0;) {
        x->stride[x->ngroup] = x->n;
        x->n *= (int)m->sum[g] + 1;
        x->at[g] = x->ngroup;
        x->group[x->ngroup++] = g;
        for (int a = m->dual[g]; a < m->dual[g + 1]; a++)
            x->price[a] = 0;
    }
}

/* An item before the least rests: for all units left that suffice for it. */
static void offer(const struct hps_exact_rest *x, double *restrict to,
                  const double *restrict from, const struct hps_exact_item *e)
{
    int at = x->at[e->g], stride = at < 0 ? 0 : x->stride[at];
    int block = at < 0 ? x->n : stride * ((int)x->m->sum[e->g] + 1), off = stride * (int)e->k;

    for (int b = 0; b < x->n; b += block)
        for (int s = b + off; s < b + block; s++) {
            double value = from[s - off] + e->c;
            to[s] = value < to[s] ? value : to[s];
        }
}

double hps_exact_rest_fill(struct hps_exact_rest *x, struct hps_exact_view *v)
{
    int L = x->m->L;

    choose(x, v->lambda);
    hps_exact_dual_charge(v, x->price);
    x->base = x->m->server_price * v->t1 - hps_exact_dual_base(x->m, x->price);
    for (int s = 0; s < x->n; s++)
        x->least[(size_t)L * (size_t)x->n + (size_t)s] = 0;
    for (int i = L - 1; i >= 0; i--) {
        double *to = x->least + (size_t)i * (size_t)x->n;
        for (int s = 0; s < x->n; s++)
            to[s] = INFINITY;
        for (int a = v->first[i]; a < v->first[i + 1]; a++)
            offer(x, to, x->least + (size_t)(v->item[a].j + 1) * (size_t)x->n,
                  &v->item[a]);
    }
    return x->least[x->n - 1] + x->base;
}
