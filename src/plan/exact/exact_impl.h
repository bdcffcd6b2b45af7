/* exact_impl.h - the branch and bound behind plan/sched_exact: problem, paths, leaves, tree.
 *
 * The stages of a plan are a path through the boundaries 0..L of the layers; an arc is one stage:
 * first layer i, last layer j, group g of equal types. Inside an interval t1 <= tau <= t2 an arc
 * has at least k units, the smallest k with ET(k) <= t2, and so costs at least
 * price * k * max(t1, ET(k)). Lagrangian prices on the units of a group account for the limits. The
 * cheapest path under both is a lower bound, found by one dynamic program. Costs here are
 * tau * (sum of price * units): USD per hour times seconds per example; units are those of one
 * worker (plan/cost.h). */
#ifndef HPS_PLAN_EXACT_EXACT_IMPL_H
#define HPS_PLAN_EXACT_EXACT_IMPL_H

#include <stdint.h>

#include "plan/provision.h"

struct hps_exact_arc {
    struct hps_cost_line line;
    int i, j, g;
};

/* The problem, types merged that differ at most in name and limit. */
struct hps_exact_model {
    int L, G;
    const struct hps_profile *p;    /* borrowed                                             */
    bool min_tau;                   /* the question is tau: units cost nothing, the cost is tau */
    bool cuts;                      /* neighbours may be on one type                        */
    double tau_max;
    struct hps_provision_servers servers;   /* `type` is a group                            */
    double *price;                  /* (G) of a unit                                        */
    long long *max, *sum;           /* (G) units that one stage, and all stages, can have   */
    bool *again;                    /* (G) may neighbours be of this group?                 */
    int *begin, *member;            /* (G + 1), (T) real types of a group                   */
    int *dual;                      /* (G + 1) where the prices of a group begin            */
    int narc;
    struct hps_exact_arc *arc;      /* (narc) by first layer; those that can keep tau_max  */
    int *index;                     /* (stages, G) the arc of a stage, -1 when dropped      */
};

struct hps_exact_model *hps_exact_model_new(const struct hps_profile *p, const struct hps_cost *c,
                                            double tau_max, bool min_tau, bool cuts);
void hps_exact_model_free(struct hps_exact_model *m);
/* A lower bound on what the servers cost where tau is in t1..t2: they are at least the fewest for
 * t2, and each works for its part of all examples. Pure. */
double hps_exact_model_served(const struct hps_exact_model *m, double t1, double t2);
/* The arc of these layers on this group, -1 when it was dropped. Pure. */
int hps_exact_model_arc(const struct hps_exact_model *m, int i, int j, int g);
/* The group of a real type, -1 when it has no unit. Pure. */
int hps_exact_model_group(const struct hps_exact_model *m, int type);

/* The best plan so far, and the memory to price another one. */
struct hps_exact_leaf {
    const struct hps_exact_model *m;
    double best;                    /* cost of the best plan, INFINITY: none                */
    int S;
    int *arc, *type;                /* (S) of the best plan: arcs and real types            */
    long long *units;               /* (S)                                                  */
    long long servers;              /* of the best plan                                     */
    long long evaluations;
    bool doubt;                     /* a packing into equal types was given up              */
    struct hps_provision_job job;   /* the path that is priced: a line a stage, groups as types */
    long long *trial, *scratch;     /* (L) units that are tried                             */
};

struct hps_exact_leaf *hps_exact_leaf_new(const struct hps_exact_model *m);
void hps_exact_leaf_free(struct hps_exact_leaf *leaf);
/* Price a path at its best tau: its cost, INFINITY when it is not below `cutoff`. A path that is
 * cheaper than the best plan replaces it. */
double hps_exact_leaf_price(struct hps_exact_leaf *leaf, int S, const int *arc, double cutoff);
/* The same with the best plan as cutoff. True when the path became the best plan. */
bool hps_exact_leaf_try(struct hps_exact_leaf *leaf, int S, const int *arc);

/* The arcs that are left in one interval, and the dynamic program over them. */
struct hps_exact_item {
    double w, k, c;                 /* lowest cost inside the interval; fewest units; cost with
                                       the prices of its units */
    int id;                         /* arc                                                  */
    short j, g;
};

struct hps_exact_best {             /* at a boundary: the best, and the best of another group */
    double v1, v2;
    int g1, a1, a2;                 /* items that give them                                 */
};

