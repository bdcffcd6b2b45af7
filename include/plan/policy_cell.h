/* policy_cell.h - the recurrent cells of plan/policy: T sequences in parallel, one layer after the
 * other, forward or backward in l. */
#ifndef HPS_PLAN_POLICY_CELL_H
#define HPS_PLAN_POLICY_CELL_H

#include <stdbool.h>

#include "plan/policy.h"

/* Numbers that a cell computes from its input for each of its H: 4 gates (in, forget, out, new) or
 * 1. Pure. */
int hps_cell_gates(enum hps_cell cell);

/* One direction over all layers. gate (L, T, gates * H): the input's part [in], the activations
 * [out]; state (L, T, H) [out] of an LSTM; h (L, T, stride) [out], H numbers of each row are set;
 * w (H, gates * H). */
struct hps_cell_run {
    enum hps_cell cell;
    int L, T, H, stride;
    bool back;                  /* from the last layer to the first */
    const double *w;
    double *gate, *state, *h;
};
void hps_cell_forward(const struct hps_cell_run *r);

/* The backward pass. dh (L, T, stride), laid out as h: the gradient of each h from above [in],
 * changed; dgate, laid out as gate [out]: the gradient of the input of the gates; dw (H, gates *
 * H) is added to; dstate (T, H) scratch. */
void hps_cell_backward(const struct hps_cell_run *r, double *dh, double *dgate, double *dw,
                       double *dstate);

#endif
