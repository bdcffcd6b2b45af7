/* exact_path.c - the cheapest path through an interval's arcs, the prices of units, and what both
 * rule out. */
#include "plan/exact/exact_impl.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

/* The steps of the prices: the share of what is missing that they are for, and how it changes when
 * the bound rises, or did not so often. */
#define PACE 0.1
#define FASTER 1.1
#define SLOWER 0.66
#define IDLE 4

struct hps_exact_view *hps_exact_view_new(const struct hps_exact_model *m)
{
    struct hps_exact_view *v = hps_mem_new(1, sizeof *v);
    size_t L = (size_t)m->L, G = (size_t)m->G, n = (size_t)m->dual[G];

    v->m = m;
    v->first = hps_mem_new(L + 1, sizeof *v->first);
    v->item = hps_mem_new((size_t)m->narc, sizeof *v->item);
    v->min = hps_mem_new((size_t)m->narc, sizeof *v->min);
    v->fwd = hps_mem_new(L + 1, sizeof *v->fwd);
    v->bwd = hps_mem_new(L + 1, sizeof *v->bwd);
    v->dual = (struct hps_exact_dual){ .lambda = hps_mem_new(n, sizeof(double)),
                                       .trial = hps_mem_new(n, sizeof(double)),
                                       .use = hps_mem_new(n, sizeof(double)),
                                       .direction = hps_mem_new(n, sizeof(double)),
                                       .scaled = hps_mem_new(2 * (n + G), sizeof(double)),
                                       .busy = hps_mem_new(G, sizeof(bool)) };
    v->share = hps_mem_new(L * G, sizeof *v->share);
    v->used = hps_mem_new(G, sizeof *v->used);
    v->path.item = hps_mem_new(L, sizeof *v->path.item);
    v->tried.arc = hps_mem_new(L, sizeof *v->tried.arc);
    return v;
}

void hps_exact_view_free(struct hps_exact_view *v)
{
    if (!v) return;
    hps_mem_free(v->first);
    hps_mem_free(v->item);
    hps_mem_free(v->min);
    hps_mem_free(v->fwd);
    hps_mem_free(v->bwd);
    hps_mem_free(v->dual.lambda);
    hps_mem_free(v->dual.trial);
    hps_mem_free(v->dual.use);
    hps_mem_free(v->dual.direction);
    hps_mem_free(v->dual.scaled);
    hps_mem_free(v->dual.busy);
    hps_mem_free(v->share);
    hps_mem_free(v->used);
    hps_mem_free(v->path.item);
    hps_mem_free(v->tried.arc);
    hps_mem_free(v);
}

/* The smallest tau from t1 on that is an ET of the stage, INFINITY when it has none. */
static double next_tau(const struct hps_exact_arc *x, double t1, long long max)
{
    long long k = hps_cost_line_units(&x->line, nextafter(t1, 0), max);

    if (k == 1 || k == x->line.min_units) return INFINITY;
    return hps_cost_line_et(&x->line, (double)(k == 0 ? max : k - 1));
}

/* The same of the servers. */
static double next_tau_served(const struct hps_cost_servers *can, double t1)
{
    long long n = hps_cost_server_units(can, nextafter(t1, 0));

    return n == can->min ? INFINITY : can->work / (double)(n - 1);
}

/* tau is the ET of some stage, or of the servers: draw t1 up and t2 down to such. Only worth it in
 * a narrow interval. */
static void draw_in(struct hps_exact_view *v)
{
    const struct hps_cost_servers *can = &v->m->servers.can;
    double low = next_tau_served(can, v->t1), high = 0;

    if (can->max > 0) high = can->work / (double)hps_cost_server_units(can, v->t2);
    for (int a = 0; a < v->n; a++) {
        const struct hps_exact_arc *x = &v->m->arc[v->item[a].id];
        low = fmin(low, next_tau(x, v->t1, v->m->max[x->g]));
        high = fmax(high, hps_cost_line_et(&x->line, v->item[a].k));
    }
    v->t1 = fmax(low, v->t1);
    v->t2 = fmin(high, v->t2);
}

