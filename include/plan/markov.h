/* markov.h - the Markov policy: the distribution over assignments that plans are drawn from, and
 * its gradient.
 *
 * The types of layers are drawn one after the other. Where the current stage began at layer i on
 * type u, and with the cost to go of plan/value at a tau, layer l gets type t with probability
 *     P(t) = exp(go[l, t] - sharp * (best(l, l, t) - rest[l]) / unit)          for t != u
 *     P(u) = exp(go[l, u] + stay[l, u] - sharp * (best(i, l, u) - w(i, l - 1, u) - rest[l]) / unit)
 * up to normalisation. With preferences of 0 and great sharpness the drawn plan is the best one if
 * stages did not compete for the units of a type; the effect of these limits is left for the
 * policy to learn. A type without units left is not drawn as long as another type has some. */
#ifndef HPS_PLAN_MARKOV_H
#define HPS_PLAN_MARKOV_H

#include "plan/pricer.h"
#include "plan/value.h"

struct hps_markov {
    int L, T;
    double sharp;
    const struct hps_value *value;      /* borrowed */
    double *go, *stay;          /* (L, T) preferences                                        */
    double *dgo, *dstay;        /* (L, T) the gradient added since the last clear            */
    struct hps_markov_workspace *workspace;
};

/* Allocate: all preferences are 0, there is no value yet. Caller frees. Local. */
struct hps_markov *hps_markov_new(int L, int T);
void hps_markov_free(struct hps_markov *c);

/* Recompute the distribution. To be called after go, stay, sharp or the value were changed, and
 * before all that follows. */
void hps_markov_refresh(struct hps_markov *c);

/* First layer of the stage that layer l - 1 is in; 0 where l is 0. Pure. */
int hps_markov_begin(const int *type, int l);

/* Draw the types of layers from..to-1; the other layers of type (L) [in, out] stay. The same for
 * the same key. */
void hps_markov_draw(struct hps_markov *c, const struct hps_pricer *pr, int from, int to,
                     uint64_t key, int *type);
/* Draw a type for layer l as the first layer of a stage. */
int hps_markov_type(const struct hps_markov *c, int l, uint64_t key);

/* log P of layers from..to-1 of this assignment; -INFINITY where it is never drawn. */
double hps_markov_log(const struct hps_markov *c, int from, int to, const int *type);
/* Add weight * d log P / d(go, stay) of layers from..to-1. */
void hps_markov_add(struct hps_markov *c, int from, int to, const int *type, double weight);
/* Add weight * d H / d go, where H is the entropy of every layer's own distribution (without
 * stay). */
void hps_markov_add_entropy(struct hps_markov *c, double weight);
/* The mean over layers of that entropy, divided by log T. */
double hps_markov_entropy(const struct hps_markov *c);
void hps_markov_clear(struct hps_markov *c); /* Set the gradient to 0. */

#endif
