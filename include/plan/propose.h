/* propose.h - moves of stages that a policy proposes, and a local search by them. */
#ifndef HPS_PLAN_PROPOSE_H
#define HPS_PLAN_PROPOSE_H

#include "plan/markov.h"

/* Set `next` (L) [out] to `now` (L) with a boundary shifted, a stage or a run within one on a type
 * that the Markov policy draws or that another stage has, or two stages exchanged. Returns false
 * when that changes nothing: then next equals now. The same for the same key. */
bool hps_propose_move(const struct hps_markov *c, const int *now, int *next, uint64_t key);

/* Local search: take proposed moves that lower the price, until `patience` of them in a row did
 * not or the budget ends. type (L) [in, out], scratch (L); `price` is that of type. Returns the
 * price reached. */
double hps_propose_local_search(const struct hps_markov *c, struct hps_pricer *pr, int *type,
                                int *scratch, double price, int patience, uint64_t key);

#endif
