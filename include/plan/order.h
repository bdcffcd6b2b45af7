/* order.h - what a rank does next in a step: one forward, one backward (1F1B); pure. */
#ifndef HPS_PLAN_ORDER_H
#define HPS_PLAN_ORDER_H

#include <stdbool.h>

struct hps_todo {
    bool backward;
    int stage, m; /* stage of the pipeline, micro-batch */
};

/* What the ranks of stage `me` do with M micro-batches, in order: warm-up forwards, then one
 * forward and one backward in turn, then the backwards that are left (PipeDream-Flush, Narayanan
 * et al. 2021), with more of them in flight (hps_plan_in_flight). With `training` false there are
 * forwards alone. lead (S) has the first stage on the same ranks as each stage, its own number
 * where it shares none. Ranks of several stages interleave them, and each stage keeps the order
 * that it would have alone. The order is then that of a simulation in which all ranks have the
 * same work (a stage that shares its ranks takes half as long as one that does not, a backward
 * twice as long as a forward) and each pass begins as soon as its ranks are free and its input has
 * come, a backward before a forward, then the later stage first. The simulation ends, so ranks
 * that keep to the order cannot deadlock; it does not depend on what was measured. list: capacity
 * for 2 M passes of each stage of `me`; returns their count. Pure. */
int hps_order_1f1b(int S, const int *lead, int me, int M, bool training, struct hps_todo *list);

#endif
