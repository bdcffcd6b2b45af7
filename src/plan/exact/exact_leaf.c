/* exact_leaf.c - what one path costs: units at its best tau, and a place for each stage among
 * equal types. */
#include "plan/exact/exact_impl.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

/* Tries at packing the stages of one group into its types before it is given up. */
#define PACK_STEPS 5000

struct desk {
    struct hps_exact_leaf *leaf;
    struct hps_provision_job job;
    struct hps_cost_line *line;     /* (L) */
    double *price;
    long long *most, *units, *work, *used, *left;   /* (L) x 3, (G), (T)  */
    int *group, *type, *order;      /* (L) of each stage                  */
    int norder, steps;
};

/* A type is closed to a stage when a neighbour of its group has it: the two would be one run. */
static bool closed(const struct desk *d, int s, int type)
{
    if (d->leaf->m->cuts)
        return false;
    return (s > 0 && d->group[s - 1] == d->group[s] && d->type[s - 1] == type) ||
           (s + 1 < d->job.S && d->group[s + 1] == d->group[s] && d->type[s + 1] == type);
}

/* Is an earlier type of the group as empty and as large as this one? Then it was tried in its
 * place. */
static bool tried(const struct desk *d, int g, int b)
{
    const struct hps_exact_model *m = d->leaf->m;
    long long room = hps_cost_room(m->p, m->member[b]);

    if (d->left[m->member[b]] < room)
        return false;
    for (int a = m->begin[g]; a < b; a++)
        if (d->left[m->member[a]] == room && hps_cost_room(m->p, m->member[a]) == room)
            return true;
    return false;
}

/* Put the a-th largest stage and all after it, by trial. */
static bool put(struct desk *d, const long long *units, int a)
{
    const struct hps_exact_model *m = d->leaf->m;

    if (a == d->norder)
        return true;
    int s = d->order[a], g = d->group[s];
    for (int b = m->begin[g]; b < m->begin[g + 1]; b++) {
        int t = m->member[b];
        if (d->left[t] < units[s] || closed(d, s, t) || tried(d, g, b))
            continue;
        if (++d->steps > PACK_STEPS)
            return false;
        d->left[t] -= units[s];
        d->type[s] = t;
        if (put(d, units, a + 1))
            return true;
        d->left[t] += units[s];
        d->type[s] = -1;
    }
    return false;
}

static bool pack(struct desk *d, const long long *units, int g)
{
    const struct hps_exact_model *m = d->leaf->m;

    d->norder = 0;
    for (int s = 0; s < d->job.S; s++) {
        if (d->group[s] != g)
            continue;
        int a = d->norder++;
        for (; a > 0 && units[d->order[a - 1]] < units[s]; a--)
            d->order[a] = d->order[a - 1];
        d->order[a] = s;
        d->type[s] = -1;
    }
    for (int b = m->begin[g]; b < m->begin[g + 1]; b++)
        d->left[m->member[b]] = hps_cost_room(m->p, m->member[b]);
    d->steps = 0;
    bool good = put(d, units, 0);
    if (!good && d->steps > PACK_STEPS)
        d->leaf->doubt = true;
    return good;
}

/* Do the limits allow these units? Sets the real type of each stage. */
static bool fits(void *with, const long long *units)
{
    struct desk *d = with;
    const struct hps_exact_model *m = d->leaf->m;

    for (int s = 0; s < d->job.S; s++)
        d->used[d->group[s]] = 0;
    for (int s = 0; s < d->job.S; s++) {
        int g = d->group[s];
        d->used[g] += units[s];
        if (d->used[g] > m->sum[g])
            return false;
    }
    for (int s = 0; s < d->job.S; s++) {
        int g = d->group[s];
        if (m->begin[g + 1] - m->begin[g] == 1)
            d->type[s] = m->member[m->begin[g]];
        else if (d->used[g] >= 0 && !pack(d, units, g))
            return false;
        else
            d->used[g] = -1;
    }
    return true;
}

struct hps_exact_leaf *hps_exact_leaf_new(const struct hps_exact_model *m)
{
    struct hps_exact_leaf *leaf = hps_mem_new(1, sizeof *leaf);
    struct desk *d = hps_mem_new(1, sizeof *d);
    size_t L = (size_t)m->L, T = (size_t)m->p->T;

    leaf->m = m;
    leaf->best = INFINITY;
    leaf->arc = hps_mem_new(L, sizeof *leaf->arc);
    leaf->type = hps_mem_new(L, sizeof *leaf->type);
    leaf->units = hps_mem_new(L, sizeof *leaf->units);
    leaf->desk = d;
    d->leaf = leaf;
    d->line = hps_mem_new(L, sizeof *d->line);
    d->price = hps_mem_new(2 * L, sizeof *d->price);
    d->most = hps_mem_new(3 * L + 2 * T, sizeof *d->most);
    d->units = d->most + L;
    d->work = d->most + 2 * L;
    d->used = d->most + 3 * L;
    d->left = d->used + T;
    d->group = hps_mem_new(3 * L, sizeof *d->group);
    d->type = d->group + L;
    d->order = d->group + 2 * L;
    d->job = (struct hps_provision_job){ .line = d->line, .price = d->price, .most = d->most,
                                         .server_price = m->server_price, .fits = fits,
                                         .with = d, .et = d->price + L };
    return leaf;
}

void hps_exact_leaf_free(struct hps_exact_leaf *leaf)
{
    if (!leaf)
        return;
    struct desk *d = leaf->desk;
    hps_mem_free(d->line);
    hps_mem_free(d->price);
    hps_mem_free(d->most);
    hps_mem_free(d->group);
    hps_mem_free(d);
    hps_mem_free(leaf->arc);
    hps_mem_free(leaf->type);
    hps_mem_free(leaf->units);
    hps_mem_free(leaf);
}

static void load(struct desk *d, int S, const int *arc)
{
    const struct hps_exact_model *m = d->leaf->m;

    d->job.S = S;
    for (int s = 0; s < S; s++) {
        const struct hps_exact_arc *x = &m->arc[arc[s]];
        d->line[s] = x->line;
        d->price[s] = m->price[x->g];
        d->most[s] = m->most[x->g];
        d->group[s] = x->g;
    }
}

static void keep(struct hps_exact_leaf *leaf, int S, const int *arc, double cost)
{
    struct desk *d = leaf->desk;

    fits(d, d->units);      /* the last units tried were others: the types belong to them */
    leaf->best = cost;
    leaf->S = S;
    memcpy(leaf->arc, arc, (size_t)S * sizeof *arc);
    memcpy(leaf->type, d->type, (size_t)S * sizeof *d->type);
    memcpy(leaf->units, d->units, (size_t)S * sizeof *d->units);
}

double hps_exact_leaf_price(struct hps_exact_leaf *leaf, int S, const int *arc, double cutoff)
{
    const struct hps_exact_model *m = leaf->m;
    struct desk *d = leaf->desk;
    double cut = cutoff * (1 - HPS_EXACT_SAME), cost;

    load(d, S, arc);
    leaf->evaluations++;
    if (m->least_tau)
        cost = hps_provision_fastest(&d->job, fmin(cut, m->tau_most), d->units, d->work);
    else
        cost = hps_provision_cheapest(&d->job, m->tau_most, cut, d->units, d->work);
    if (cost < leaf->best * (1 - HPS_EXACT_SAME))
        keep(leaf, S, arc, cost);
    return cost;
}

bool hps_exact_leaf_try(struct hps_exact_leaf *leaf, int S, const int *arc)
{
    return isfinite(hps_exact_leaf_price(leaf, S, arc, leaf->best));
}
