/* exact_repair.c - plans at the edge of the limits, by large-neighbourhood search: two segments of
 * a path at a time are replaced by the best ones that fit into the units left by the other stages,
 * until the path keeps the limits, and then until it is cheaper or faster. */
#include "plan/exact/exact_impl.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "plan/budget.h"

enum {
    ROUNDS = 200, /* of the prices, where nothing is known of them */
    WIDE = 50,    /* labels of a boundary: over all layers         */
    NARROW = 20,  /* over two segments                             */
    SEGMENT = 8,  /* stages of a segment                           */
    TRIES = 20,   /* at a stage of a group that has too many units */
    IDLE = 200    /* without a gain, before it begins anew         */
};

#define LOW 0.99            /* of its end: where the interval begins         */
#define DEAR 0.05           /* a unit too many, as a share of the bound      */
#define NOISE 0.3            /* of the charge of an arc: other paths every time,  */
#define FINE  0.03           /* nearly the same path from a plan                 */

struct hps_exact_repair {
    const struct hps_exact_model *m;
    struct hps_exact_leaf *leaf;
    struct hps_exact_view *all, *window;
    struct hps_exact_beam *beam;
    long long *given;       /* (G) units of the stages that stay                            */
    int S, *arc, *next;     /* (L) the path here, another                                   */
    bool *stays;            /* (L) of a stage                                               */
    long long beyond;       /* units of the path beyond the limits                          */
    double over;            /* charge of such a unit                                        */
    double here, known;     /* cost of the path, INFINITY: no plan; the best plan then      */
    bool begun;
    int idle;
    uint64_t key, draws;
};

struct hps_exact_repair *hps_exact_repair_new(struct hps_exact_leaf *leaf)
{
    struct hps_exact_repair *x = hps_mem_new(1, sizeof *x);
    const struct hps_exact_model *m = leaf->m;
    size_t L = (size_t)m->L;

    x->m = m;
    x->leaf = leaf;
    x->all = hps_exact_view_new(m);
    x->window = hps_exact_view_new(m);
    x->beam = hps_exact_beam_new(m);
    x->given = hps_mem_new((size_t)m->G, sizeof *x->given);
    x->arc = hps_mem_new(2 * L, sizeof *x->arc);
    x->next = x->arc + L;
    x->stays = hps_mem_new(L, sizeof *x->stays);
    x->key = hps_rng_key(0, "mend");
    return x;
}

void hps_exact_repair_free(struct hps_exact_repair *x)
{
    if (!x) return;
    hps_exact_view_free(x->all);
    hps_exact_view_free(x->window);
    hps_exact_beam_free(x->beam);
    hps_mem_free(x->given);
    hps_mem_free(x->arc);
    hps_mem_free(x->stays);
    hps_mem_free(x);
}

/* What a stage needs at the interval's end; more than there is when nothing is enough. */
static long long units(const struct hps_exact_repair *x, int arc)
{
    const struct hps_exact_arc *a = &x->m->arc[arc];
    long long k = hps_cost_line_units(&a->line, x->all->t2, x->m->max[a->g]);

    return k > 0 ? k : x->m->sum[a->g] + 1;
}

static double draw(struct hps_exact_repair *x)
{
    return hps_rng_real(x->key, x->draws++);
}

static void leave(struct hps_exact_repair *x, int first)
{
    for (int s = first < 0 ? 0 : first; s < first + SEGMENT && s < x->S; s++)
        x->stays[s] = false;
}

/* Choose a segment around a stage whose group has too many units, or around any stage, and a
 * segment anywhere. */
static void choose_segments(struct hps_exact_repair *x)
{
    int s = 0;

    memset(x->given, 0, (size_t)x->m->G * sizeof *x->given);
    for (s = 0; s < x->S; s++) {
        x->stays[s] = true;
        x->given[x->m->arc[x->arc[s]].g] += units(x, x->arc[s]);
    }
    for (int tries = 0; tries < TRIES; tries++) {
        s = (int)(draw(x) * x->S);
        int g = x->m->arc[x->arc[s]].g;
        if (x->given[g] > x->m->sum[g]) break;
    }
    leave(x, s - (int)(draw(x) * SEGMENT));
    leave(x, (int)(draw(x) * x->S));
    for (s = 0; s < x->S; s++)
        if (!x->stays[s]) x->given[x->m->arc[x->arc[s]].g] -= units(x, x->arc[s]);
}

/* The items of layers first..last: all that lie within them. */
static void add_all(struct hps_exact_repair *x, int first, int last)
{
    const struct hps_exact_view *all = x->all;

    for (int l = first; l <= last; l++) {
        x->window->first[l] = x->window->n;
        for (int a = all->first[l]; a < all->first[l + 1]; a++) {
            if (all->item[a].j > last) continue;
            x->window->item[x->window->n] = all->item[a];
            x->window->item[x->window->n++].c *= 1 + (isinf(x->here) ? NOISE : FINE) * draw(x);
        }
    }
}

/* The item of a stage that stays: its units are given. */
static void add_stage(struct hps_exact_repair *x, int arc)
{
    const struct hps_exact_arc *a = &x->m->arc[arc];

    for (int l = a->i; l <= a->j; l++)
        x->window->first[l] = x->window->n + (l > a->i);
    x->window->item[x->window->n++] =
        (struct hps_exact_item){ 0, 0, 0, arc, (short)a->j, (short)a->g };
}

