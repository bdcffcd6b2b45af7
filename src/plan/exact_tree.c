/* exact_tree.c - best bound first: intervals of tau, then layers on groups, until no bound is
 * below the best plan. */
#include "plan/exact.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"

enum {
    ROUNDS = 25,            /* steps of the prices at a node                        */
    ROUNDS_WIDE = 4,        /* where the interval is too wide for them to help much */
    ROUNDS_ROOT = 200,      /* where tau is the question and nothing is inherited   */
    CLIMB = 3,              /* local search: steps for each arc of a node and layer */
    CLOSE_ARCS = 1000,      /* walk all paths when no more arcs are left    */
    CLOSE_STEPS = 5000,
    CLOSE_STEPS_LAST = 50000000     /* where nothing can be divided any more */
};

/* Tries at mending the best plan for each node; where tau is the question, cycles of annealing for
 * each, and for the root. */
#define MEND 0.1
#define ANNEAL 0.05
#define ANNEAL_ROOT 2

/* How near the least tau of a node is looked for: relative. */
#define PRECISION 5e-4

/* What both children of a node share. */
struct list {
    int users, n;
    int *id;
    double *lambda;
};

struct node {
    double bound, t1, t2;
    struct list *list;
    enum hps_exact_rule rule;
    int l, g, depth;
};

struct tree {
    const struct hps_exact_model *m;
    struct hps_exact_leaf *leaf;
    struct hps_exact_view *view;
    struct hps_exact_climb *climb;
    struct hps_exact_mend *mend;
    struct hps_exact_anneal *anneal;
    const struct hps_exact_end *end;
    struct node *heap;
    size_t n, cap;
    double closed;          /* least bound of what was given up        */
    double steps, tries, cycles;    /* that the local searches may do  */
};

static struct list *list_new(const struct hps_exact_model *m, int n)
{
    struct list *list = hps_mem_new(1, sizeof *list);

    list->n = n;
    list->id = hps_mem_new((size_t)n, sizeof *list->id);
    list->lambda = hps_mem_new((size_t)m->dual[m->G], sizeof *list->lambda);
    return list;
}

static void list_leave(struct list *list)
{
    if (--list->users > 0)
        return;
    hps_mem_free(list->id);
    hps_mem_free(list->lambda);
    hps_mem_free(list);
}

/* The least bound first; among equals the deepest, which comes to a plan or an end soonest. */
static bool before(const struct node *a, const struct node *b)
{
    return a->bound < b->bound || (a->bound == b->bound && a->depth > b->depth);
}

static void push(struct tree *x, struct node node)
{
    size_t a = x->n++;

    hps_mem_grow(&x->heap, &x->cap, x->n, sizeof *x->heap);
    node.list->users++;
    for (; a > 0 && before(&node, &x->heap[(a - 1) / 2]); a = (a - 1) / 2)
        x->heap[a] = x->heap[(a - 1) / 2];
    x->heap[a] = node;
}

static struct node pop(struct tree *x)
{
    struct node top = x->heap[0], last = x->heap[--x->n];
    size_t a = 0, b;

    while ((b = 2 * a + 1) < x->n) {
        b += b + 1 < x->n && before(&x->heap[b + 1], &x->heap[b]);
        if (!before(&x->heap[b], &last))
            break;
        x->heap[a] = x->heap[b];
        a = b;
    }
    x->heap[a] = last;
    return top;
}

static double cut(const struct tree *x)
{
    return x->leaf->best * (1 - HPS_EXACT_SAME);
}

/* Beyond this tau every stage has its fewest units, and a larger one only costs more. */
static double largest_tau(const struct hps_exact_model *m)
{
    double tau = 0;

    for (int a = 0; a < m->narc; a++)
        tau = fmax(tau, hps_cost_line_et(&m->arc[a].line, (double)m->arc[a].line.least));
    return fmin(tau, m->tau_most);
}