static bool obeys(const struct hps_exact_arc *x, struct hps_exact_branch b)
{
    if (b.rule == HPS_EXACT_ANY || b.l < x->i || b.l > x->j) return true;
    return (x->g == b.g) == (b.rule == HPS_EXACT_ON);
}

static void weigh(struct hps_exact_view *v)
{
    for (int a = 0; a < v->n; a++) {
        struct hps_exact_item *e = &v->item[a];
        double et = hps_cost_line_et(&v->m->arc[e->id].line, e->k);
        e->w = v->m->price[e->g] * e->k * fmax(v->t1, et);
    }
}

/* The fewest servers of the interval; false when no number suffices. */
static bool serve(struct hps_exact_view *v)
{
    struct hps_provision_servers x = v->m->servers;
    bool can = hps_provision_serve(&x, v->t2);

    v->served = can ? (int)hps_provision_servers_take(&x) : 0;
    return can;
}

bool hps_exact_view_fill(struct hps_exact_view *v, double t1, double t2, int n, const int *id,
                         struct hps_exact_branch branch)
{
    int at = 0;

    v->t1 = t1;
    v->t2 = t2;
    v->n = v->tried.S = 0;
    for (int a = 0; a < n; a++) {
        const struct hps_exact_arc *x = &v->m->arc[id[a]];
        if (!obeys(x, branch)) continue;
        long long k = hps_cost_line_units(&x->line, t2, v->m->max[x->g]);
        if (k == 0) continue;
        while (at <= x->i)
            v->first[at++] = v->n;
        v->item[v->n++] = (struct hps_exact_item){ 0, (double)k, 0, id[a], (short)x->j,
                                                       (short)x->g };
    }
    while (at <= v->m->L)
        v->first[at++] = v->n;
    if (t2 < t1 * 1.01) draw_in(v);
    weigh(v);
    return serve(v) && v->n > 0 && v->t1 <= v->t2;
}

static void offer(struct hps_exact_best *b, double value, int g, int a)
{
    if (g == b->g1 || value < b->v1) {
        if (value >= b->v1) return;
        if (g != b->g1) {
            b->v2 = b->v1;
            b->a2 = b->a1;
        }
        b->v1 = value;
        b->g1 = g;
        b->a1 = a;
    } else if (value < b->v2) {
        b->v2 = value;
        b->a2 = a;
    }
}

static void clear(struct hps_exact_best *b, int n)
{
    for (int i = 0; i < n; i++)
        b[i] = (struct hps_exact_best){ INFINITY, INFINITY, -1, -1, -1 };
}

static void forward(struct hps_exact_view *v)
{
    clear(v->fwd, v->m->L + 1);
    v->fwd[0].v1 = v->fwd[0].v2 = 0;
    for (int i = 0; i < v->m->L; i++) {
        const struct hps_exact_best *b = &v->fwd[i];
        if (b->v1 == INFINITY) continue;
        for (int a = v->first[i]; a < v->first[i + 1]; a++) {
            const struct hps_exact_item *e = &v->item[a];
            offer(&v->fwd[e->j + 1], hps_exact_adjacent(v, b, e->g) + e->c, e->g, a);
        }
    }
}

static void backward(struct hps_exact_view *v)
{
    int L = v->m->L;

    clear(v->bwd, L + 1);
    v->bwd[L].v1 = v->bwd[L].v2 = 0;
    for (int i = L - 1; i >= 0; i--)
        for (int a = v->first[i]; a < v->first[i + 1]; a++) {
            const struct hps_exact_item *e = &v->item[a];
            double rest = hps_exact_adjacent(v, &v->bwd[e->j + 1], e->g);
            offer(&v->bwd[i], rest + e->c, e->g, a);
        }
}

