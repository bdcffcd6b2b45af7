/* propose.h - moves of stages that a policy proposes, and the climb that takes them. */
#ifndef HPS_PLAN_PROPOSE_H
#define HPS_PLAN_PROPOSE_H

#include "plan/markov.h"

/* `next` (L) [out] is `now` (L) with a boundary shifted, a stage or a part of one on a type that
 * the chain draws or that another stage has, or two stages exchanged. False when that changes
 * nothing: then next is now. The same for the same key. */
bool hps_propose_move(const struct hps_markov *c, const int *now, int *next, uint64_t key);

/* Take moves that lower the price, until `patience` of them in a row did not or the budget ends.
 * type (L) [in, out], work (L); `price` is type's. The price reached. */
double hps_propose_local_search(const struct hps_markov *c, struct hps_pricer *pr, int *type,
                                int *work, double price, int patience, uint64_t key);

#endif
