/* markov.h - the distribution over assignments that the policy draws from, and its gradient.
 *
 * Layer by layer, types are drawn by preference. With the stage at hand, which began at layer i on
 * type u, and the cost to go of plan/value at a tau,
 *     P(t) = exp(go[l, t] - sharp * (best(l, l, t) - rest[l]) / unit)          for t != u
 *     P(u) = exp(go[l, u] + stay[l, u] - sharp * (best(i, l, u) - w(i, l - 1, u) - rest[l]) / unit)
 * but for the sum of both. With preferences of 0 and great sharpness the drawn plan is the best one
 * without shared limits; what the limits make of it is the policy's to learn. Drawing minds the
 * room of the types: one whose room is used up is not drawn while another one is. */
#ifndef HPS_PLAN_MARKOV_H
#define HPS_PLAN_MARKOV_H

#include "plan/pricer.h"
#include "plan/value.h"

struct hps_markov {
    int L, T;
    double sharp;
    const struct hps_value *value;      /* borrowed */
    double *go, *stay;          /* (L, T) preferences                                        */
    double *dgo, *dstay;        /* (L, T) the gradient that was added since the last clear   */
    struct hps_markov_workspace *desk;
};

/* All preferences 0; no value yet. Caller frees. Local. */
struct hps_markov *hps_markov_new(int L, int T);
void hps_markov_free(struct hps_markov *c);

/* To be called after go, stay, sharp or the value were changed, and before all that follows. */
void hps_markov_refresh(struct hps_markov *c);

/* First layer of the stage that layer l - 1 is in; 0 where l is 0. Pure. */
int hps_markov_begin(const int *type, int l);

/* Draw layers from..to-1 anew, the others of type (L) stay [in, out]. The same for the same key. */
void hps_markov_draw(struct hps_markov *c, const struct hps_pricer *pr, int from, int to,
                     uint64_t key, int *type);
/* A type for layer l, nobody before it. */
int hps_markov_type(const struct hps_markov *c, int l, uint64_t key);

/* log P of layers from..to-1 of this assignment; -INFINITY: it is never drawn. */
double hps_markov_log(const struct hps_markov *c, int from, int to, const int *type);
/* Add weight * d log P / d(go, stay) of layers from..to-1. */
void hps_markov_add(struct hps_markov *c, int from, int to, const int *type, double weight);
/* Add weight * d H / d go of every layer's own distribution (stay left out). */
void hps_markov_add_entropy(struct hps_markov *c, double weight);
/* The mean over layers of that entropy, in parts of log T. */
double hps_markov_entropy(const struct hps_markov *c);
void hps_markov_clear(struct hps_markov *c); /* the gradient to 0 */

#endif