void hps_exact_view_back(struct hps_exact_view *v)
{
    backward(v);
}

static double base(const struct hps_exact_view *v, const double *lambda)
{
    return hps_exact_model_served(v->m, v->t1, v->t2) - hps_exact_dual_base(v, lambda);
}

/* The best path of the forward program. */
static void trace(struct hps_exact_view *v)
{
    const struct hps_exact_model *m = v->m;
    int b = m->L, S = 0, next = -1;

    while (b > 0) {
        const struct hps_exact_best *x = &v->fwd[b];
        int a = next < 0 || x->g1 != next || m->again[next] ? x->a1 : x->a2;
        const struct hps_exact_item *e = &v->item[a];
        v->path.item[m->L - ++S] = a;
        next = e->g;
        b = m->arc[e->id].i;
    }
    v->path.S = S;
    memmove(v->path.item, v->path.item + m->L - S, (size_t)S * sizeof *v->path.item);
}

/* Price the path as a plan unless it is the one that was tried last. */
static void try_path(struct hps_exact_view *v, struct hps_exact_leaf *leaf)
{
    bool same = v->path.S == v->tried.S;

    for (int s = 0; s < v->path.S; s++) {
        int id = v->item[v->path.item[s]].id;
        same = same && v->tried.arc[s] == id;
        v->tried.arc[s] = id;
    }
    v->tried.S = v->path.S;
    if (!same) hps_exact_leaf_try(leaf, v->path.S, v->tried.arc);
}

static void remember(struct hps_exact_view *v, double weight)
{
    for (int s = 0; s < v->path.S; s++) {
        const struct hps_exact_item *e = &v->item[v->path.item[s]];
        for (int l = v->m->arc[e->id].i; l <= e->j; l++)
            v->share[l * v->m->G + e->g] += weight;
    }
}

/* The distance from the bound to the best plan, or a guess when there is none. */
static double missing(const struct hps_exact_leaf *leaf, double q)
{
    return isfinite(leaf->best) ? leaf->best - q : 0.1 * fabs(q) + 1e-300;
}

double hps_exact_view_bound(struct hps_exact_view *v, struct hps_exact_leaf *leaf, int rounds)
{
    const struct hps_exact_model *m = v->m;
    size_t G = (size_t)m->G, n = (size_t)m->dual[G];
    double best = -INFINITY, pace = PACE, weight = 1;
    int idle = 0;

    memcpy(v->dual.trial, v->dual.lambda, n * sizeof *v->dual.trial);
    memset(v->share, 0, (size_t)m->L * G * sizeof *v->share);
    for (int r = 0;; r++) {
        hps_exact_dual_charge(v, v->dual.trial);
        forward(v);
        if (v->fwd[m->L].v1 == INFINITY) return INFINITY;
        trace(v);
        try_path(v, leaf);
        remember(v, weight);
        weight *= 1.1;
        double q = v->fwd[m->L].v1 + base(v, v->dual.trial);
        bool more = hps_exact_dual_look(v, r == 0);
        if (q > best) {
            best = q;
            idle = 0;
            pace *= FASTER;
            memcpy(v->dual.lambda, v->dual.trial, n * sizeof *v->dual.lambda);
        } else if (++idle == IDLE) {
            pace *= SLOWER;
            idle = 0;
        }
        if (r == rounds || !more || best >= leaf->best * (1 - HPS_EXACT_SAME) ||
            !hps_exact_dual_step(v, pace * missing(leaf, best)))
            return best;
    }
}

