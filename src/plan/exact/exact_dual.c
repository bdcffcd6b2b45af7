/* exact_dual.c - prices of units on top of their own price, which make the cheapest path respect
 * the limits (Lagrangian relaxation).
 *
 * Prices of a group with few units are those of its packings: the bound is over all convex
 * combinations of packings, not of single units. (Three stages of two units each do not fit into a
 * type of five units, although their sum with fractions would.) The bound is raised by the volume
 * algorithm (Barahona, Anbil 2000): steps from the best prices along a mean of subgradients. */
#include "plan/exact/exact_impl.h"

#include <math.h>
#include <string.h>

/* The share of a step for the prices of each number of units, relative to that for all units
 * alike. */
#define SINGLE_SHARE 0.3

static bool alone(const struct hps_exact_model *m, int g)
{
    return m->begin[g + 1] - m->begin[g] == 1;
}

/* Raise prices as far as no packing is charged more than before: price[c - 1] becomes the highest
 * charge of stages in c units. Of two stages one has at most half of the units, so the other may
 * be charged all that this one leaves. */
static void raise_all(const struct hps_exact_model *m, int g, double *price)
{
    int max = (int)m->max[g];

    for (int c = 2; c <= max; c++) {
        double x = fmax(price[c - 1], price[c - 2]);
        for (int a = 1; a <= c / 2; a++)
            x = fmax(x, price[a - 1] + price[c - a - 1]);
        price[c - 1] = x;
    }
    for (int c = max / 2 + 1; alone(m, g) && c < max; c++)
        price[c - 1] = fmax(price[c - 1], price[max - 1] - price[max - c - 1]);
}

double hps_exact_dual_most(const struct hps_exact_model *m, const double *price, int g)
{
    const double *x = price + m->dual[g];
    double sum = 0;

    if (!hps_exact_dual_table(m, g)) return x[0] * (double)m->sum[g];
    for (int b = m->begin[g]; b < m->begin[g + 1]; b++)
        sum += x[hps_cost_capacity(m->p, m->member[b]) - 1];
    return sum;
}

/* Of the servers, as if they were a stage of their type. */
static double charge_of_servers(const struct hps_exact_view *v, const double *price)
{
    const struct hps_exact_model *m = v->m;
    const double *x = price + m->dual[m->servers.type];

    if (v->served == 0) return 0;
    return hps_exact_dual_table(m, m->servers.type) ? x[v->served - 1] : x[0] * v->served;
}

double hps_exact_dual_base(const struct hps_exact_view *v, const double *price)
{
    const struct hps_exact_model *m = v->m;
    double sum = -charge_of_servers(v, price);

    for (int g = 0; g < m->G; g++)
        sum += hps_exact_dual_most(m, price, g);
    return sum;
}

void hps_exact_dual_charge(struct hps_exact_view *v, const double *price)
{
    const struct hps_exact_model *m = v->m;

    for (int a = 0; a < v->n; a++) {
        struct hps_exact_item *e = &v->item[a];
        const double *x = price + m->dual[e->g];
        e->c = e->w + (hps_exact_dual_table(m, e->g) ? x[(int)e->k - 1] : x[0] * e->k);
    }
}

/* Subtract the packing of the highest charge; among equal ones the one with stages like those of
 * the path. */
static void take_packing(const struct hps_exact_model *m, int g, const double *price, double *use)
{
    int max = (int)m->max[g], largest[HPS_EXACT_TABLE + 1];
    double best[HPS_EXACT_TABLE + 1], bonus[HPS_EXACT_TABLE + 1];

    best[0] = 0;
    for (int k = 1; k <= max; k++)
        bonus[k] = use[k - 1] > 0 ? 1e-7 * k * price[max - 1] + 1e-300 * k : 0;
    for (int c = 1; c <= max; c++) {
        best[c] = best[c - 1];
        largest[c] = 0;
        for (int k = 1; k <= c; k++)
            if (best[c - k] + price[k - 1] + bonus[k] > best[c]) {
                best[c] = best[c - k] + price[k - 1] + bonus[k];
                largest[c] = k;
            }
    }
    for (int b = m->begin[g]; b < m->begin[g + 1]; b++)
        for (int c = (int)hps_cost_capacity(m->p, m->member[b]); c > 0;
             c -= largest[c] ? largest[c] : 1)
            if (largest[c]) use[largest[c] - 1]--;
}

/* Does the path keep the limit of a group alone, and is it charged as much as any packing? */
static bool packed(const struct hps_exact_model *m, int g, const double *price, const double *use)
{
    double paid = 0, units = 0;

    for (int k = 1; k <= (int)m->max[g]; k++) {
        paid += use[k - 1] * price[k - 1];
        units += use[k - 1] * k;
    }
    return alone(m, g) && units <= (double)m->sum[g] && paid >= price[m->max[g] - 1] * (1 - 1e-12);
}

/* So many units more of group g. */
static void use_units(struct hps_exact_view *v, int g, int units)
{
    double *use = v->dual.use + v->m->dual[g];

    if (hps_exact_dual_table(v->m, g))
        use[units - 1]++;
    else
        *use += units;
}

