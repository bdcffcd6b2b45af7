/* order.h - what a stage does next in a step: one forward, one backward (1F1B); pure. */
#ifndef HPS_TRAIN_ORDER_H
#define HPS_TRAIN_ORDER_H

#include <stdbool.h>

struct hps_todo {
    bool backward;
    int m; /* micro-batch */
};

/* Micro-batches in flight in stage s of S: activations to keep. */
static inline int hps_order_flights(int S, int s, int M)
{
    return S - s < M ? S - s : M;
}

/* The 2 M things stage s of S does with M micro-batches, in order, into list (2 M): warm-up
 * forwards, then one forward and one backward in turn, then the backwards that are left
 * (PipeDream-Flush, Narayanan et al. 2021). */
void hps_order_1f1b(int S, int s, int M, struct hps_todo *list);

#endif