static void plant(struct tree *x)
{
    const struct hps_exact_model *m = x->m;
    struct node root = { .t1 = hps_exact_least_tau(m), .t2 = largest_tau(m) };

    if (!(root.t1 <= root.t2))
        return;
    root.list = list_new(m, m->narc);
    for (int a = 0; a < m->narc; a++) {
        root.list->id[a] = a;
        if (m->arc[a].i == 0 && m->arc[a].j == m->L - 1)
            hps_exact_leaf_try(x->leaf, 1, &a);
    }
    root.bound = m->server_price * root.t1;
    push(x, root);
}

/* A child of what the view has left of a node, with what both children share. */
static struct node child_of(struct tree *x, const struct node *node, double bound)
{
    const struct hps_exact_view *v = x->view;
    struct node a = { .bound = fmax(bound, node->bound), .t1 = v->t1, .t2 = v->t2,
                      .depth = node->depth + 1 };

    a.list = list_new(x->m, v->n);
    for (int i = 0; i < v->n; i++)
        a.list->id[i] = v->item[i].id;
    memcpy(a.list->lambda, v->lambda, (size_t)x->m->dual[x->m->G] * sizeof *v->lambda);
    return a;
}

/* The lower and the upper half of its interval. False when it has none. */
static bool push_halves(struct tree *x, const struct node *node, double bound)
{
    double t1 = x->view->t1, t2 = x->view->t2;
    double middle = t1 > 0 ? sqrt(t1) * sqrt(t2) : t2 / 1000;

    if (!(t1 < middle && middle < t2))
        return false;
    struct node a = child_of(x, node, bound), b = a;
    a.t2 = b.t1 = middle;
    push(x, a);
    push(x, b);
    return true;
}

/* Layer l on group g, or not. */
static void push_rules(struct tree *x, const struct node *node, double bound, int l, int g)
{
    struct node a = child_of(x, node, bound), b = a;

    a.l = b.l = l;
    a.g = b.g = g;
    a.rule = HPS_EXACT_ON;
    b.rule = HPS_EXACT_OFF;
    push(x, a);
    push(x, b);
}

/* All paths of the view, when `steps` suffice: true when nothing is left of the node. */
static bool walk(struct tree *x, const struct node *node, double bound, long long steps)
{
    x->leaf->doubt = false;
    if (!hps_exact_view_close(x->view, x->leaf, steps))
        return false;
    if (x->leaf->doubt)
        x->closed = fmin(x->closed, fmax(bound, node->bound));
    return true;
}

/* What cannot be divided is walked for long, and then given up. */
static void finish(struct tree *x, const struct node *node, double bound)
{
    if (!walk(x, node, bound, CLOSE_STEPS_LAST))
        x->closed = fmin(x->closed, fmax(bound, node->bound));
}

static bool fill(struct tree *x, const struct node *node, double t1, double t2)
{
    return hps_exact_view_fill(x->view, t1, t2, node->list->n, node->list->id, node->rule, node->l,
                               node->g);
}

/* Divide the interval while its width is to blame for the gap, and else a layer. */
static void expand(struct tree *x, const struct node *node)
{
    struct hps_exact_view *v = x->view;
    int l, g;

    if (!fill(x, node, node->t1, node->t2))
        return;
    bool narrow = v->t2 < v->t1 * 1.5;
    double bound = hps_exact_view_bound(v, x->leaf, narrow ? ROUNDS : ROUNDS_WIDE);
    if (bound >= cut(x))
        return;
    hps_exact_view_drop(v, cut(x));
    if (v->n == 0 || (v->n <= CLOSE_ARCS && walk(x, node, bound, CLOSE_STEPS)))
        return;
    bool split = hps_exact_view_split(v, &l, &g);
    bool wide = !(narrow && split && v->t2 / v->t1 - 1 < (x->leaf->best / bound - 1) / 2);
    if (wide && push_halves(x, node, bound))
        return;
    if (split)
        push_rules(x, node, bound, l, g);
    else
        finish(x, node, bound);
}

/* The least tau of a node that its prices cannot rule out: doubled strides up, then halves.
 * False when they rule out all that is below the best plan. Afterwards the view's paths tell where
 * to branch. */
