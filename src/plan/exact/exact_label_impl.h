/* exact_label_impl.h - the cheapest path of an interval that keeps the limits, by a labelling
 * dynamic program.
 *
 * A label is a path to a boundary: its cost, and the units it has used of every group whose limit
 * binds. A label is dominated by another one at the boundary that costs no more and has used no
 * more of each group, and is dropped. It is dropped also when its completion costs too much: a
 * lower bound on that comes from a backward program over boundaries and the units left of a few
 * groups, where the other groups have prices. This closes gaps that the bound by prices alone
 * leaves where limits bind. */
#ifndef HPS_PLAN_EXACT_EXACT_LABEL_IMPL_H
#define HPS_PLAN_EXACT_EXACT_LABEL_IMPL_H

#include "plan/exact/exact_impl.h"

/* The completion bound: the lowest costs from each boundary to the end, by the units left of a few
 * groups. */
struct hps_exact_completion {
    const struct hps_exact_model *m;
    int n, ngroup;              /* states: all numbers of units left; groups                */
    int begin;                  /* the state of all units but the servers'                  */
    int *group, *at;            /* (ngroup) which; (G) where a group is there, -1: it is not */
    int *stride;                /* (ngroup) between states that differ by a unit            */
    double *min;                /* (L + 1, n); the last state has all units                 */
    double *price;              /* (dual[G]) of units: none of these groups                 */
    double base;                /* cost of a path in addition to its charges                */
};

struct hps_exact_completion *hps_exact_completion_new(const struct hps_exact_model *m);
void hps_exact_completion_free(struct hps_exact_completion *x);
/* Choose the groups that are charged most by the prices of the view, whose items are charged
 * without these groups, and compute the bound. Returns the lower bound of a whole path. */
double hps_exact_completion_fill(struct hps_exact_completion *x, struct hps_exact_view *v);

struct hps_exact_label;
struct hps_exact_label *hps_exact_label_new(const struct hps_exact_model *m);
void hps_exact_label_free(struct hps_exact_label *x);
/* The lowest cost of a path of the view that keeps the limits, `cut` when none is below it;
 * -INFINITY when `steps` did not suffice. The best paths are tried as plans. */
double hps_exact_label_bound(struct hps_exact_label *x, struct hps_exact_view *v,
                             struct hps_exact_leaf *leaf, double cut, long long steps);

#endif