static void fill_window(struct hps_exact_repair *x)
{
    const struct hps_exact_arc *arc = x->m->arc;

    x->window->n = 0;
    for (int s = 0, e; s < x->S; s = e) {
        for (e = s + 1; !x->stays[s] && e < x->S && !x->stays[e]; e++)
            continue;
        if (x->stays[s])
            add_stage(x, x->arc[s]);
        else
            add_all(x, arc[x->arc[s]].i, arc[x->arc[e - 1]].j);
    }
    x->window->first[x->m->L] = x->window->n;
    hps_exact_view_back(x->window);
}

static long long beyond(struct hps_exact_repair *x, int S, const int *arc)
{
    const struct hps_exact_model *m = x->m;
    long long sum = 0;

    memset(x->given, 0, (size_t)m->G * sizeof *x->given);
    for (int s = 0; s < S; s++)
        x->given[m->arc[arc[s]].g] += units(x, arc[s]);
    for (int g = 0; g < m->G; g++)
        sum += x->given[g] > m->sum[g] ? x->given[g] - m->sum[g] : 0;
    return sum;
}

/* The other path becomes the one here unless it is worse. */
static void adopt(struct hps_exact_repair *x, int S)
{
    long long worse = beyond(x, S, x->next);
    double cost = INFINITY;

    if (worse > x->beyond) return;
    if (worse == 0)
        cost = hps_exact_leaf_price(x->leaf, S, x->next, x->here * (1 + 2 * HPS_EXACT_SAME));
    if (isfinite(x->here) && isinf(cost)) return;
    x->idle = worse < x->beyond || cost < x->here * (1 - HPS_EXACT_SAME) ? 0 : x->idle;
    x->S = S;
    x->beyond = worse;
    x->here = cost;
    memcpy(x->arc, x->next, (size_t)S * sizeof *x->arc);
}

/* Where to look: just faster than the best plan where tau is the question, else at its tau; at
 * tau_max where there is none. */
static double end_of(const struct hps_exact_repair *x)
{
    const struct hps_exact_leaf *leaf = x->leaf;
    const struct hps_cost_servers *can = &x->m->servers.can;
    double tau = leaf->servers > 0 ? can->work / (double)leaf->servers : 0;

    if (leaf->S == 0) return x->m->tau_max;
    if (x->m->min_tau) return leaf->best * (1 - 2 * HPS_EXACT_SAME);
    for (int s = 0; s < leaf->S; s++)
        tau = fmax(tau, hps_cost_line_et(&x->m->arc[leaf->arc[s]].line, (double)leaf->units[s]));
    return tau;
}

/* A path through all layers, which may break the limits. */
static void make_path(struct hps_exact_repair *x)
{
    const struct hps_exact_model *m = x->m;

    x->window->n = 0;
    add_all(x, 0, m->L - 1);
    x->window->first[m->L] = x->window->n;
    hps_exact_view_back(x->window);
    memset(x->given, 0, (size_t)m->G * sizeof *x->given);
    int S = hps_exact_beam_least(x->beam, x->window, x->given, x->over, WIDE, x->next);
    if (S > 0) adopt(x, S);
}

/* All arcs at the interval's end, and prices for them. False when there is no path. */
static bool look(struct hps_exact_repair *x)
{
    const struct hps_exact_model *m = x->m;
    int *id = hps_mem_new((size_t)m->narc, sizeof *id);
    double t2 = end_of(x);

    for (int a = 0; a < m->narc; a++)
        id[a] = a;
    bool any =
        t2 < INFINITY && hps_exact_view_fill(x->all, LOW * t2, t2, m->narc, id,
                                             (struct hps_exact_branch){ HPS_EXACT_ANY, 0, 0 });
    hps_mem_free(id);
    if (!any) return false;
    double bound = hps_exact_view_bound(x->all, x->leaf, x->begun ? 0 : ROUNDS);
    if (!isfinite(bound)) return false;
    hps_exact_view_drop(x->all, INFINITY);
    memcpy(x->window->dual.lambda, x->all->dual.lambda,
           (size_t)m->dual[m->G] * sizeof *x->all->dual.lambda);
    x->over = DEAR * bound;
    x->begun = true;
    return true;
}

/* From the best plan, or, without one or when that does not gain any more, from a new path. */
static bool begin(struct hps_exact_repair *x, bool anew)
{
    const struct hps_exact_leaf *leaf = x->leaf;

    x->S = x->idle = 0;
    x->here = INFINITY;
    x->beyond = LLONG_MAX;
    if (!look(x)) return false;
    x->known = leaf->best;
    if (leaf->S == 0 || anew) {
        make_path(x);
        return x->S > 0;
    }
    x->S = leaf->S;
    memcpy(x->arc, leaf->arc, (size_t)leaf->S * sizeof *x->arc);
    x->beyond = beyond(x, x->S, x->arc);
    if (x->beyond == 0) x->here = leaf->best;
    return true;
}

static void one(struct hps_exact_repair *x)
{
    choose_segments(x);
    fill_window(x);
    int S = hps_exact_beam_least(x->beam, x->window, x->given, x->over, NARROW, x->next);
    x->idle++;
    if (S > 0) adopt(x, S);
    x->leaf->evaluations++;
}

void hps_exact_repair_run(struct hps_exact_repair *x, long long tries,
                          const struct hps_exact_end *end)
{
    const struct hps_exact_leaf *leaf = x->leaf;
    bool repair = leaf->S == 0;

    for (; tries > 0 && !hps_budget_over(end->until_s); tries--) {
        bool better = leaf->S > 0 && leaf->best < x->known, idle = x->idle > IDLE;
        if (repair && leaf->S > 0) return;
        if ((!x->begun || better || idle) && !begin(x, idle && !better)) return;
        one(x);
    }
}
