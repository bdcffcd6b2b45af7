#include "plan/feature.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

#define FAR 4.0                 /* no feature is further from 0                      */
#define STEP 1.15               /* between the taus that are looked at               */
#define SHARP 8.0               /* how sure a layer is of the type that it wants     */

/* The layout of the numbers of a layer and type: two at each of three taus, then the others. */
enum { TAUS = 3, EACH = 2, MIDDLE = 1, OTHER = TAUS * EACH };

/* The cheapest plan without shared limits that has a layer on a type. */
struct best_stage {
    double more;                /* than the cheapest of all, in units of a mean stage */
    int i, j;                   /* its stage there                                    */
};

struct look {
    const struct hps_profile *p;
    const struct hps_pricer *pr;
    const struct hps_value *v;
    double *ahead;                 /* (L + 1) the lowest cost of all stages before a boundary */
    struct best_stage *best_stage; /* (L, T)                                             */
};

static double within(double x)
{
    return x < FAR ? x > -FAR ? x : -FAR : FAR;         /* NaN: FAR */
}

static size_t at(const struct look *k, int l, int t)
{
    return (size_t)l * (size_t)k->p->T + (size_t)t;
}

static void fill_ahead(struct look *k)
{
    const struct hps_value *v = k->v;

    for (int j = 0; j <= v->L; j++)
        k->ahead[j] = j ? INFINITY : 0;
    for (int i = 0; i < v->L; i++)
        for (int j = i; j < v->L; j++) {
            const double *w = v->w + hps_value_at(v, i, j, 0);
            for (int t = 0; t < v->T; t++)
                k->ahead[j + 1] = fmin(k->ahead[j + 1], k->ahead[i] + w[t]);
        }
}

/* Set the best stage of every layer and type: each stage is a candidate for all of its layers. */
static void fill_best_stages(struct look *k)
{
    const struct hps_value *v = k->v;

    fill_ahead(k);
    for (size_t a = 0; a < (size_t)v->L * (size_t)v->T; a++)
        k->best_stage[a] = (struct best_stage){ INFINITY, 0, 0 };
    for (int i = 0; i < v->L; i++)
        for (int t = 0; t < v->T; t++) {
            struct best_stage best = { INFINITY, i, i };
            for (int j = v->L - 1; j >= i; j--) {       /* the best that reaches j */
                double more = (k->ahead[i] + v->w[hps_value_at(v, i, j, t)] + v->rest[j + 1] -
                               v->rest[0]) / v->unit;
                if (more < best.more) best = (struct best_stage){ more, i, j };
                if (best.more < k->best_stage[at(k, j, t)].more) k->best_stage[at(k, j, t)] = best;
            }
        }
}

static void fill_tau(const struct look *k, int n, double *x)
{
    const struct hps_value *v = k->v;

    for (int l = 0; l < v->L; l++)
        for (int t = 0; t < v->T; t++) {
            double *f = x + at(k, l, t) * HPS_FEATURES + n * EACH;
            double begin = v->best[hps_value_at(v, l, l, t)] - v->rest[l];
            f[0] = within(log1p(10 * fmax(k->best_stage[at(k, l, t)].more, 0)));
            f[1] = within(log1p(10 * fmax(begin / v->unit, 0)));
        }
}

/* The demand for each type: the units that its layers want, as a share of its units. */
static void fill_demand(const struct look *k, double *demand)
{
    const struct hps_value *v = k->v;

    for (int t = 0; t < v->T; t++)
        demand[t] = 0;
    for (int l = 0; l < v->L; l++) {
        double all = 0;
        for (int t = 0; t < v->T; t++)
            all += exp(-SHARP * k->best_stage[at(k, l, t)].more);
        for (int t = 0; t < v->T && all > 0; t++) {
            const struct best_stage *c = &k->best_stage[at(k, l, t)];
            if (isfinite(c->more))
                demand[t] += exp(-SHARP * c->more) / all / (c->j - c->i + 1) *
                             (double)hps_cost_line_units(
                                 hps_cost_line(hps_pricer_cost(k->pr), c->i, c->j, t), v->tau,
                                 hps_pricer_capacity(k->pr, t)) /
                             (double)hps_pricer_capacity(k->pr, t);
        }
    }
}

