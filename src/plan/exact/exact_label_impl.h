/* exact_label_impl.h - the least path of an interval that keeps the limits, by labels.
 *
 * A label is a path to a boundary: what it costs and the units it has used of every group whose
 * limit binds. Of two at a boundary the one that costs no less and has used no less of each group
 * is dropped. Those whose rest costs too much are, too: that rest is bounded by a backward program
 * over boundaries and the units left of a few groups, where the others have prices. Where the
 * limits leave a gap to the bound by prices alone, this closes it. */
#ifndef HPS_PLAN_EXACT_EXACT_LABEL_IMPL_H
#define HPS_PLAN_EXACT_EXACT_LABEL_IMPL_H

#include "plan/exact/exact_impl.h"

/* The least costs from each boundary on, by the units left of a few groups. */
struct hps_exact_completion {
    const struct hps_exact_model *m;
    int n, ngroup;              /* states: all numbers of units left; groups                */
    int *group, *at;            /* (ngroup) which; (G) where a group is there, -1: it is not */
    int *stride;                /* (ngroup) between states that differ by a unit            */
    double *least;              /* (L + 1, n); the last state has all units                 */
    double *price;              /* (dual[G]) of units: none of these groups                 */
    double base;                /* what a path costs beside its charges                     */
};

struct hps_exact_completion *hps_exact_completion_new(const struct hps_exact_model *m);
void hps_exact_completion_free(struct hps_exact_completion *x);
/* Those groups that cost most by the view's prices; its items are charged without them. The lower
 * bound. */
double hps_exact_completion_fill(struct hps_exact_completion *x, struct hps_exact_view *v);

struct hps_exact_label;
struct hps_exact_label *hps_exact_label_new(const struct hps_exact_model *m);
void hps_exact_label_free(struct hps_exact_label *x);
/* The least cost of a path of the view that keeps the limits, at least `cut` when all do; -INFINITY
 * when `steps` did not suffice. The best paths are tried as plans. */
double hps_exact_label_bound(struct hps_exact_label *x, struct hps_exact_view *v,
                             struct hps_exact_leaf *leaf, double cut, long long steps);

#endif
