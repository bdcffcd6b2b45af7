/* exact_anneal.c - simulated annealing for a plan at the edge of the limits: layers change their
 * types, or exchange them, while the number of units beyond the limits is driven to 0; types that
 * stay beyond their limit weigh more in the next cycle.
 *
 * The excess of a type is weighed so that an average layer needs about 1 of each type. Types are
 * the real ones with limits of their own, so nothing is left to pack. */
#include "plan/exact/exact_impl.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "plan/budget.h"

enum {
    CYCLE = 300, /* moves of a cycle, for each layer and type        */
    STEP = 64,   /* moves at one temperature                         */
    LOGS = 1024,
    NEVER = 1000, /* times all units: what a layer costs where none do */
    RECOLOUR = 8,
    NEIGHBOUR = 2 /* of 16 moves; those of a neighbour's type         */
};

#define HOT 1.0                 /* excess that a cycle begins with: taken as easily as not */
#define COLD 0.01               /* and ends with                                           */
#define HEAVIER 1.3             /* what was beyond its limit at the end of a cycle         */
#define STRIDE 0.02             /* how much faster than the best plan, at most             */
#define MIN_STRIDE 1e-5

struct hps_exact_anneal {
    const struct hps_exact_model *m;
    struct hps_exact_leaf *leaf;
    int T, *group;              /* (T) types with units, by group                   */
    long long *capacity, *used; /* (T)                                              */
    double *weight;             /* (T) of a unit beyond the limit                   */
    int *type;                  /* (L) of a layer                                   */
    int *from, *to;             /* (L) first and last layer of the run around it    */
    int *arc;                   /* (L) of a plan                                    */
    long long *units;           /* (stages, G) at tau; more than there are: no number does */
    double tau, stride, log[LOGS];
    uint64_t key, draws;
};

struct hps_exact_anneal *hps_exact_anneal_new(struct hps_exact_leaf *leaf)
{
    struct hps_exact_anneal *x = hps_mem_new(1, sizeof *x);
    const struct hps_exact_model *m = leaf->m;
    size_t L = (size_t)m->L, T = (size_t)m->begin[m->G];

    x->m = m;
    x->leaf = leaf;
    x->T = (int)T;
    x->group = hps_mem_new(T + 4 * L, sizeof *x->group);
    x->type = x->group + T;
    x->from = x->type + L;
    x->to = x->from + L;
    x->arc = x->to + L;
    x->capacity = hps_mem_new(2 * T, sizeof *x->capacity);
    x->used = x->capacity + T;
    x->weight = hps_mem_new(T, sizeof *x->weight);
    x->units = hps_mem_new(L * (L + 1) / 2 * (size_t)m->G, sizeof *x->units);
    for (int g = 0; g < m->G; g++)
        for (int t = m->begin[g]; t < m->begin[g + 1]; t++) {
            x->group[t] = g;
            x->capacity[t] = hps_cost_capacity(m->p, m->member[t]);
        }
    for (int a = 0; a < LOGS; a++)
        x->log[a] = -log((a + 0.5) / LOGS);
    x->stride = STRIDE;
    x->key = hps_rng_key(0, "anneal");
    return x;
}

void hps_exact_anneal_free(struct hps_exact_anneal *x)
{
    if (!x) return;
    hps_mem_free(x->group);
    hps_mem_free(x->capacity);
    hps_mem_free(x->weight);
    hps_mem_free(x->units);
    hps_mem_free(x);
}

static long long *place(const struct hps_exact_anneal *x, int i, int j, int g)
{
    return &x->units[hps_cost_index(x->m->L, x->m->G, i, j, g)];
}

/* Units of layers i..j on a type; no layers, no units. */
static long long units(const struct hps_exact_anneal *x, int i, int j, int t)
{
    return i > j ? 0 : *place(x, i, j, x->group[t]);
}