/* Prices of units on top of their own, raised by steps along a mean of subgradients; (dual[G])
 * unless said. */
struct hps_exact_dual {
    double *lambda, *trial;  /* the best prices; those of the last path              */
    double *use, *direction; /* the last path's units beyond the limits, their mean  */
    double *scaled;          /* (2, dual[G] + G) direction and use as steps weigh them */
    bool *busy;              /* (G) did paths break its limit, or are units priced?  */
};

struct hps_exact_view {
    const struct hps_exact_model *m;
    double t1, t2;
    int n;
    int served;                     /* units that the fewest servers take of their group    */
    int *first;                     /* (L + 1) where the items of a first layer begin       */
    struct hps_exact_item *item;    /* (narc)                                               */
    double *min;                    /* (narc) of an item, for hps_exact_view_keep           */
    struct hps_exact_best *fwd, *bwd;   /* (L + 1)                                          */
    struct hps_exact_dual dual;
    double *share;                  /* (L, G) how often the paths had a layer on a group    */
    double *used;                   /* (G) units of a walk                                  */
    struct {
        int S, *item;
    } path; /* (L) the items of the last path                       */
    struct {
        int S, *arc;
    } tried; /* (L) the arcs of the path that was tried last         */
};

struct hps_exact_view *hps_exact_view_new(const struct hps_exact_model *m);
void hps_exact_view_free(struct hps_exact_view *v);

/* The best path to (or from) this boundary that a stage of group g can continue. */
static inline double hps_exact_adjacent(const struct hps_exact_view *v,
                                        const struct hps_exact_best *b, int g)
{
    return b->g1 != g || v->m->again[g] ? b->v1 : b->v2;
}

/* Prices of units on top of their own, so that a path minds the limits: v->dual.lambda, and those
 * under trial. A group whose stages can have few units has a price for every number of them, such
 * that no packing of stages into one type is charged more than price[limit]; another group has one
 * price a unit. */
#define HPS_EXACT_TABLE 32      /* units that are few */
static inline bool hps_exact_dual_table(const struct hps_exact_model *m, int g)
{
    return m->dual[g + 1] - m->dual[g] > 1;
}
/* What all stages of a group are charged at most, together. Pure. */
double hps_exact_dual_most(const struct hps_exact_model *m, const double *price, int g);
/* The same of all groups, less what the servers are charged: a path's charge less this is no more
 * than its cost. Pure. */
double hps_exact_dual_base(const struct hps_exact_view *v, const double *price);
/* Set `c` of the view's items. */
void hps_exact_dual_charge(struct hps_exact_view *v, const double *price);
/* Update the mean of what paths use beyond the limits by the path of the view. False when this
 * path is the `first`, keeps the limits and is charged nothing for them: then no prices raise the
 * bound. */
bool hps_exact_dual_look(struct hps_exact_view *v, bool first);
/* The next prices to try: from the best ones along that mean, so far that the bound rises by
 * `rise` if it is linear. False when there is no direction to move in. */
bool hps_exact_dual_step(struct hps_exact_view *v, double rise);

/* Only paths with layer `l` on group `g`, or only without; HPS_EXACT_ANY: all. */
enum hps_exact_rule { HPS_EXACT_ANY, HPS_EXACT_ON, HPS_EXACT_OFF };
struct hps_exact_branch {
    enum hps_exact_rule rule;
    int l, g;
};

/* Fill the view with those of `n` arcs that can keep a tau in t1..t2 and obey the branch, and
 * shrink the interval to values of tau that a stage can have. False when no item is left. */
bool hps_exact_view_fill(struct hps_exact_view *v, double t1, double t2, int n, const int *id,
                         struct hps_exact_branch branch);
/* Raise the prices from v->dual.lambda for `rounds`; every path is tried as a plan. The lower
 * bound. */
double hps_exact_view_bound(struct hps_exact_view *v, struct hps_exact_leaf *leaf, int rounds);
/* Drop every item whose `min`, set by the caller, is not below `cut`. */
void hps_exact_view_keep(struct hps_exact_view *v, double cut);
/* Drop every item that is on no path below `cut`. */
void hps_exact_view_drop(struct hps_exact_view *v, double cut);
/* The backward program alone, by the charges that the items have. */
void hps_exact_view_back(struct hps_exact_view *v);
/* Try every path below the best plan; false when `steps` did not suffice. After a drop only. */
bool hps_exact_view_close(struct hps_exact_view *v, struct hps_exact_leaf *leaf, long long steps);
/* The layer and group to branch on: the ones that the paths disagree on most; false when they
 * agree. */
