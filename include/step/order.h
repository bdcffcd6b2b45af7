/* order.h - what a rank does next in a step: one forward, one backward (1F1B); pure. */
#ifndef HPS_STEP_ORDER_H
#define HPS_STEP_ORDER_H

#include <stdbool.h>

struct hps_todo {
    bool backward;
    int stage, m; /* stage of the pipeline, micro-batch */
};

/* Micro-batches in flight in stage s of S: activations to keep. */
static inline int hps_order_flights(int S, int s, int M)
{
    return S - s < M ? S - s : M;
}

/* What the ranks of stage `me` do with M micro-batches, in order: warm-up forwards, then one
 * forward and one backward in turn, then the backwards that are left (PipeDream-Flush, Narayanan et
 * al. 2021); `training` false: the forwards alone. home (S): the first stage on the same ranks, its
 * own number where there is none. Ranks of several stages take their things in turn, each stage's
 * in the order it would have alone: as if all ranks had the same work (a stage that shares takes
 * half as long as one that does not, a backward twice as long as a forward) and each thing began
 * when its ranks are free and it can, a backward first, then the later stage. All stages come to
 * their end in such an order, so nobody who keeps to it waits for ever; and it does not depend on
 * what was measured. list: room for 2 M of each stage of `me`; returns how many there are. */
int hps_order_1f1b(int S, const int *home, int me, int M, bool training, struct hps_todo *list);

#endif
