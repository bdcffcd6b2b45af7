/* exact_leaf.c - what one path costs: units at its best tau, and a place for each stage among
 * equal types. */
#include "plan/exact/exact_impl.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

/* Tries at packing the stages of one group into its types before it is given up. */
#define PACK_STEPS 5000

/* Finds a real type for each stage, among the equal types of its group. */
struct hps_provision_packing {
    struct hps_exact_leaf *leaf;
    long long *left; /* (T) units of a real type that are not taken yet       */
    int *type;       /* (L) of each stage, -1: none yet                       */
    int *order;      /* (L) the stages of one group, those of most units first */
    int norder, steps;
};

/* A type is closed to a stage when a neighbour of its group has it: the two would be one run. */
static bool closed(const struct hps_provision_packing *d, int s, int type)
{
    if (d->leaf->m->cuts) return false;
    return (s > 0 && d->leaf->job.type[s - 1] == d->leaf->job.type[s] && d->type[s - 1] == type) ||
           (s + 1 < d->leaf->job.S && d->leaf->job.type[s + 1] == d->leaf->job.type[s] &&
            d->type[s + 1] == type);
}

/* Was an earlier type of the group, as empty and as large as this one, tried in its place? */
static bool tried(const struct hps_provision_packing *d, int g, int b)
{
    const struct hps_exact_model *m = d->leaf->m;
    long long capacity = hps_cost_capacity(m->p, m->member[b]);

    if (d->left[m->member[b]] < capacity) return false;
    for (int a = m->begin[g]; a < b; a++)
        if (d->left[m->member[a]] == capacity && hps_cost_capacity(m->p, m->member[a]) == capacity)
            return true;
    return false;
}

/* Put the a-th largest stage and all after it, by trial. */
static bool put(struct hps_provision_packing *d, const long long *units, int a)
{
    const struct hps_exact_model *m = d->leaf->m;

    if (a == d->norder) return true;
    int s = d->order[a], g = d->leaf->job.type[s];
    for (int b = m->begin[g]; b < m->begin[g + 1]; b++) {
        int t = m->member[b];
        if (d->left[t] < units[s] || closed(d, s, t) || tried(d, g, b)) continue;
        if (++d->steps > PACK_STEPS) return false;
        d->left[t] -= units[s];
        d->type[s] = t;
        if (put(d, units, a + 1)) return true;
        d->left[t] += units[s];
        d->type[s] = -1;
    }
    return false;
}

static bool pack_group(struct hps_provision_packing *d, const long long *units, int g)
{
    const struct hps_exact_model *m = d->leaf->m;

    d->norder = 0;
    for (int s = 0; s < d->leaf->job.S; s++) {
        if (d->leaf->job.type[s] != g) continue;
        int a = d->norder++;
        for (; a > 0 && units[d->order[a - 1]] < units[s]; a--)
            d->order[a] = d->order[a - 1];
        d->order[a] = s;
        d->type[s] = -1;
    }
    for (int b = m->begin[g]; b < m->begin[g + 1]; b++)
        d->left[m->member[b]] = hps_cost_capacity(m->p, m->member[b]);
    if (m->servers.can.max > 0)
        d->left[m->servers.can.type] -= hps_provision_servers_take(&d->leaf->job.servers);
    d->steps = 0;
    bool good = put(d, units, 0);
    if (!good && d->steps > PACK_STEPS) d->leaf->doubt = true;
    return good;
}

/* Can the stages of each group be packed into its types? Sets the real type of each stage. */
static bool pack(struct hps_provision_packing *d, const long long *units)
{
    const struct hps_exact_model *m = d->leaf->m;
    const struct hps_provision_job *job = &d->leaf->job;

    for (int s = 0; s < job->S; s++) {
        int g = job->type[s];
        if (m->begin[g + 1] - m->begin[g] == 1)
            d->type[s] = m->member[m->begin[g]];
        else if (job->used[g] >= 0 && !pack_group(d, units, g))
            return false;
        else
            job->used[g] = -1; /* packed */
    }
    return true;
}