static bool lift(struct tree *x, const struct node *node, double *t1)
{
    double low = node->t1, high = 0, stride = PRECISION;
    int rounds = node->depth == 0 ? ROUNDS_ROOT : 2 * ROUNDS;

    while (high == 0 || (high > low * (1 + 2 * PRECISION) && high > DBL_MIN)) {
        double top = fmin(node->t2, cut(x)), t2 = low * (1 + stride);
        if (low >= top)
            return false;
        if (low == 0)
            t2 = (high > 0 ? high : top) / 1000;
        else if (high > 0)
            t2 = sqrt(low) * sqrt(high);
        t2 = fmin(t2, top);
        if (fill(x, node, low, t2) && hps_exact_view_bound(x->view, x->leaf, rounds) < cut(x)) {
            high = t2;
        } else {
            low = t2;
            stride *= 2;
        }
    }
    *t1 = low;
    return true;
}

/* The same when tau itself is the question: the bound is the tau that prices rule out. */
static void expand_tau(struct tree *x, const struct node *node)
{
    struct hps_exact_view *v = x->view;
    double bound;
    int l, g;

    if (!lift(x, node, &bound) || !fill(x, node, bound, fmin(node->t2, cut(x))))
        return;
    hps_exact_view_drop(v, cut(x));
    if (v->n == 0 || (v->n <= CLOSE_ARCS && walk(x, node, bound, CLOSE_STEPS)))
        return;
    if (hps_exact_view_split(v, &l, &g))
        push_rules(x, node, bound, l, g);
    else if (!push_halves(x, node, bound))
        finish(x, node, bound);
}

/* Some steps of the local searches beside the tree: a share of the work that a node was. */
static void climb(struct tree *x)
{
    x->steps += CLIMB * x->view->n / x->m->L;
    if (x->steps >= 1000) {
        hps_exact_climb_run(x->climb, (long long)x->steps);
        x->steps = 0;
    }
    if (x->m->least_tau) {
        x->cycles += ANNEAL;
        hps_exact_anneal_run(x->anneal, (int)x->cycles, x->end);
        x->cycles -= floor(x->cycles);
        return;
    }
    x->tries += MEND;
    if (x->tries >= 10) {
        hps_exact_mend_run(x->mend, (long long)x->tries, x->end);
        x->tries = 0;
    }
}

static bool over(const struct tree *x)
{
    const struct hps_exact_end *end = x->end;

    return (end->until_s > 0 && hps_now_s() >= end->until_s) ||
           (end->evaluations > 0 && x->leaf->evaluations >= end->evaluations) ||
           (x->leaf->S > 0 && x->leaf->best <= end->enough);
}

double hps_exact_tree(const struct hps_exact_model *m, struct hps_exact_leaf *leaf,
                      const struct hps_exact_end *end)
{
    struct tree x = { .m = m, .leaf = leaf, .end = end, .closed = INFINITY,
                      .cycles = ANNEAL_ROOT };
    double bound = INFINITY;

    x.view = hps_exact_view_new(m);
    x.climb = hps_exact_climb_new(leaf);
    if (m->least_tau)
        x.anneal = hps_exact_anneal_new(leaf);
    else
        x.mend = hps_exact_mend_new(leaf);
    plant(&x);
    hps_exact_climb_run(x.climb, 2LL * m->L * (m->L + m->G));
    while (x.n > 0) {
        if (x.heap[0].bound >= cut(&x) || over(&x)) {
            bound = x.heap[0].bound;
            break;
        }
        struct node node = pop(&x);
        memcpy(x.view->lambda, node.list->lambda, (size_t)m->dual[m->G] * sizeof *x.view->lambda);
        if (m->least_tau)
            expand_tau(&x, &node);
        else
            expand(&x, &node);
        list_leave(node.list);
        if (x.n > 0) climb(&x);
    }
    while (x.n > 0)
        list_leave(x.heap[--x.n].list);
    bound = fmin(bound, x.closed);
    if (bound >= cut(&x))
        bound = leaf->best;
    hps_exact_climb_free(x.climb);
    hps_exact_mend_free(x.mend);
    hps_exact_anneal_free(x.anneal);
    hps_exact_view_free(x.view);
    hps_mem_free(x.heap);
    return bound;
}