/* Set the weights so that the mean layer, of those that can be on the type, weighs 1. */
static void weigh(struct hps_exact_anneal *x)
{
    for (int t = 0; t < x->T; t++) {
        double sum = 0, n = 0;
        for (int l = 0; l < x->m->L; l++) {
            long long k = units(x, l, l, t);
            if (k > x->capacity[t]) continue;
            sum += (double)k;
            n++;
        }
        x->weight[t] = sum > 0 ? n / sum : 1;
    }
}

/* Set tau: all units are counted at it from now on. */
static void look_at(struct hps_exact_anneal *x, double tau)
{
    const struct hps_exact_model *m = x->m;

    for (int i = 0; i < m->L; i++)
        for (int j = i; j < m->L; j++)
            for (int g = 0; g < m->G; g++)
                *place(x, i, j, g) = NEVER * m->sum[g] * (j - i + 1);
    for (int a = 0; a < m->narc; a++) {
        const struct hps_exact_arc *e = &m->arc[a];
        long long k = hps_cost_line_units(&e->line, tau, m->max[e->g]);
        if (k > 0) *place(x, e->i, e->j, e->g) = k;
    }
    if (!(x->tau > 0)) weigh(x);
    x->tau = tau;
}

static int below(uint64_t bits, int n)
{
    return (int)((bits & 0xffff) * (uint64_t)n >> 16);
}

/* The runs of layers that touch layer l, after its type changed. */
static void find_runs(struct hps_exact_anneal *x, int l)
{
    const int *type = x->type;
    int i = l > 0 ? x->from[l - 1] : 0, end = l + 1 < x->m->L ? x->to[l + 1] : l;

    for (int j; i <= end; i = j + 1) {
        for (j = i; j < end && type[j + 1] == type[i]; j++)
            continue;
        for (int a = i; a <= j; a++) {
            x->from[a] = i;
            x->to[a] = j;
        }
    }
}

static void begin(struct hps_exact_anneal *x)
{
    int L = x->m->L;

    memset(x->used, 0, (size_t)x->T * sizeof *x->used);
    for (int l = 0; l < L; l++) {
        x->type[l] = below(hps_rng_bits(x->key, x->draws++), x->T);
        x->from[l] = x->to[l] = l;
    }
    for (int l = 0; l < L; l++)
        find_runs(x, l);
    for (int i = 0; i < L; i = x->to[i] + 1)
        x->used[x->type[i]] += units(x, i, x->to[i], x->type[i]);
}

/* What changes when layer l leaves its type a for b. */
struct change {
    long long a, b;
};

static struct change change_of(const struct hps_exact_anneal *x, int l, int b)
{
    int a = x->type[l], i = x->from[l], j = x->to[l], first = l, last = l;
    struct change d = { units(x, i, l - 1, a) + units(x, l + 1, j, a) - units(x, i, j, a), 0 };

    if (l == i && l > 0 && x->type[l - 1] == b) {
        first = x->from[l - 1];
        d.b -= units(x, first, l - 1, b);
    }
    if (l == j && l + 1 < x->m->L && x->type[l + 1] == b) {
        last = x->to[l + 1];
        d.b -= units(x, l + 1, last, b);
    }
    d.b += units(x, first, last, b);
    return d;
}

static void take(struct hps_exact_anneal *x, int l, int b, struct change d)
{
    x->used[x->type[l]] += d.a;
    x->used[b] += d.b;
    x->type[l] = b;
    find_runs(x, l);
}

static double excess(const struct hps_exact_anneal *x, int t, long long more)
{
    long long beyond = x->used[t] + more - x->capacity[t];

    return beyond > 0 ? x->weight[t] * (double)beyond : 0;
}

/* Is a rise of the excess taken at this heat? */
static bool taken(const struct hps_exact_anneal *x, double rise, double heat, uint64_t bits)
{
    return rise <= 0 || rise < heat * x->log[bits % LOGS];
}

static void reassign(struct hps_exact_anneal *x, int l, int b, double heat, uint64_t bits)
{
    int a = x->type[l];

    if (a == b) return;
    struct change d = change_of(x, l, b);
    double rise = excess(x, a, d.a) - excess(x, a, 0) + excess(x, b, d.b) - excess(x, b, 0);
    if (taken(x, rise, heat, bits)) take(x, l, b, d);
}

