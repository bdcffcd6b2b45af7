/* moves.h - steps from one assignment of types to layers to the next, by whole stages, and the
 * climb that takes them while they gain.
 *
 * An assignment is type (L). Moves have numbers, so that a search can go through all of them:
 *   - the layers from l to its stage's beginning, or to its end, to type t: this recolours a stage,
 *     shifts its boundary to a neighbour, cuts a part off, copies the type of another run;
 *   - a layer inside a stage to type t, which splits the stage;
 *   - the stages around two layers exchange their types. */
#ifndef HPS_PLAN_MOVES_H
#define HPS_PLAN_MOVES_H

#include "plan/pricer.h"

/* How many moves there are. Pure. */
uint64_t hps_moves_count(int L, int T);

/* `next` (L) [out] is `now` (L) after move n; false, and `next` untouched, when the move changes
 * nothing. Pure. */
bool hps_moves_apply(int *next, const int *now, int L, int T, uint64_t n);

/* Layers of `next` (L) that are in the same maximal run of `now` (L) as layer l to type t; the
 * other layers of `next` stay as they are. Pure. */
void hps_moves_recolour(int *next, const int *now, int L, int l, int t);

/* Some random moves, or layers anywhere in the middle recoloured. type (L) is changed in place;
 * work (L). The same for the same key. Pure. */
void hps_moves_shake(int *type, int *work, int L, int T, int moves, uint64_t key);

/* Random runs, two to eight of them where there are as many layers. Pure. */
void hps_moves_random(int *type, int L, int T, uint64_t key);

/* Take every move that lowers the price, in an order drawn from the key, until none does or the
 * budget ends. type (L) [in, out], work (L); `price` is type's. Returns the price that was
 * reached. */
double hps_moves_local_search(struct hps_pricer *pr, int *type, int *work, double price,
                              uint64_t key);

#endif
