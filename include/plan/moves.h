/* moves.h - the neighbourhood of an assignment of types to layers, by moves of whole stages, and a
 * local search in it.
 *
 * An assignment is type (L). Moves are numbered, so that a search can visit all of them:
 *   - the layers from l to the beginning of its stage, or to its end, get type t: this changes the
 *     type of a whole stage, shifts a boundary, or splits a stage;
 *   - a layer inside a stage gets type t, which splits the stage in three;
 *   - the stages around two layers exchange their types. */
#ifndef HPS_PLAN_MOVES_H
#define HPS_PLAN_MOVES_H

#include "plan/pricer.h"

/* The number of moves. Pure. */
uint64_t hps_moves_count(int L, int T);

/* Set `next` (L) [out] to `now` (L) after move n. Returns false, and leaves `next` alone, when the
 * move changes nothing. Pure. */
bool hps_moves_apply(int *next, const int *now, int L, int T, uint64_t n);

/* A walk through the neighbourhood of one plan: visit what every move, or one of so many, makes of
 * `now` (L), until the pricer's budget is used up. next (L) scratch. hps_moves_budget: the options
 * of such a pricer. */
void hps_moves_walk(struct hps_pricer *pr, const int *now, int *next,
                    void (*visit)(void *arg, struct hps_pricer *pr, const int *type), void *arg);
struct hps_sched_opt hps_moves_budget(const struct hps_sched_opt *opt);

/* Set to t the type of those layers of `next` (L) that are in the same run of equal types of `now`
 * (L) as layer l. Pure. */
void hps_moves_reassign(int *next, const int *now, int L, int l, int t);

/* Change type (L) in place by some random moves, or by new types for layers from anywhere in the
 * middle; scratch (L). The same for the same key. Pure. */
void hps_moves_perturb(int *type, int *scratch, int L, int T, int moves, uint64_t key);

/* Set type (L) to random runs of equal types, two to eight of them where there are as many layers.
 * Pure. */
void hps_moves_random(int *type, int L, int T, uint64_t key);

/* Local search: take every move that lowers the price, in an order drawn from the key, until none
 * does or the budget ends. type (L) [in, out], scratch (L); `price` is that of type. Returns the
 * price reached. */
double hps_moves_local_search(struct hps_pricer *pr, int *type, int *scratch, double price,
                              uint64_t key);

#endif
