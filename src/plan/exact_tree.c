/* exact_tree.c - best bound first: intervals of tau, then layers on groups, until no bound is
 * below the best plan. */
#include "plan/exact.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

enum {
    ROUNDS_ROOT = 200,      /* multiplier steps where nothing is inherited  */
    ROUNDS = 25,
    CLOSE_ARCS = 1000,      /* walk all paths when no more arcs are left    */
    CLOSE_STEPS = 20000,
    CLOSE_STEPS_LAST = 50000000     /* where nothing can be divided any more */
};

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
    const struct hps_exact_end *end;
    struct node *heap;
    size_t n, cap;
    double closed;          /* least bound of what was given up */
};

static struct list *list_new(const struct hps_exact_model *m, int n)
{
    struct list *list = hps_mem_new(1, sizeof *list);

    list->n = n;
    list->id = hps_mem_new((size_t)n, sizeof *list->id);
    list->lambda = hps_mem_new((size_t)m->G, sizeof *list->lambda);
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

/* The least tau that some path could have if each stage had all units of its group. */
static double least_tau(const struct hps_exact_model *m)
{
    double *tau = hps_mem_new((size_t)m->L + 1, sizeof *tau);

    for (int b = 1; b <= m->L; b++)
        tau[b] = INFINITY;
    for (int a = 0; a < m->narc; a++) {
        const struct hps_exact_arc *x = &m->arc[a];
        double et = fmax(tau[x->i], hps_cost_line_et(&x->line, (double)m->most[x->g]));
        tau[x->j + 1] = fmin(tau[x->j + 1], et);
    }
    double least = tau[m->L];
    hps_mem_free(tau);
    return least;
}

/* Beyond this tau every stage has one unit, and a larger one only costs more. */
static double largest_tau(const struct hps_exact_model *m)
{
    double tau = 0;

    for (int a = 0; a < m->narc; a++)
        tau = fmax(tau, hps_cost_line_et(&m->arc[a].line, 1));
    return fmin(tau, m->tau_most);
}

static void plant(struct tree *x)
{
    const struct hps_exact_model *m = x->m;
    struct node root = { .t1 = least_tau(m), .t2 = largest_tau(m) };

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

/* Two children from what the view has left of a node: halves of the interval while its width is to
 * blame for the gap, else a layer on a group or not. False when there is nothing to divide. */
static bool branch(struct tree *x, const struct node *node, double bound, bool duality)
{
    const struct hps_exact_view *v = x->view;
    struct node a = { .bound = fmax(bound, node->bound), .t1 = v->t1, .t2 = v->t2,
                      .depth = node->depth + 1 };
    double middle = v->t1 > 0 ? sqrt(v->t1) * sqrt(v->t2) : v->t2 / 1000;
    double gap = x->leaf->best / bound - 1;
    bool wide = v->t1 < middle && middle < v->t2;
    bool split = hps_exact_view_split(v, &a.l, &a.g);

    if (!wide && !split)
        return false;
    a.list = list_new(x->m, v->n);
    for (int i = 0; i < v->n; i++)
        a.list->id[i] = v->item[i].id;
    memcpy(a.list->lambda, v->lambda, (size_t)x->m->G * sizeof *v->lambda);
    struct node b = a;
    if (wide && !(duality && split && v->t2 / v->t1 - 1 < gap / 2)) {
        a.t2 = b.t1 = middle;
    } else {
        a.rule = HPS_EXACT_ON;
        b.rule = HPS_EXACT_OFF;
    }
    push(x, a);
    push(x, b);
    return true;
}

static void expand(struct tree *x, const struct node *node)
{
    struct hps_exact_view *v = x->view;
    double t2 = x->m->least_tau ? fmin(node->t2, cut(x)) : node->t2;

    if (!hps_exact_view_fill(v, node->t1, t2, node->list->n, node->list->id, node->rule, node->l,
                             node->g))
        return;
    memcpy(v->lambda, node->list->lambda, (size_t)x->m->G * sizeof *v->lambda);
    bool narrow = v->t2 < v->t1 * 1.5;
    double bound = hps_exact_view_bound(v, x->leaf, narrow ? ROUNDS : 4);
    if (bound >= cut(x))
        return;
    hps_exact_view_drop(v, cut(x));
    if (v->n == 0)
        return;
    x->leaf->doubt = false;
    bool whole = v->n <= CLOSE_ARCS && hps_exact_view_close(v, x->leaf, CLOSE_STEPS);
    if (!whole && branch(x, node, bound, narrow))
        return;
    if (!whole)
        whole = hps_exact_view_close(v, x->leaf, CLOSE_STEPS_LAST);
    if (!whole || x->leaf->doubt)
        x->closed = fmin(x->closed, fmax(bound, node->bound));
}

static bool over(const struct tree *x)
{
    const struct hps_exact_end *end = x->end;

    return (end->until_s > 0 && hps_now_s() >= end->until_s) ||
           (end->evaluations > 0 && x->leaf->evaluations >= end->evaluations) ||
           x->leaf->best <= end->enough;
}

double hps_exact_tree(const struct hps_exact_model *m, struct hps_exact_leaf *leaf,
                      const struct hps_exact_end *end)
{
    struct tree x = { .m = m, .leaf = leaf, .end = end, .closed = INFINITY };
    double bound = INFINITY;

    x.view = hps_exact_view_new(m);
    plant(&x);
    while (x.n > 0) {
        if (x.heap[0].bound >= cut(&x) || over(&x)) {
            bound = x.heap[0].bound;
            break;
        }
        struct node node = pop(&x);
        expand(&x, &node);
        list_leave(node.list);
    }
    while (x.n > 0)
        list_leave(x.heap[--x.n].list);
    bound = fmin(bound, x.closed);
    if (bound >= cut(&x))
        bound = leaf->best;
    hps_exact_view_free(x.view);
    hps_mem_free(x.heap);
    return bound;
}
