/* exact_label.c - labelling: the cheapest path of an interval that keeps the limits. A label holds
 * the units used, and one label may dominate another (shortest paths with resource constraints:
 * Desrochers, Soumis 1988). */
#include "plan/exact/exact_label_impl.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Steps charged for a label, besides one for each other label that it is compared with. */
#define STEPS 30

/* The best paths that are tried as plans. */
#define TRY 10

struct label {
    double w, c;            /* cost inside the interval; with the prices of the completion   */
    uint64_t used;          /* units, a field for each group that is counted                 */
    int left;               /* state of the completion                                       */
    int item, from, next;   /* last stage; the label before it; another of the boundary      */
};

/* Of a label at a boundary, side by side for comparisons. */
struct row {
    double w;
    uint64_t used;
    int label, g;
};

struct hps_exact_label {
    const struct hps_exact_model *m;
    struct hps_exact_completion *completion;
    int *shift, *bits;      /* (G) of a group's field, -1: not counted; without the guard    */
    uint64_t guards, limits;
    int *head;              /* (L + 1) first label of a boundary, -1: none                   */
    struct label *label;
    struct row *row;
    size_t cap, row_cap;
    int n, nrow;
    int *arc;               /* (L) */
    long long steps;        /* left */
};

struct hps_exact_label *hps_exact_label_new(const struct hps_exact_model *m)
{
    struct hps_exact_label *x = hps_mem_new(1, sizeof *x);
    size_t L = (size_t)m->L, G = (size_t)m->G;

    x->m = m;
    x->completion = hps_exact_completion_new(m);
    x->shift = hps_mem_new(2 * G, sizeof *x->shift);
    x->bits = x->shift + G;
    x->head = hps_mem_new(2 * L + 1, sizeof *x->head);
    x->arc = x->head + L + 1;
    return x;
}

void hps_exact_label_free(struct hps_exact_label *x)
{
    if (!x) return;
    hps_exact_completion_free(x->completion);
    hps_mem_free(x->shift);
    hps_mem_free(x->head);
    hps_mem_free(x->label);
    hps_mem_free(x->row);
    hps_mem_free(x);
}

/* Reserve a field for the units of a group if one is free, with a guard bit above it. */
static int count(struct hps_exact_label *x, int g, int at)
{
    int bits = 1;

    while (bits < 63 && x->m->sum[g] >> bits > 0)
        bits++;
    if (at + bits + 1 > 64) return at;
    x->shift[g] = at;
    x->bits[g] = bits;
    x->limits |= (uint64_t)x->m->sum[g] << at;
    x->guards |= (uint64_t)1 << (at + bits);
    return at + bits + 1;
}

/* Reserve fields for the groups of the completion bound, and for other groups whose limit paths
 * break. */
static void count_all(struct hps_exact_label *x, const struct hps_exact_view *v)
{
    int at = 0;

    memset(x->shift, -1, (size_t)x->m->G * sizeof *x->shift);
    x->guards = x->limits = 0;
    for (int n = 0; n < x->completion->ngroup; n++)
        at = count(x, x->completion->group[n], at);
    for (int g = 0; g < x->m->G; g++)
        if (v->dual.busy[g] && x->shift[g] < 0) at = count(x, g, at);
}

/* Is a no more than b in every field? */
static bool within(const struct hps_exact_label *x, uint64_t a, uint64_t b)
{
    return (((b | x->guards) - a) & x->guards) == x->guards;
}

static struct label *another(struct hps_exact_label *x)
{
    hps_mem_grow(&x->label, &x->cap, (size_t)x->n + 1, sizeof *x->label);
    hps_mem_grow(&x->row, &x->row_cap, (size_t)x->n + 1, sizeof *x->row);
    return &x->label[x->n++];
}

/* Extend a label by every item. */
static void extend(struct hps_exact_label *x, const struct hps_exact_view *v, int id, int i, int g,
                   double cut)
{
    const struct hps_exact_completion *completion = x->completion;

    for (int a = v->first[i]; a < v->first[i + 1]; a++) {
        const struct hps_exact_item *e = &v->item[a];
        struct label next = x->label[id];
        if (e->g == g && !x->m->again[g]) continue;
        if (x->shift[e->g] >= 0) {
            next.used += (uint64_t)e->k << x->shift[e->g];
            if (!within(x, next.used, x->limits)) continue;
        }
        if (completion->at[e->g] >= 0)
            next.left -= completion->stride[completion->at[e->g]] * (int)e->k;
        next.c += e->c;
        if (next.c +
                completion->min[(size_t)(e->j + 1) * (size_t)completion->n + (size_t)next.left] >=
            cut)
            continue;
        next.w += e->w;
        next.item = a;
        next.from = id;
        next.next = x->head[e->j + 1];
        x->head[e->j + 1] = x->n;
        *another(x) = next;
        x->steps -= STEPS;
    }
}

