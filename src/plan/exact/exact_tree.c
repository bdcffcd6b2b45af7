/* exact_tree.c - best bound first: intervals of tau, then layers on groups, until no bound is
 * below the best plan. */
#include "plan/exact/exact_cover_impl.h"
#include "plan/exact/exact_label_impl.h"
#include "plan/exact/exact_open_impl.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "plan/budget.h"

enum {
    ROUNDS = 25,            /* steps of the prices at a node                        */
    ROUNDS_WIDE = 4,        /* where the interval is too wide for them to help much */
    ROUNDS_COVER = 100,     /* of the prices of layers, where nothing is inherited  */
    ROUNDS_ROOT = 200,      /* where tau is the question and nothing is inherited   */
    CLOSE_ARCS = 1000,      /* walk all paths when no more arcs are left            */
    CLOSE_STEPS = 5000,
    CLOSE_STEPS_COVER = 1000,       /* where prices of layers tell what is to come  */
    CLOSE_STEPS_LAST = 50000000,    /* where nothing can be divided any more        */
    CLOSE_STEPS_COVER_LAST = 2000000,
    LABEL_STEPS = 2000000
};

/* An interval is divided while it is wider than this share of the gap. */
#define WIDE 0.5
#define WIDE_COVER 0.125
#define WIDE_LABEL 0.15

/* The first step of the prices of layers at a node: this factor times the last step of its parent,
 * up to a maximum. */
#define AGAIN 4
#define MAX_AGAIN 1.0

/* Prices of layers are used on when they close this share of the gap. */
#define GAIN 0.4

/* The relative precision of the smallest tau of a node. */
#define PRECISION 5e-4

struct tree {
    const struct hps_exact_model *m;
    struct hps_exact_leaf *leaf;
    struct hps_exact_view *view;
    struct hps_exact_cover *cover;
    struct hps_exact_label *label;
    bool covered;           /* has the view's node prices of layers?   */
    double here;            /* its bound by them                       */
    struct hps_exact_trust cover_trust, label_trust;
    struct hps_exact_primal *primal;
    const struct hps_exact_end *end;
    struct hps_exact_open open;
    double closed; /* lowest bound of nodes that were given up */
};

static double cut(const struct tree *x)
{
    return x->leaf->best * (1 - HPS_EXACT_SAME);
}

/* Beyond this tau every stage has its fewest units, servers too, and a larger one only costs
 * more. */
static double largest_tau(const struct hps_exact_model *m)
{
    const struct hps_cost_servers *can = &m->servers.can;
    double tau = can->min > 0 ? can->work / (double)can->min : 0;

    for (int a = 0; a < m->narc; a++)
        tau = fmax(tau, hps_cost_line_et(&m->arc[a].line, (double)m->arc[a].line.min_units));
    return fmin(tau, m->tau_max);
}

static void plant(struct tree *x)
{
    const struct hps_exact_model *m = x->m;
    struct hps_exact_node root = { .t1 = hps_exact_min_tau(m), .t2 = largest_tau(m) };

    if (!(root.t1 <= root.t2)) return;
    root.list = hps_exact_list_new(m, m->narc);
    for (int a = 0; a < m->narc; a++) {
        root.list->id[a] = a;
        if (m->arc[a].i == 0 && m->arc[a].j == m->L - 1) hps_exact_leaf_try(x->leaf, 1, &a);
    }
    root.bound = hps_exact_model_served(m, root.t1, root.t2);
    hps_exact_open_push(&x->open, root);
}

/* A child of what the view has left of a node, with what both children share. */
static struct hps_exact_node child_of(struct tree *x, const struct hps_exact_node *node,
                                      double bound)
{
    const struct hps_exact_view *v = x->view;
    struct hps_exact_node a = { .bound = fmax(bound, node->bound), .t1 = v->t1, .t2 = v->t2,
                                .depth = node->depth + 1 };

    a.list = hps_exact_list_new(x->m, v->n);
    for (int i = 0; i < v->n; i++)
        a.list->id[i] = v->item[i].id;
    memcpy(a.list->lambda, v->dual.lambda, (size_t)x->m->dual[x->m->G] * sizeof *v->dual.lambda);
    a.list->covered = x->covered;
    a.list->pace = x->cover->pace;
    memcpy(a.list->price, x->cover->price, (size_t)x->m->L * sizeof *x->cover->price);
    return a;
}

/* The lower and the upper half of its interval. False when it has none. */
static bool push_halves(struct tree *x, const struct hps_exact_node *node, double bound)
{
    double t1 = x->view->t1, t2 = x->view->t2;
    double middle = t1 > 0 ? sqrt(t1) * sqrt(t2) : t2 / 1000;

    if (!(t1 < middle && middle < t2)) return false;
    struct hps_exact_node a = child_of(x, node, bound), b = a;
    a.t2 = b.t1 = middle;
    hps_exact_open_push(&x->open, a);
    hps_exact_open_push(&x->open, b);
    return true;
}

