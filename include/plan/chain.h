/* chain.h - the distribution over assignments that the policy draws from, and its gradient.
 *
 * Layer by layer, types are drawn by preference. With the stage at hand, which began at layer i on
 * type u, and the cost to go of plan/value at a tau,
 *     P(t) = exp(go[l, t] - sharp * (best(l, l, t) - rest[l]) / unit)          for t != u
 *     P(u) = exp(go[l, u] + stay[l, u] - sharp * (best(i, l, u) - w(i, l - 1, u) - rest[l]) / unit)
 * but for the sum of both. With preferences of 0 and great sharpness the drawn plan is the best one
 * without shared limits; what the limits make of it is the policy's to learn. Drawing minds the
 * room of the types: one whose room is used up is not drawn while another one is. */
#ifndef HPS_PLAN_CHAIN_H
#define HPS_PLAN_CHAIN_H

#include "plan/pricer.h"
#include "plan/value.h"

struct hps_chain {
    int L, T;
    double sharp;
    const struct hps_value *value;      /* borrowed */
    double *go, *stay;          /* (L, T) preferences                                        */
    double *dgo, *dstay;        /* (L, T) the gradient that was added since the last clear   */
    struct hps_chain_desk *desk;
};

/* All preferences 0; no value yet. Caller frees. Local. */
struct hps_chain *hps_chain_new(int L, int T);
void hps_chain_free(struct hps_chain *c);

/* To be called after go, stay, sharp or the value were changed, and before all that follows. */
void hps_chain_refresh(struct hps_chain *c);

/* First layer of the stage that layer l - 1 is in; 0 where l is 0. Pure. */
int hps_chain_begin(const int *type, int l);

/* Draw layers from..to-1 anew, the others of type (L) stay [in, out]. The same for the same key. */
void hps_chain_draw(struct hps_chain *c, const struct hps_pricer *pr, int from, int to,
                    uint64_t key, int *type);
/* A type for layer l, nobody before it. */
int hps_chain_type(const struct hps_chain *c, int l, uint64_t key);

/* log P of layers from..to-1 of this assignment; -INFINITY: it is never drawn. */
double hps_chain_log(const struct hps_chain *c, int from, int to, const int *type);
/* Add weight * d log P / d(go, stay) of layers from..to-1. */
void hps_chain_add(struct hps_chain *c, int from, int to, const int *type, double weight);
/* Add weight * d H / d go of every layer's own distribution (stay left out). */
void hps_chain_add_entropy(struct hps_chain *c, double weight);
/* The mean over layers of that entropy, in parts of log T. */
double hps_chain_entropy(const struct hps_chain *c);
void hps_chain_clear(struct hps_chain *c);      /* the gradient to 0 */

#endif
