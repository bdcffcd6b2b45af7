/* value.h - the value function that the policy compares stages by: the lowest cost of a stage and
 * of all after it at one tau, if stages did not compete for the units of a type. A dynamic program
 * over the boundaries of layers; it is no plan, since its stages may use more units of a type
 * together than there are. Local, pure.
 *
 * At tau, a stage of layers i..j on type t takes w = price * (fewest units with ET <= tau and
 * memory enough) USD per hour, INFINITY where the whole type has not enough. Then
 *     rest[i]       = min over j, t of w(i, j, t) + rest[j + 1],       rest[L] = 0
 *     best(i, l, t) = min over j >= l of w(i, j, t) + rest[j + 1]
 * so best(i, l, t) - rest[i] is by how much a plan costs more at least if it has a stage on t that
 * begins at i and reaches l. */
#ifndef HPS_PLAN_VALUE_H
#define HPS_PLAN_VALUE_H

#include "plan/cost.h"

struct hps_value {
    int L, T;
    double tau;
    double unit;                /* the mean w of the stages on the best path           */
    double *rest;               /* (L + 1)                                             */
    double *w, *best;           /* by first layer, then by last (or l), then by type   */
};

/* All 0. Caller frees. */
struct hps_value *hps_value_new(int L, int T);
void hps_value_free(struct hps_value *v);

/* Compute the value at this tau; capacity (T) units of each type. rest[0] is INFINITY when no plan
 * can keep it. */
void hps_value_fill(struct hps_value *v, const struct hps_profile *p, const struct hps_cost *c,
                    const long long *capacity, double tau);

static inline size_t hps_value_at(const struct hps_value *v, int i, int j, int t)
{
    return hps_cost_index(v->L, v->T, i, j, t);
}

#endif
