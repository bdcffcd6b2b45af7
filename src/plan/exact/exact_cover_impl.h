/* exact_cover_impl.h - a second lower bound, for problems whose limits bind: prices of layers
 * instead of units.
 *
 * Every type takes the set of stages that is worth most beyond its cost and that its units hold. A
 * layer may be taken by none or by several types; with prices p of layers the bound is sum of p +
 * sum over types of min over sets of (cost of the stages - p of their layers), which is valid for
 * any p. Limits are kept to the unit, so where limits are few units and fragment stages this bound
 * is above that of the paths (as in the generalised assignment problem). Types of many units have
 * no limit here. */
#ifndef HPS_PLAN_EXACT_EXACT_COVER_IMPL_H
#define HPS_PLAN_EXACT_EXACT_COVER_IMPL_H

#include "plan/exact/exact_impl.h"

struct hps_exact_cover {
    const struct hps_exact_model *m;
    int *row, *left;            /* (G + 1) columns of a group; (G) units that a walk has left */
    size_t n;                   /* columns: units 0 to the limit of all groups              */
    double *behind, *ahead;     /* (L + 2, n) the best sets from a layer on; before it      */
    double *price, *trial;      /* (L) the best prices, those of the last sets              */
    double *direction, *sum;    /* (L) in which prices move; (L + 1) prices before a layer  */
    double *now, *mean;         /* (L, G) how often a layer is on a group: last, mean       */
    double *times, *rises;      /* (L * G + 1, 2) what dividing there gave: without, with   */
    double pace;                /* of the prices                                            */
};

struct hps_exact_cover *hps_exact_cover_new(const struct hps_exact_model *m);
void hps_exact_cover_free(struct hps_exact_cover *x);

/* Can this bound be better than that of the paths: do the paths break limits, and only such as
 * this bound knows? Pure. */
bool hps_exact_cover_useful(const struct hps_exact_view *v);
/* First prices, by the view's backward program. */
void hps_exact_cover_begin(struct hps_exact_cover *x, const struct hps_exact_view *v);
/* The bound at these prices, and the sets; what items are charged is changed. */
double hps_exact_cover_at(struct hps_exact_cover *x, struct hps_exact_view *v,
                          const double *price);
/* Raise x->price for `rounds`, or until the bound is `cut`. The lower bound. */
double hps_exact_cover_bound(struct hps_exact_cover *x, struct hps_exact_view *v, double cut,
                             int rounds);
/* Drop every item that is in no sets below `cut`. Changes what items are charged, as close does. */
void hps_exact_cover_drop(struct hps_exact_cover *x, struct hps_exact_view *v, double cut);
/* Try every path below the best plan; false when `steps` did not suffice. */
bool hps_exact_cover_close(struct hps_exact_cover *x, struct hps_exact_view *v,
                           struct hps_exact_leaf *leaf, long long steps);

/* The share of a layer that the mean of the sets has on a group. Pure. */
double hps_exact_cover_share(const struct hps_exact_cover *x, int l, int g);
/* The layer and group to branch on: the pair for which the bound should rise most, judged by
 * earlier branchings. False when the sets agree on all layers. */
bool hps_exact_cover_split(const struct hps_exact_cover *x, int *l, int *g);
/* Record by how much the bound rose where layer l, whose share on group g was `share`, is on it
 * (or is not). */
void hps_exact_cover_learn(struct hps_exact_cover *x, int l, int g, bool on, double share,
                           double rise);

/* Units of an item in the tables: none where they have no limit. */
static inline int hps_exact_cover_units(const struct hps_exact_cover *x,
                                        const struct hps_exact_item *e)
{
    return hps_exact_dual_table(x->m, e->g) ? (int)e->k : 0;
}

/* The same of a real type: the b-th of all, of group g. */
static inline int hps_exact_cover_capacity(const struct hps_exact_cover *x, int g, int b)
{
    return hps_exact_dual_table(x->m, g) ? (int)hps_cost_capacity(x->m->p, x->m->member[b]) : 0;
}

/* Behind the last real type of a group that has a set of its own; without limits one is for all. */
static inline int hps_exact_cover_end(const struct hps_exact_cover *x, int g)
{
    return hps_exact_dual_table(x->m, g) ? x->m->begin[g + 1] : x->m->begin[g] + 1;
}

/* Boundaries that a stage in a set keeps from the next one. */
static inline int hps_exact_cover_apart(const struct hps_exact_cover *x, int g)
{
    return x->m->cuts || (!hps_exact_dual_table(x->m, g) && x->m->again[g]) ? 0 : 1;
}

/* By units, the best sets that can come behind an item. */
static inline const double *hps_exact_cover_behind(const struct hps_exact_cover *x,
                                                   const struct hps_exact_item *e)
{
    int b = e->j + 1 + hps_exact_cover_apart(x, e->g);

    return x->behind + (size_t)(b < x->m->L ? b : x->m->L) * x->n + x->row[e->g];
}

#endif
