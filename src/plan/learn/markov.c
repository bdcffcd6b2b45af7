#include "plan/markov.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/sort.h"

#define TRIES 6 /* types drawn before one without units left is taken */

struct hps_markov_workspace {
    double *e;                  /* (L, T) exp(go - sharp ... - max)                               */
    double *max;                /* (L)                                                            */
    double *sum;                /* (L, T) running sums of e                                       */
    double *common;             /* (L) what the gradient of all types of the layer has in common  */
    long long *left;            /* (T) units left while drawing                                   */
};

struct hps_markov *hps_markov_new(int L, int T)
{
    struct hps_markov *c = hps_mem_new(1, sizeof *c);
    struct hps_markov_workspace *d = hps_mem_new(1, sizeof *d);
    size_t n = (size_t)L * (size_t)T;

    *c = (struct hps_markov){ .L = L, .T = T, .workspace = d };
    c->go = hps_mem_new(4 * n, sizeof *c->go);
    c->stay = c->go + n;
    c->dgo = c->go + 2 * n;
    c->dstay = c->go + 3 * n;
    d->e = hps_mem_new(2 * n + 2 * (size_t)L, sizeof *d->e);
    d->sum = d->e + n;
    d->common = d->e + 2 * n;
    d->max = d->common + L;
    d->left = hps_mem_new((size_t)T, sizeof *d->left);
    return c;
}

void hps_markov_free(struct hps_markov *c)
{
    if (!c) return;
    hps_mem_free(c->go);
    hps_mem_free(c->workspace->e);
    hps_mem_free(c->workspace->left);
    hps_mem_free(c->workspace);
    hps_mem_free(c);
}

static size_t at(const struct hps_markov *c, int l, int t)
{
    return (size_t)l * (size_t)c->T + (size_t)t;
}

/* exp(x) of a difference to the maximum: x is never far above 0. */
static double weight(double x)
{
    return x > -700 ? exp(fmin(x, 500)) : 0;
}

void hps_markov_refresh(struct hps_markov *c)
{
    struct hps_markov_workspace *d = c->workspace;
    const struct hps_value *v = c->value;

    for (int l = 0; l < c->L; l++) {
        size_t a = at(c, l, 0);
        const double *best = v->best + hps_value_at(v, l, l, 0);
        double sum = 0;
        d->max[l] = -INFINITY;
        for (int t = 0; t < c->T; t++) {
            d->e[a + (size_t)t] = c->go[a + (size_t)t] -
                                  c->sharp * (best[t] - v->rest[l]) / v->unit;
            d->max[l] = fmax(d->max[l], d->e[a + (size_t)t]);
        }
        if (!isfinite(d->max[l])) /* no stage can begin here: all the same */
            d->max[l] = 0;
        for (int t = 0; t < c->T; t++, a++)
            d->sum[a] = sum += d->e[a] = weight(d->e[a] - d->max[l]);
        for (int t = 0; t < c->T && sum == 0; t++)
            d->sum[at(c, l, t)] = t + 1;
    }
}

/* The weight of staying at layer l on type u of a stage that began at layer i. */
static double weight_of_staying(const struct hps_markov *c, int i, int l, int u)
{
    const struct hps_value *v = c->value;
    double more = v->best[hps_value_at(v, i, l, u)] - v->w[hps_value_at(v, i, l - 1, u)] -
                  v->rest[l];

    if (!isfinite(more)) return 0;
    return weight(c->go[at(c, l, u)] + c->stay[at(c, l, u)] - c->sharp * more / v->unit -
                  c->workspace->max[l]);
}

/* The weights of layer l behind type u (-1: nobody), whose stage began at i: of u, of all types. */
static double weights(const struct hps_markov *c, int i, int l, int u, double *same)
{
    const struct hps_markov_workspace *d = c->workspace;
    double all = d->sum[at(c, l, c->T - 1)];

    *same = u < 0 ? 0 : weight_of_staying(c, i, l, u);
    return u < 0 ? all : fmax(all - d->e[at(c, l, u)], 0) + *same;
}

/* The first type whose running sum is above x; the last where none is. */
static int find(const struct hps_markov *c, int l, double x)
{
    return (int)hps_sort_first_above(c->workspace->sum + at(c, l, 0), (size_t)c->T - 1, x);
}

int hps_markov_type(const struct hps_markov *c, int l, uint64_t key)
{
    return find(c, l, hps_rng_real(key, 0) * c->workspace->sum[at(c, l, c->T - 1)]);
}

/* The likeliest type but u. */
static int likeliest_other(const struct hps_markov *c, int l, int u)
{
    const double *e = c->workspace->e + at(c, l, 0);
    int best = u == 0 ? 1 : 0;

    for (int t = 0; t < c->T; t++)
        if (t != u && e[t] > e[best]) best = t;
    return best;
}

/* Draw another type than u (-1: any type), one with units left for layer l alone if such a type is
 * soon found. */