/* Layer l on group g, or not. */
static void push_rules(struct tree *x, const struct hps_exact_node *node, double bound, int l,
                       int g)
{
    struct hps_exact_node a = child_of(x, node, bound), b = a;

    a.share = b.share = hps_exact_cover_share(x->cover, l, g);
    a.above = b.above = x->covered ? x->here : INFINITY;
    a.branch = (struct hps_exact_branch){ HPS_EXACT_ON, l, g };
    b.branch = (struct hps_exact_branch){ HPS_EXACT_OFF, l, g };
    hps_exact_open_push(&x->open, a);
    hps_exact_open_push(&x->open, b);
}

/* All paths of the view, when `steps` suffice: true when nothing is left of the node. */
static bool walk(struct tree *x, const struct hps_exact_node *node, double bound, long long steps)
{
    x->leaf->doubt = false;
    if (x->covered ? !hps_exact_cover_close(x->cover, x->view, x->leaf, steps)
                   : !hps_exact_view_close(x->view, x->leaf, steps))
        return false;
    if (x->leaf->doubt) x->closed = fmin(x->closed, fmax(bound, node->bound));
    return true;
}

static bool walk_few(struct tree *x, const struct hps_exact_node *node, double bound)
{
    return x->view->n <= CLOSE_ARCS &&
           walk(x, node, bound, x->covered ? CLOSE_STEPS_COVER : CLOSE_STEPS);
}

/* What cannot be divided is walked for long, and then given up. */
static void finish(struct tree *x, const struct hps_exact_node *node, double bound)
{
    if (!walk(x, node, bound, x->covered ? CLOSE_STEPS_COVER_LAST : CLOSE_STEPS_LAST))
        x->closed = fmin(x->closed, fmax(bound, node->bound));
}

static bool fill(struct tree *x, const struct hps_exact_node *node, double t1, double t2)
{
    return hps_exact_view_fill(x->view, t1, t2, node->list->n, node->list->id, node->branch);
}

static bool narrow(const struct hps_exact_view *v)
{
    return v->t2 < v->t1 * 1.5;
}

/* The bound by the prices of layers, which go on from those of the node. */
static double cover(struct tree *x, const struct hps_exact_node *node)
{
    const struct hps_exact_list *list = node->list;
    int rounds = !list->covered                       ? ROUNDS_COVER
                 : node->branch.rule == HPS_EXACT_ANY ? 3 * ROUNDS
                                                      : ROUNDS;

    if (list->covered) {
        memcpy(x->cover->price, list->price, (size_t)x->m->L * sizeof *list->price);
        x->cover->pace = fmin(AGAIN * list->pace, MAX_AGAIN);
    } else {
        hps_exact_cover_begin(x->cover, x->view);
    }
    return hps_exact_cover_bound(x->cover, x->view, cut(x), rounds);
}

/* By the prices of units: bound a node, drop what is above the best plan, and walk what is left
 * when it is little. False when that was all. */
static bool by_units(struct tree *x, const struct hps_exact_node *node, double *bound)
{
    struct hps_exact_view *v = x->view;

    *bound = fmax(*bound, hps_exact_view_bound(v, x->leaf, narrow(v) ? ROUNDS : ROUNDS_WIDE));
    if (*bound >= cut(x)) return false;
    hps_exact_view_drop(v, cut(x));
    return v->n > 0 && !walk_few(x, node, *bound);
}

/* The same by the prices of layers. Where those gain little, the next nodes do without. */
static bool by_layers(struct tree *x, const struct hps_exact_node *node, double *bound)
{
    double here = x->here = cover(x, node);

    if (node->branch.rule != HPS_EXACT_ANY && isfinite(node->above))
        hps_exact_cover_learn(x->cover, node->branch.l, node->branch.g,
                              node->branch.rule == HPS_EXACT_ON, node->share,
                              fmin(here, cut(x)) - node->above);
    x->covered = true;
    if (!node->list->covered) {
        x->covered = here > *bound + GAIN * (cut(x) - *bound);
        hps_exact_trust(&x->cover_trust, x->covered);
    }
    *bound = fmax(*bound, here);
    if (*bound >= cut(x)) return false;
    hps_exact_cover_drop(x->cover, x->view, cut(x));
    if (!x->covered) {
        hps_exact_dual_charge(x->view, x->view->dual.lambda);
        hps_exact_view_back(x->view);
    }
    return x->view->n > 0 && !walk_few(x, node, *bound);
}

/* Choose the layer to branch on: by the paths where the sets agree, unless their bound closes the
 * node. */
static bool split(struct tree *x, double *bound, int *l, int *g)
{
    struct hps_exact_view *v = x->view;

    if (hps_exact_cover_split(x->cover, l, g)) return true;
    *bound = fmax(*bound, hps_exact_view_bound(v, x->leaf, ROUNDS));
    return *bound < cut(x) && hps_exact_view_split(v, l, g);
}

/* Is the gap due to the width of the interval? */
static bool wide(const struct tree *x, double bound, double share)
{
    const struct hps_exact_view *v = x->view;

    return !narrow(v) || v->t2 / v->t1 - 1 >= (x->leaf->best / bound - 1) * share;
}

