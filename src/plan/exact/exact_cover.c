/* exact_cover.c - the set-cover bound: layers have prices, and each type takes the set of stages
 * whose layers are worth most more than the stages cost and that its units hold; the price of a
 * layer that no type takes rises, that of a layer that several types take falls.
 *
 * The bound by paths with prices on units knows of a limit only that no convex combination of
 * paths may break it. Here each type keeps its own limit to the unit, and what is relaxed is that
 * a layer is taken once (as in the generalised assignment problem: Fisher, Jaikumar, Van
 * Wassenhove 1986). The best of all sets of a type's stages with at most u units, no two adjacent,
 * is found by a dynamic program over layers and u. */
#include "plan/exact/exact_cover_impl.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

/* The steps of the prices: the share of what is missing that they are for, at first; how it falls
 * when the bound did not rise so often; steps before that count in the next one. */
#define PACE 4
#define SLOWER 0.7
#define IDLE 4
#define MOMENTUM 5.0

/* Weight of the last sets in the mean. */
#define NEW 0.1

struct hps_exact_cover *hps_exact_cover_new(const struct hps_exact_model *m)
{
    struct hps_exact_cover *x = hps_mem_new(1, sizeof *x);
    size_t L = (size_t)m->L, G = (size_t)m->G;

    x->m = m;
    x->row = hps_mem_new(2 * G + 1, sizeof *x->row);
    x->left = x->row + G + 1;
    for (size_t g = 0; g < G; g++)
        x->row[g + 1] = x->row[g] + (hps_exact_dual_table(m, (int)g) ? (int)m->max[g] + 1 : 1);
    x->n = (size_t)x->row[G];
    x->behind = hps_mem_new(2 * (L + 2) * x->n, sizeof *x->behind);
    x->ahead = x->behind + (L + 2) * x->n;
    x->price = hps_mem_new(4 * L + 1 + 2 * L * G, sizeof *x->price);
    x->times = hps_mem_new(4 * (L * G + 1), sizeof *x->times);
    x->rises = x->times + 2 * (L * G + 1);
    x->trial = x->price + L;
    x->direction = x->trial + L;
    x->sum = x->direction + L;
    x->now = x->sum + L + 1;
    x->mean = x->now + L * G;
    return x;
}

void hps_exact_cover_free(struct hps_exact_cover *x)
{
    if (!x) return;
    hps_mem_free(x->row);
    hps_mem_free(x->behind);
    hps_mem_free(x->price);
    hps_mem_free(x->times);
    hps_mem_free(x);
}

static const double *ahead(const struct hps_exact_cover *x, const struct hps_exact_item *e, int i)
{
    int b = i - hps_exact_cover_apart(x, e->g);

    return x->ahead + (size_t)(b > 0 ? b : 0) * x->n + x->row[e->g];
}

/* Set `c` of the items: what they cost beyond what their layers are worth. */
static void charge(struct hps_exact_cover *x, struct hps_exact_view *v, const double *price)
{
    const struct hps_exact_model *m = x->m;

    x->sum[0] = 0;
    for (int l = 0; l < m->L; l++)
        x->sum[l + 1] = x->sum[l] + price[l];
    for (int i = 0; i < m->L; i++)
        for (int a = v->first[i]; a < v->first[i + 1]; a++) {
            struct hps_exact_item *e = &v->item[a];
            e->c = e->w - (x->sum[e->j + 1] - x->sum[i]);
        }
}

/* What a set with one more stage of k units costs, for all n numbers of units. */
static void offer(double *to, const double *from, double c, int k, int n)
{
    for (int u = k; u < n; u++) {
        double value = from[u - k] + c;
        to[u] = value < to[u] ? value : to[u];
    }
}