static int draw_other(const struct hps_markov *c, const struct hps_pricer *pr, int l, int u,
                      uint64_t key)
{
    const struct hps_markov_workspace *d = c->workspace;
    double excluded = u < 0 ? 0 : d->e[at(c, l, u)], all = d->sum[at(c, l, c->T - 1)] - excluded;
    int t = u;

    for (uint64_t n = 0; n < TRIES; n++) {
        double x = hps_rng_real(key, n) * all;
        t = find(c, l, u < 0 || x < d->sum[at(c, l, u)] - excluded ? x : x + excluded);
        if (t == u)                     /* the others are lost in rounding */
            t = likeliest_other(c, l, u);
        long long units = hps_pricer_min_units(pr, l, l, t);
        if (units > 0 && units <= d->left[t]) break;
    }
    return t;
}

/* Count the units left by the stages of a plan outside of from..to-1. */
static void count_room(struct hps_markov *c, const struct hps_pricer *pr, int from, int to,
                       const int *type)
{
    struct hps_markov_workspace *d = c->workspace;

    for (int t = 0; t < c->T; t++)
        d->left[t] = hps_pricer_capacity(pr, t);
    for (int i = 0, j; i < c->L; i = j) {
        if (i == from) i = to;
        if (i >= c->L) break;
        for (j = i + 1; j < c->L && j != from && type[j] == type[i]; j++)
            continue;
        d->left[type[i]] -= hps_pricer_min_units(pr, i, j - 1, type[i]);
    }
}

int hps_markov_begin(const int *type, int l)
{
    int i = l > 0 ? l - 1 : 0;

    while (i > 0 && type[i - 1] == type[i])
        i--;
    return i;
}

void hps_markov_draw(struct hps_markov *c, const struct hps_pricer *pr, int from, int to,
                     uint64_t key, int *type)
{
    struct hps_markov_workspace *d = c->workspace;
    int first = hps_markov_begin(type, from);
    long long used = 0;         /* units of the stage at hand */

    count_room(c, pr, from, to, type);
    if (from > 0) used = hps_pricer_min_units(pr, first, from - 1, type[first]);
    for (int l = from; l < to; l++) {
        uint64_t mine = hps_rng_sub(key, (uint64_t)l);
        int u = l > 0 ? type[l - 1] : -1, t = u;
        double same, all = weights(c, first, l, u, &same);
        long long units = u >= 0 ? hps_pricer_min_units(pr, first, l, u) : 0;
        bool capacity = u >= 0 && units > 0 && units - used <= d->left[u];
        if (c->T > 1 && (!capacity || hps_rng_real(mine, 0) * all >= same)) {
            t = draw_other(c, pr, l, u, hps_rng_sub(mine, 1));
            first = l;
            used = 0;
            units = hps_pricer_min_units(pr, l, l, t);
        }
        type[l] = t < 0 ? 0 : t;
        d->left[type[l]] -= units - used;
        used = units;
    }
}

double hps_markov_log(const struct hps_markov *c, int from, int to, const int *type)
{
    double sum = 0;

    for (int l = from, i = hps_markov_begin(type, from); l < to; l++) {
        int u = l > 0 ? type[l - 1] : -1;
        double same, all = weights(c, i, l, u, &same);
        i = type[l] == u ? i : l;
        sum += all > 0 ? log((type[l] == u ? same : c->workspace->e[at(c, l, type[l])]) / all) : 0;
    }
    return sum;
}

void hps_markov_add(struct hps_markov *c, int from, int to, const int *type, double weight)
{
    struct hps_markov_workspace *d = c->workspace;

    for (int l = from, i = hps_markov_begin(type, from); l < to; l++) {
        int u = l > 0 ? type[l - 1] : -1;
        double same, all = weights(c, i, l, u, &same);
        i = type[l] == u ? i : l;
        if (!(all > 0)) continue;
        c->dgo[at(c, l, type[l])] += weight;
        d->common[l] += weight / all;
        if (u < 0) continue;
        size_t a = at(c, l, u);
        c->dgo[a] -= weight / all * (same - d->e[a]);
        c->dstay[a] += weight * ((type[l] == u) - same / all);
    }
    for (int l = from; l < to; l++) {
        for (size_t a = at(c, l, 0); a < at(c, l + 1, 0); a++)
            c->dgo[a] -= d->common[l] * d->e[a];
        d->common[l] = 0;
    }
}

/* The entropy of layer l's own distribution. */
static double entropy(const struct hps_markov *c, int l)
{
    const double *e = c->workspace->e + at(c, l, 0);
    double all = c->workspace->sum[at(c, l, c->T - 1)], sum = 0;

    for (int t = 0; t < c->T; t++)
        sum -= e[t] > 0 ? e[t] / all * log(e[t] / all) : 0;
    return sum;
}

void hps_markov_add_entropy(struct hps_markov *c, double weight)
{
    for (int l = 0; l < c->L; l++) {
        const double *e = c->workspace->e + at(c, l, 0);
        double all = c->workspace->sum[at(c, l, c->T - 1)], mean = entropy(c, l);
        for (int t = 0; t < c->T; t++)
            if (e[t] > 0) c->dgo[at(c, l, t)] -= weight * e[t] / all * (log(e[t] / all) + mean);
    }
}

double hps_markov_entropy(const struct hps_markov *c)
{
    double sum = 0;

    for (int l = 0; l < c->L; l++)
        sum += entropy(c, l);
    return c->T > 1 ? sum / c->L / log(c->T) : 0;
}

void hps_markov_clear(struct hps_markov *c)
{
    memset(c->dgo, 0, 2 * (size_t)c->L * (size_t)c->T * sizeof *c->dgo);
}