/* Layers l and k exchange their types. */
static void swap(struct hps_exact_anneal *x, int l, int k, double heat, uint64_t bits)
{
    int a = x->type[l], b = x->type[k];

    if (a == b) return;
    double before = excess(x, a, 0) + excess(x, b, 0);
    struct change d = change_of(x, l, b);
    take(x, l, b, d);
    struct change e = change_of(x, k, a);
    if (taken(x, excess(x, a, e.b) + excess(x, b, e.a) - before, heat, bits))
        take(x, k, a, e);
    else
        take(x, l, a, (struct change){ -d.b, -d.a });
}

static void move(struct hps_exact_anneal *x, double heat)
{
    uint64_t bits = hps_rng_bits(x->key, x->draws++);
    int L = x->m->L, kind = (int)(bits >> 60), l = below(bits, L), other = below(bits >> 16, L);

    if (kind >= RECOLOUR)
        swap(x, l, other, heat, bits >> 40);
    else if (kind >= NEIGHBOUR || L == 1)
        reassign(x, l, below(bits >> 16, x->T), heat, bits >> 40);
    else
        reassign(x, l, x->type[l > 0 && (kind == 0 || l + 1 == L) ? l - 1 : l + 1], heat,
                 bits >> 40);
}

static bool within(const struct hps_exact_anneal *x)
{
    for (int t = 0; t < x->T; t++)
        if (x->used[t] > x->capacity[t]) return false;
    return true;
}

static bool late(const struct hps_exact_end *end)
{
    return hps_budget_over(end->until_s);
}

/* One cycle of annealing, from hot to cold. True when the limits are kept. */
static bool cycle(struct hps_exact_anneal *x, const struct hps_exact_end *end)
{
    int n = CYCLE * x->m->L * x->T / STEP + 1;
    double heat = HOT, colder = pow(COLD / HOT, 1.0 / n);

    begin(x);
    for (int a = 0; a < n && !within(x); a++, heat *= colder) {
        if (a % 64 == 0 && late(end)) return false;
        for (int b = 0; b < STEP; b++)
            move(x, heat);
        x->leaf->evaluations += a % (x->m->L / STEP + 1) == 0;
    }
    return within(x);
}

/* Raise the weights of types that are still beyond their limit, relative to the other types. */
static void reweigh(struct hps_exact_anneal *x)
{
    double was = 0, is = 0;

    for (int t = 0; t < x->T; t++) {
        was += x->weight[t];
        if (x->used[t] > x->capacity[t]) x->weight[t] *= HEAVIER;
        is += x->weight[t];
    }
    for (int t = 0; t < x->T; t++)
        x->weight[t] *= was / is;
}

static bool keep(struct hps_exact_anneal *x)
{
    int S = 0;

    for (int i = 0; i < x->m->L; i = x->to[i] + 1)
        x->arc[S++] = hps_exact_model_arc(x->m, i, x->to[i], x->group[x->type[i]]);
    return hps_exact_leaf_try(x->leaf, S, x->arc);
}

static double next_tau(const struct hps_exact_anneal *x)
{
    return x->leaf->S == 0 ? x->m->tau_max : x->leaf->best / (1 + x->stride);
}

void hps_exact_anneal_run(struct hps_exact_anneal *x, int cycles, const struct hps_exact_end *end)
{
    const struct hps_exact_leaf *leaf = x->leaf;
    bool plan = leaf->S > 0;

    for (; cycles > 0 && !late(end) && leaf->best > end->enough; cycles--) {
        double tau = next_tau(x);
        if (leaf->S > 0 && !plan) return;
        if (tau != x->tau) look_at(x, tau);
        if (cycle(x, end) && keep(x)) {
            x->stride = fmin(2 * x->stride, STRIDE);
        } else {
            reweigh(x);
            x->stride = fmax(x->stride / 2, MIN_STRIDE);
        }
    }
}