struct hps_exact_leaf *hps_exact_leaf_new(const struct hps_exact_model *m)
{
    struct hps_exact_leaf *leaf = hps_mem_new(1, sizeof *leaf);
    struct hps_provision_packing *d = hps_mem_new(1, sizeof *d);
    size_t L = (size_t)m->L, T = (size_t)m->p->T;

    leaf->m = m;
    leaf->best = INFINITY;
    leaf->arc = hps_mem_new(L, sizeof *leaf->arc);
    leaf->type = hps_mem_new(L, sizeof *leaf->type);
    leaf->units = hps_mem_new(L, sizeof *leaf->units);
    leaf->trial = hps_mem_new(L, sizeof *leaf->trial);
    leaf->scratch = hps_mem_new(L, sizeof *leaf->scratch);
    d->leaf = leaf;
    d->left = hps_mem_new(T, sizeof *d->left);
    d->type = hps_mem_new(L, sizeof *d->type);
    d->order = hps_mem_new(L, sizeof *d->order);
    hps_provision_job_init(&leaf->job, m->L, m->G);
    memcpy(leaf->job.capacity, m->sum, (size_t)m->G * sizeof *m->sum);
    leaf->job.servers = m->servers;
    leaf->job.pack = pack;
    leaf->job.packing = d;
    return leaf;
}

void hps_exact_leaf_free(struct hps_exact_leaf *leaf)
{
    if (!leaf) return;
    hps_mem_free(leaf->job.packing->left);
    hps_mem_free(leaf->job.packing->type);
    hps_mem_free(leaf->job.packing->order);
    hps_mem_free(leaf->job.packing);
    hps_provision_job_done(&leaf->job);
    hps_mem_free(leaf->arc);
    hps_mem_free(leaf->type);
    hps_mem_free(leaf->units);
    hps_mem_free(leaf->trial);
    hps_mem_free(leaf->scratch);
    hps_mem_free(leaf);
}

static void load(struct hps_exact_leaf *leaf, int S, const int *arc)
{
    const struct hps_exact_model *m = leaf->m;
    struct hps_provision_job *job = &leaf->job;

    job->S = S;
    for (int s = 0; s < S; s++) {
        const struct hps_exact_arc *x = &m->arc[arc[s]];
        job->line[s] = x->line;
        job->price[s] = m->price[x->g];
        job->max[s] = m->max[x->g];
        job->type[s] = x->g;
    }
}

static void keep(struct hps_exact_leaf *leaf, int S, const int *arc, double cost)
{
    size_t n = (size_t)S;

    /* the last units tried were others: the types belong to them */
    hps_provision_fits(&leaf->job, leaf->trial);
    leaf->best = cost;
    leaf->S = S;
    leaf->servers = leaf->job.servers.units;
    memcpy(leaf->arc, arc, n * sizeof *arc);
    memcpy(leaf->type, leaf->job.packing->type, n * sizeof *leaf->type);
    memcpy(leaf->units, leaf->trial, n * sizeof *leaf->units);
}

double hps_exact_leaf_price(struct hps_exact_leaf *leaf, int S, const int *arc, double cutoff)
{
    const struct hps_exact_model *m = leaf->m;
    double cut = cutoff * (1 - HPS_EXACT_SAME), cost;

    load(leaf, S, arc);
    leaf->evaluations++;
    if (m->min_tau)
        cost = hps_provision_fastest(&leaf->job, fmin(cut, m->tau_max), leaf->trial, leaf->scratch);
    else
        cost = hps_provision_cheapest(&leaf->job, m->tau_max, cut, leaf->trial, leaf->scratch);
    if (cost < leaf->best * (1 - HPS_EXACT_SAME)) keep(leaf, S, arc, cost);
    return cost;
}

bool hps_exact_leaf_try(struct hps_exact_leaf *leaf, int S, const int *arc)
{
    return isfinite(hps_exact_leaf_price(leaf, S, arc, leaf->best));
}