/* For the best type of a layer, by how much the second best is more expensive; for the others 0. */
static double lead(const struct look *k, int l, int t)
{
    double own = k->best_stage[at(k, l, t)].more, second = INFINITY;

    for (int u = 0; u < k->p->T; u++)
        if (u != t) second = fmin(second, k->best_stage[at(k, l, u)].more);
    return isfinite(own) && own <= second ? within(log1p(10 * fmin(second - own, 100))) : 0;
}

static void fill_stage(const struct look *k, int l, int t, double demand, double *f)
{
    const struct best_stage *c = &k->best_stage[at(k, l, t)];
    const struct hps_cost_line *line = hps_cost_line(hps_pricer_cost(k->pr), c->i, c->j, t);
    double capacity = (double)hps_pricer_capacity(k->pr, t);
    double units = (double)hps_cost_line_units(line, k->v->tau, hps_pricer_capacity(k->pr, t));

    if (isfinite(c->more) && units > 0) {
        f[0] = units / capacity;
        f[1] = (double)(c->j - c->i + 1) / k->p->L;
        f[2] = within(hps_cost_line_et(line, units) / k->v->tau);
        f[3] = (double)(l - c->i) / (c->j - c->i + 1);
    }
    f[4] = within(log(fmax(demand, 1e-3)));
    f[5] = lead(k, l, t);
}

static void fill_own(const struct look *k, int l, int t, double *f)
{
    const struct hps_profile *p = k->p;
    size_t a = at(k, l, t);
    double own = p->oct[a] + p->sync[a] + p->recv[a] + p->send[a];
    double capacity = (double)hps_pricer_capacity(k->pr, t);

    f[0] = own > 0 ? p->recv[a] / own : 0;
    f[1] = own > 0 ? p->send[a] / own : 0;
    f[2] = own > 0 ? p->sync[a] / own : 0;
    f[3] = p->alpha[a];
    f[4] = p->beta[a];
    f[5] = capacity > 0 ? log(capacity) / 4 : -1;
    f[6] = (double)l / p->L;
    f[7] = hps_profile_has_table(&p->layer[l]);
    f[8] = log1p(p->layer[l].input_bytes) / 20;
    f[9] = log1p(p->layer[l].weight_bytes) / 20;
}

static void fill_other(const struct look *k, double *x)
{
    double *demand = hps_mem_new((size_t)k->p->T, sizeof *demand);

    fill_demand(k, demand);
    for (int l = 0; l < k->p->L; l++)
        for (int t = 0; t < k->p->T; t++) {
            double *f = x + at(k, l, t) * HPS_FEATURES + OTHER;
            fill_stage(k, l, t, demand[t], f);
            fill_own(k, l, t, f + 6);
        }
    hps_mem_free(demand);
}

void hps_feature_fill(const struct hps_profile *p, const struct hps_pricer *pr,
                      const struct hps_tau_grid *grid, struct hps_value *value, double *x)
{
    size_t n = (size_t)p->L * (size_t)p->T;
    struct look k = { p, pr, value, hps_mem_new((size_t)p->L + 1, sizeof *k.ahead),
                      hps_mem_new(n, sizeof *k.best_stage) };
    double tau = grid->tau[hps_tau_grid_best(grid)];

    memset(x, 0, n * HPS_FEATURES * sizeof *x);
    for (int a = 0; a < TAUS; a++) {
        hps_tau_grid_value(grid, p, pr, value, tau * pow(STEP, a - MIDDLE));
        fill_best_stages(&k);
        fill_tau(&k, a, x);
        if (a == MIDDLE) fill_other(&k, x);
    }
    hps_mem_free(k.ahead);
    hps_mem_free(k.best_stage);
}