/* The path's stages by units, and the servers, less those of the packings. False when none are
 * left. */
static bool excess(struct hps_exact_view *v)
{
    const struct hps_exact_model *m = v->m;
    size_t n = (size_t)m->dual[m->G];
    bool any = false;

    memset(v->dual.use, 0, n * sizeof *v->dual.use);
    for (int s = 0; s < v->path.S; s++) {
        const struct hps_exact_item *e = &v->item[v->path.item[s]];
        use_units(v, e->g, (int)e->k);
    }
    if (v->served > 0) use_units(v, m->servers.type, v->served);
    for (int g = 0; g < m->G; g++) {
        double *use = v->dual.use + m->dual[g], *price = v->dual.trial + m->dual[g];
        int few = m->dual[g + 1] - m->dual[g];
        if (few == 1)
            use[0] = price[0] > 0 || use[0] > (double)m->sum[g] ? use[0] - (double)m->sum[g] : 0;
        else if (packed(m, g, price, use))
            memset(use, 0, (size_t)few * sizeof *use);
        else
            take_packing(m, g, price, use);
        for (int a = 0; a < few && !(any && v->dual.busy[g]); a++) {
            v->dual.busy[g] = v->dual.busy[g] || use[a] != 0;
            any = any || use[a] != 0;
        }
    }
    return any;
}

/* What counts of the use x of a group: negative use only where there is a price to lower. For all
 * units alike, and for every number of units, as shares of the limit. */
static double alike(const struct hps_exact_view *v, int g, const double *x)
{
    const struct hps_exact_model *m = v->m;
    int first = m->dual[g], n = m->dual[g + 1] - first;
    double sum = 0;

    for (int k = 1; k <= n; k++)
        sum += k * x[first + k - 1];
    return sum > 0 || v->dual.lambda[first + n - 1] > 0 ? sum / (double)m->sum[g] : 0;
}

static double single(const struct hps_exact_view *v, int g, int k, const double *x)
{
    int a = v->m->dual[g] + k - 1;

    return x[a] > 0 || v->dual.lambda[a] > 0 ? k * x[a] / (double)v->m->sum[g] : 0;
}

/* Both of every busy group, scaled so that a product of two such vectors is that of the steps. */
static size_t scale(const struct hps_exact_view *v, const double *x, double *to)
{
    const struct hps_exact_model *m = v->m;
    const double weight = sqrt(SINGLE_SHARE);
    size_t n = 0;

    for (int g = 0; g < m->G; g++) {
        if (!v->dual.busy[g]) continue;
        to[n++] = alike(v, g, x);
        for (int k = 1; hps_exact_dual_table(m, g) && k <= (int)m->max[g]; k++)
            to[n++] = weight * single(v, g, k, x);
    }
    return n;
}

bool hps_exact_dual_look(struct hps_exact_view *v, bool first)
{
    const struct hps_exact_model *m = v->m;
    size_t n = (size_t)m->dual[m->G];

    for (int g = 0; first && g < m->G; g++)
        v->dual.busy[g] = v->dual.lambda[m->dual[g + 1] - 1] > 0;
    bool any = excess(v);
    if (first) {
        memcpy(v->dual.direction, v->dual.use, n * sizeof *v->dual.direction);
        return any;
    }
    const double *w = v->dual.scaled, *u = v->dual.scaled + n + m->G;
    double cross = 0, apart = 0, share = 1;
    n = scale(v, v->dual.direction, v->dual.scaled);
    scale(v, v->dual.use, v->dual.scaled + (u - w));
    for (size_t a = 0; a < n; a++) {
        cross += w[a] * (w[a] - u[a]);
        apart += (w[a] - u[a]) * (w[a] - u[a]);
    }
    if (apart > 0)                      /* the shortest mean of both */
        share = fmin(fmax(cross / apart, 0.1), 1);
    for (int g = 0; g < m->G; g++)
        for (int a = m->dual[g]; v->dual.busy[g] && a < m->dual[g + 1]; a++)
            v->dual.direction[a] += share * (v->dual.use[a] - v->dual.direction[a]);
    return true;
}

bool hps_exact_dual_step(struct hps_exact_view *v, double rise)
{
    const struct hps_exact_model *m = v->m;
    size_t n = scale(v, v->dual.direction, v->dual.scaled);
    double norm = 0;

    for (size_t a = 0; a < n; a++)
        norm += v->dual.scaled[a] * v->dual.scaled[a];
    if (!(norm > 0)) return false;
    for (int g = 0; g < m->G; g++) {
        const double *from = v->dual.lambda + m->dual[g];
        double *price = v->dual.trial + m->dual[g];
        if (!v->dual.busy[g]) continue;
        double all = alike(v, g, v->dual.direction);
        double step = rise / norm / (double)m->sum[g];
        if (!hps_exact_dual_table(m, g)) {
            price[0] = fmax(0, from[0] + step * all);
            continue;
        }
        for (int k = 1; k <= (int)m->max[g]; k++)
            price[k - 1] =
                fmax(0, from[k - 1] +
                            step * k * (all + SINGLE_SHARE * single(v, g, k, v->dual.direction)));
        raise_all(m, g, price);
    }
    return true;
}