bool hps_exact_view_split(const struct hps_exact_view *v, int *l, int *g);

/* Beam search: paths boundary by boundary, of which only the best `width` with different units are
 * followed. */
struct hps_exact_beam;
struct hps_exact_beam *hps_exact_beam_new(const struct hps_exact_model *m);
void hps_exact_beam_free(struct hps_exact_beam *b);
/* The cheapest path found, where a unit beyond the limit of its group costs `over` and `given` (G)
 * units are in use already. Returns the number of arcs, 0: none; arc (L) [out]. Needs
 * hps_exact_view_back. */
int hps_exact_beam_least(struct hps_exact_beam *b, const struct hps_exact_view *v,
                         const long long *given, double over, int width, int *arc);

/* Simulated annealing over the types of layers, for a plan at a tau where the limits leave few:
 * at tau_max without a plan, and, where tau is the question, just below that of the best plan.
 * Proves nothing. */
struct hps_exact_anneal;
struct hps_exact_end;
struct hps_exact_anneal *hps_exact_anneal_new(struct hps_exact_leaf *leaf);
void hps_exact_anneal_free(struct hps_exact_anneal *x);
/* Go on for so many cycles, or until it is too late or the plan is good enough, or, without a plan,
 * until there is one. */
void hps_exact_anneal_run(struct hps_exact_anneal *x, int cycles, const struct hps_exact_end *end);

/* Repair: replaces segments of a path by what the other stages leave units for: first a path that
 * breaks the limits at tau_max, until it is a plan, and then the best plan, until it is a better
 * one. For problems whose limits bind; proves nothing. */
struct hps_exact_repair;
struct hps_exact_repair *hps_exact_repair_new(struct hps_exact_leaf *leaf);
void hps_exact_repair_free(struct hps_exact_repair *x);
/* Go on for so many tries, or until it is too late, or, without a plan, until there is one. */
void hps_exact_repair_run(struct hps_exact_repair *x, long long tries,
                          const struct hps_exact_end *end);

/* Iterated local search from the best plan: ranges of layers that begin or end with a stage change
 * their group. For good plans early; proves nothing. */
struct hps_exact_local;
struct hps_exact_local *hps_exact_local_new(struct hps_exact_leaf *leaf);
void hps_exact_local_free(struct hps_exact_local *c);
/* Go on for about so many steps; each prices a plan at most. */
void hps_exact_local_run(struct hps_exact_local *c, long long steps);

/* The search: ends when proven, or on time (0: none) or evaluations (0: none), or when leaf->best
 * <= enough. */
struct hps_exact_end {
    double until_s;
    long long evaluations;
    double enough;
};
/* The primal heuristics: searches for better plans that run between the nodes of the tree. `run`
 * after each node, of which n arcs were left. */
struct hps_exact_primal;
struct hps_exact_primal *hps_exact_primal_new(struct hps_exact_leaf *leaf);
void hps_exact_primal_free(struct hps_exact_primal *x);
/* Before the tree: improve the best plan so far. */
void hps_exact_primal_begin(struct hps_exact_primal *x);
void hps_exact_primal_run(struct hps_exact_primal *x, int n, const struct hps_exact_end *end);

/* A lower bound on the cost of any plan, INFINITY when there is none; at least leaf->best when
 * proven. */
double hps_exact_tree(const struct hps_exact_model *m, struct hps_exact_leaf *leaf,
                      const struct hps_exact_end *end);

/* The smallest tau that some path could have if each stage had all units of its group. Pure. */
double hps_exact_min_tau(const struct hps_exact_model *m);

/* A lower bound on the cost of any plan, also of one whose stages share their units: tau is at
 * least the time that shared units are busy, so each stage costs at least price * k * ET(k), which
 * never falls with k, at the smallest k that keeps tau_max. No prices on units: shared units are
 * counted once. */
double hps_exact_shared(const struct hps_exact_model *m, struct hps_exact_leaf *leaf);

/* Below this a bound meets the best plan: relative, more than rounding can do. */
#define HPS_EXACT_SAME 1e-10

#endif