/* The best sets from each layer on. */
static void look_back(struct hps_exact_cover *x, const struct hps_exact_view *v)
{
    int L = x->m->L;

    memset(x->behind + (size_t)L * x->n, 0, x->n * sizeof *x->behind);
    for (int i = L - 1; i >= 0; i--) {
        double *here = x->behind + (size_t)i * x->n;
        memcpy(here, here + x->n, x->n * sizeof *here);
        for (int a = v->first[i]; a < v->first[i + 1]; a++) {
            const struct hps_exact_item *e = &v->item[a];
            if (e->c < 0)
                offer(here + x->row[e->g], hps_exact_cover_behind(x, e), e->c,
                      hps_exact_cover_units(x, e), x->row[e->g + 1] - x->row[e->g]);
        }
    }
}

/* The best sets before each layer. */
static void look_ahead(struct hps_exact_cover *x, const struct hps_exact_view *v)
{
    int L = x->m->L;

    memset(x->ahead, 0, (size_t)(L + 1) * x->n * sizeof *x->ahead);
    for (int i = 0; i < L; i++) {
        double *here = x->ahead + (size_t)i * x->n;
        const double *before = i > 0 ? here - x->n : here;
        for (size_t u = 0; u < x->n; u++)
            here[u] = fmin(here[u], before[u]);
        for (int a = v->first[i]; a < v->first[i + 1]; a++) {
            const struct hps_exact_item *e = &v->item[a];
            if (e->c < 0)
                offer(x->ahead + (size_t)(e->j + 1) * x->n + x->row[e->g], ahead(x, e, i), e->c,
                      hps_exact_cover_units(x, e), x->row[e->g + 1] - x->row[e->g]);
        }
    }
}

static double value(const struct hps_exact_cover *x, const struct hps_exact_view *v)
{
    const struct hps_exact_model *m = x->m;
    double sum = hps_exact_model_served(m, v->t1, v->t2) + x->sum[m->L];

    for (int g = 0; g < m->G; g++)
        for (int b = m->begin[g]; b < hps_exact_cover_end(x, g); b++)
            sum += x->behind[x->row[g] + hps_exact_cover_capacity(x, g, b)];
    return sum;
}

/* The item that the best set from layer i on begins with. */
static const struct hps_exact_item *taken(const struct hps_exact_cover *x,
                                          const struct hps_exact_view *v, int i, int g, int u)
{
    double best = x->behind[(size_t)i * x->n + (size_t)(x->row[g] + u)];

    for (int a = v->first[i]; a < v->first[i + 1]; a++) {
        const struct hps_exact_item *e = &v->item[a];
        if (e->g == g && e->c < 0 && hps_exact_cover_units(x, e) <= u &&
            hps_exact_cover_behind(x, e)[u - hps_exact_cover_units(x, e)] + e->c == best)
            return e;
    }
    return NULL;
}

/* How often layers are on groups, in the best sets. */
static void count(struct hps_exact_cover *x, const struct hps_exact_view *v)
{
    const struct hps_exact_model *m = x->m;

    memset(x->now, 0, (size_t)m->L * (size_t)m->G * sizeof *x->now);
    for (int g = 0; g < m->G; g++)
        for (int b = m->begin[g]; b < hps_exact_cover_end(x, g); b++)
            for (int i = 0, u = hps_exact_cover_capacity(x, g, b); i < m->L;) {
                const double *here = x->behind + (size_t)i * x->n + x->row[g] + u;
                const struct hps_exact_item *e = here[0] < here[x->n] ? taken(x, v, i, g, u) : NULL;
                for (; e && i <= e->j; i++)
                    x->now[i * m->G + g]++;
                if (e)
                    u -= hps_exact_cover_units(x, e);
                else
                    i++;
            }
}

/* Update the mean by the last sets, and the direction by what they miss: a layer that no type
 * takes, or several do. False when there is no direction to move in. Prices of more expensive
 * layers move further. */