/* By labels, where the interval's width leaves them a chance; they may be too many. False when
 * nothing is left of the node, or it was divided. */
static bool by_labels(struct tree *x, const struct hps_exact_node *node, double *bound)
{
    if (!hps_exact_trusted(&x->label_trust)) return true;
    if (wide(x, *bound, WIDE_LABEL) && push_halves(x, node, *bound)) return false;
    double here = hps_exact_label_bound(x->label, x->view, x->leaf, cut(x), LABEL_STEPS);
    hps_exact_trust(&x->label_trust, isfinite(here));
    *bound = fmax(*bound, here);
    return *bound < cut(x) && !(wide(x, *bound, WIDE_LABEL) && push_halves(x, node, *bound));
}

/* Divide the interval while the gap is due to its width, and else branch on a layer. */
static void expand(struct tree *x, const struct hps_exact_node *node)
{
    struct hps_exact_view *v = x->view;
    bool layer = true, covered = node->list->covered;
    double bound = node->bound;
    int l, g;

    if (!fill(x, node, node->t1, node->t2)) return;
    if (!covered) {
        if (!by_units(x, node, &bound)) return;
        layer = hps_exact_view_split(v, &l, &g);
        if ((!layer || wide(x, bound, WIDE)) && push_halves(x, node, bound)) return;
        if (!by_labels(x, node, &bound)) return;
        covered = hps_exact_cover_useful(v) && hps_exact_trusted(&x->cover_trust);
    }
    if (covered && !by_layers(x, node, &bound)) return;
    if (x->covered) {
        layer = split(x, &bound, &l, &g);
        if (bound >= cut(x)) return;
        if ((!layer || wide(x, bound, WIDE_COVER)) && push_halves(x, node, bound)) return;
    }
    if (layer)
        push_rules(x, node, bound, l, g);
    else
        finish(x, node, bound);
}

/* The smallest tau of a node that its prices cannot exclude: by doubled steps up, then by
 * bisection. False when they exclude all that is below the best plan. Afterwards the paths of the
 * view show where to branch. */
static bool lift(struct tree *x, const struct hps_exact_node *node, double *t1)
{
    double low = node->t1, high = 0, stride = PRECISION;
    int rounds = node->depth == 0 ? ROUNDS_ROOT : 2 * ROUNDS;

    while (high == 0 || (high > low * (1 + 2 * PRECISION) && high > DBL_MIN)) {
        double top = fmin(node->t2, cut(x)), t2 = low * (1 + stride);
        if (low >= top) return false;
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
static void expand_tau(struct tree *x, const struct hps_exact_node *node)
{
    struct hps_exact_view *v = x->view;
    double bound;
    int l, g;

    if (!lift(x, node, &bound) || !fill(x, node, bound, fmin(node->t2, cut(x)))) return;
    hps_exact_view_drop(v, cut(x));
    if (v->n == 0 || (v->n <= CLOSE_ARCS && walk(x, node, bound, CLOSE_STEPS))) return;
    if (hps_exact_view_split(v, &l, &g))
        push_rules(x, node, bound, l, g);
    else if (!push_halves(x, node, bound))
        finish(x, node, bound);
}

static bool over(const struct tree *x)
{
    const struct hps_exact_end *end = x->end;

    return hps_budget_over(end->until_s) ||
           (end->evaluations > 0 && x->leaf->evaluations >= end->evaluations) ||
           (x->leaf->S > 0 && x->leaf->best <= end->enough);
}

double hps_exact_tree(const struct hps_exact_model *m, struct hps_exact_leaf *leaf,
                      const struct hps_exact_end *end)
{
    struct tree x = { .m = m, .leaf = leaf, .end = end, .closed = INFINITY };
    double bound = INFINITY;

    x.view = hps_exact_view_new(m);
    x.cover = hps_exact_cover_new(m);
    x.label = hps_exact_label_new(m);
    x.primal = hps_exact_primal_new(leaf);
    plant(&x);
    hps_exact_primal_begin(x.primal);
    while (x.open.n > 0) {
        if (x.open.heap[0].bound >= cut(&x) || over(&x)) {
            bound = x.open.heap[0].bound;
            break;
        }
        struct hps_exact_node node = hps_exact_open_pop(&x.open);
        x.covered = false;
        memcpy(x.view->dual.lambda, node.list->lambda,
               (size_t)m->dual[m->G] * sizeof *x.view->dual.lambda);
        if (m->min_tau)
            expand_tau(&x, &node);
        else
            expand(&x, &node);
        hps_exact_list_leave(node.list);
        if (x.open.n > 0) hps_exact_primal_run(x.primal, x.view->n, end);
    }
    while (x.open.n > 0)
        hps_exact_list_leave(x.open.heap[--x.open.n].list);
    bound = fmin(bound, x.closed);
    if (bound >= cut(&x)) bound = leaf->best;
    hps_exact_primal_free(x.primal);
    hps_exact_view_free(x.view);
    hps_exact_cover_free(x.cover);
    hps_exact_label_free(x.label);
    hps_mem_free(x.open.heap);
    return bound;
}