double hps_exact_shared(const struct hps_exact_model *m, struct hps_exact_leaf *leaf)
{
    struct hps_exact_view *v = hps_exact_view_new(m);
    int *all = hps_mem_new((size_t)m->narc, sizeof *all);
    double bound = INFINITY;

    for (int a = 0; a < m->narc; a++)
        all[a] = a;
    if (hps_exact_view_fill(v, 0, m->tau_max, m->narc, all,
                            (struct hps_exact_branch){ HPS_EXACT_ANY, 0, 0 }))
        bound = hps_exact_view_bound(v, leaf, 0) - hps_exact_model_served(m, 0, m->tau_max) +
                hps_exact_model_served(m, hps_exact_min_tau(m), m->tau_max);
    hps_mem_free(all);
    hps_exact_view_free(v);
    return bound;
}

void hps_exact_view_keep(struct hps_exact_view *v, double cut)
{
    int n = 0, at = 0;

    for (int i = 0; i < v->m->L; i++)
        for (int a = v->first[i], end = v->first[i + 1]; a < end; a++) {
            if (v->min[a] >= cut) continue;
            while (at <= i)
                v->first[at++] = n;
            v->item[n++] = v->item[a];
        }
    while (at <= v->m->L)
        v->first[at++] = n;
    v->n = n;
}

void hps_exact_view_drop(struct hps_exact_view *v, double cut)
{
    hps_exact_dual_charge(v, v->dual.lambda);
    forward(v);
    backward(v);
    double beside = base(v, v->dual.lambda); /* what is not on paths */
    for (int i = 0; i < v->m->L; i++)
        for (int a = v->first[i]; a < v->first[i + 1]; a++) {
            const struct hps_exact_item *e = &v->item[a];
            v->min[a] = hps_exact_adjacent(v, &v->fwd[i], e->g) + e->c +
                        hps_exact_adjacent(v, &v->bwd[e->j + 1], e->g) + beside;
        }
    hps_exact_view_keep(v, cut);
    backward(v);
}

/* Where a depth-first walk stands. */
struct walk {
    struct hps_exact_view *v;
    struct hps_exact_leaf *leaf;
    double base;
    long long steps;
    int S;
};

static bool visit(struct walk *w, int b, int before, double value)
{
    struct hps_exact_view *v = w->v;
    const struct hps_exact_model *m = v->m;

    if (b == m->L) {
        hps_exact_leaf_try(w->leaf, w->S, v->tried.arc);
        return true;
    }
    for (int a = v->first[b]; a < v->first[b + 1]; a++) {
        const struct hps_exact_item *e = &v->item[a];
        if (--w->steps < 0) return false;
        if (e->g == before && !m->again[e->g]) continue;
        double sum = value + e->c;
        if (sum + hps_exact_adjacent(v, &v->bwd[e->j + 1], e->g) + w->base >=
                w->leaf->best * (1 - HPS_EXACT_SAME) ||
            v->used[e->g] + e->k > (double)m->sum[e->g])
            continue;
        v->used[e->g] += e->k;
        v->tried.arc[w->S++] = e->id;
        bool whole = visit(w, e->j + 1, e->g, sum);
        w->S--;
        v->used[e->g] -= e->k;
        if (!whole) return false;
    }
    return true;
}

bool hps_exact_view_close(struct hps_exact_view *v, struct hps_exact_leaf *leaf, long long steps)
{
    struct walk w = { v, leaf, base(v, v->dual.lambda), steps, 0 };

    v->tried.S = 0;
    memset(v->used, 0, (size_t)v->m->G * sizeof *v->used);
    v->used[v->m->servers.type] = v->served;
    return visit(&w, 0, -1, 0);
}

bool hps_exact_view_split(const struct hps_exact_view *v, int *l, int *g)
{
    const struct hps_exact_model *m = v->m;
    double total = 0, nearest = 0.5 - 1e-9;

    for (int h = 0; h < m->G; h++)
        total += v->share[h];
    for (int a = 0; a < m->L * m->G; a++) {
        double off = fabs(v->share[a] / total - 0.5);
        if (off < nearest) {
            nearest = off;
            *l = a / m->G;
            *g = a % m->G;
        }
    }
    return nearest < 0.5 - 1e-9;
}