static bool update_direction(struct hps_exact_cover *x, int r)
{
    const struct hps_exact_model *m = x->m;
    double share = fmax(NEW, 1.0 / (r + 1)), momentum = r == 0 ? 0 : MOMENTUM;
    bool any = false;

    for (int l = 0; l < m->L; l++) {
        double missed = 1;
        for (int a = l * m->G; a < (l + 1) * m->G; a++) {
            missed -= x->now[a];
            x->mean[a] += share * (x->now[a] - x->mean[a]);
        }
        x->direction[l] = (missed + momentum * x->direction[l]) / (1 + momentum);
        any = any || x->direction[l] != 0;
    }
    return any;
}

/* The next prices: so far in that direction that the bound rises by `rise` if it is linear. */
static void step(struct hps_exact_cover *x, double rise)
{
    int L = x->m->L;
    double min = fabs(x->sum[L]) / L, norm = 0;

    for (int l = 0; l < L; l++) {
        double far = min > 0 ? min + fabs(x->price[l]) : 1;
        norm += x->direction[l] * x->direction[l] * far * far;
    }
    for (int l = 0; l < L; l++) {
        double far = min > 0 ? min + fabs(x->price[l]) : 1;
        x->trial[l] += rise / norm * x->direction[l] * far * far;
    }
}

double hps_exact_cover_at(struct hps_exact_cover *x, struct hps_exact_view *v,
                          const double *price)
{
    charge(x, v, price);
    look_back(x, v);
    return value(x, v);
}

bool hps_exact_cover_useful(const struct hps_exact_view *v)
{
    bool any = false;

    for (int g = 0; g < v->m->G; g++) {
        if (v->dual.busy[g] && !hps_exact_dual_table(v->m, g))
            return false;       /* only the paths have a price for it */
        any = any || v->dual.busy[g];
    }
    return any;
}

void hps_exact_cover_begin(struct hps_exact_cover *x, const struct hps_exact_view *v)
{
    double from = v->bwd[0].v1;

    for (int l = 0; l < x->m->L; l++) {
        double to = isfinite(v->bwd[l + 1].v1) ? v->bwd[l + 1].v1 : from;
        x->price[l] = from - to;
        from = to;
    }
    x->pace = PACE;
}

double hps_exact_cover_bound(struct hps_exact_cover *x, struct hps_exact_view *v, double cut,
                             int rounds)
{
    size_t L = (size_t)x->m->L;
    double best = -INFINITY;

    memcpy(x->trial, x->price, L * sizeof *x->trial);
    for (int r = 0, idle = 0;; r++) {
        double q = hps_exact_cover_at(x, v, x->trial);
        count(x, v);
        bool more = update_direction(x, r);
        if (q > best) {
            best = q;
            idle = 0;
            memcpy(x->price, x->trial, L * sizeof *x->price);
        } else if (++idle == IDLE) {
            x->pace *= SLOWER;
            idle = 0;
        }
        if (r == rounds || !more || best >= cut) return best;
        step(x, x->pace * (isfinite(cut) ? cut - best : fabs(best)));
    }
}

/* By how much the sets cost more at least when this item, of first layer i, is in one of them. */
static double extra_of(const struct hps_exact_cover *x, const struct hps_exact_item *e, int i)
{
    const double *before = ahead(x, e, i), *after = hps_exact_cover_behind(x, e);
    int k = hps_exact_cover_units(x, e);
    double more = INFINITY;

    for (int b = x->m->begin[e->g]; b < hps_exact_cover_end(x, e->g); b++) {
        int max = hps_exact_cover_capacity(x, e->g, b);
        for (int u = 0; u <= max - k; u++)
            more = fmin(more, before[u] + after[max - k - u] - x->behind[x->row[e->g] + max]);
    }
    return more + e->c;
}

void hps_exact_cover_drop(struct hps_exact_cover *x, struct hps_exact_view *v, double cut)
{
    double all = hps_exact_cover_at(x, v, x->price); /* what the best sets cost */

    look_ahead(x, v);
    for (int i = 0; i < x->m->L; i++)
        for (int a = v->first[i]; a < v->first[i + 1]; a++)
            v->min[a] = all + extra_of(x, &v->item[a], i);
    hps_exact_view_keep(v, cut);
}