static int by_cost(const void *a, const void *b)
{
    double x = ((const struct row *)a)->w, y = ((const struct row *)b)->w;

    return (x > y) - (x < y);
}

/* Can every stage that may follow the second label follow the first? */
static bool follows(const struct hps_exact_label *x, const struct row *a, const struct row *b)
{
    int g = a->g;

    if (g == b->g || g < 0 || x->m->again[g]) return true;
    return x->shift[g] >= 0 &&
           ((b->used >> x->shift[g]) & (((uint64_t)1 << x->bits[g]) - 1)) ==
               (uint64_t)x->m->sum[g];
}

/* The labels of a boundary that no other label dominates, by cost. */
static void gather(struct hps_exact_label *x, const struct hps_exact_view *v, int b)
{
    int n = 0;

    for (int id = x->head[b]; id >= 0; id = x->label[id].next)
        x->row[n++] = (struct row){ x->label[id].w, x->label[id].used, id,
                                    x->label[id].item < 0 ? -1 : v->item[x->label[id].item].g };
    qsort(x->row, (size_t)n, sizeof *x->row, by_cost);
    x->nrow = 0;
    for (int i = 0; i < n && x->steps > 0; i++) {
        const struct row *here = &x->row[i];
        int j = 0;
        while (j < x->nrow && !(within(x, x->row[j].used, here->used) &&
                                (b == x->m->L || follows(x, &x->row[j], here))))
            j++;
        x->steps -= j;
        if (j == x->nrow) x->row[x->nrow++] = *here;
    }
}

static void try_path(struct hps_exact_label *x, const struct hps_exact_view *v,
                     struct hps_exact_leaf *leaf, int id)
{
    int S = 0;

    for (int a = id; x->label[a].item >= 0; a = x->label[a].from)
        S++;
    for (int a = id, s = S; x->label[a].item >= 0; a = x->label[a].from)
        x->arc[--s] = v->item[x->label[a].item].id;
    hps_exact_leaf_try(leaf, S, x->arc);
}

/* The servers' units, where those of their group are counted. */
static uint64_t served(const struct hps_exact_label *x, const struct hps_exact_view *v)
{
    int g = x->m->servers.type;

    return x->shift[g] >= 0 ? (uint64_t)v->served << x->shift[g] : 0;
}

static double min(struct hps_exact_label *x, const struct hps_exact_view *v,
                  struct hps_exact_leaf *leaf, double cut, long long steps)
{
    int L = x->m->L;

    count_all(x, v);
    x->n = x->nrow = 0;
    x->steps = steps;
    memset(x->head, -1, (size_t)(L + 1) * sizeof *x->head);
    x->head[0] = 0;
    *another(x) = (struct label){ 0, 0, served(x, v), x->completion->begin, -1, -1, -1 };
    for (int b = 0; b < L && x->steps > 0; b++) {
        gather(x, v, b);
        for (int i = 0; i < x->nrow && x->steps > 0; i++)
            extend(x, v, x->row[i].label, b, x->row[i].g, cut - x->completion->base);
    }
    gather(x, v, L);
    if (x->steps <= 0) return -INFINITY;
    for (int i = 0; i < x->nrow && i < TRY; i++)
        try_path(x, v, leaf, x->row[i].label);
    return x->nrow > 0 ? fmin(hps_exact_model_served(x->m, v->t1, v->t2) + x->row[0].w, cut) : cut;
}

double hps_exact_label_bound(struct hps_exact_label *x, struct hps_exact_view *v,
                             struct hps_exact_leaf *leaf, double cut, long long steps)
{
    double bound =
        hps_exact_completion_fill(x->completion, v) < cut ? min(x, v, leaf, cut, steps) : cut;

    hps_exact_dual_charge(v, v->dual.lambda);
    hps_exact_view_back(v);
    return bound;
}
