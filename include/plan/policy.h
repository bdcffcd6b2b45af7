/* policy.h - the policy network, which proposes plans: a bidirectional recurrent network over the
 * layers, run for each type of hardware with the same weights, so that one network reads a problem
 * of any L and T. For every layer and type it returns D numbers: preferences.
 *
 *     h[l, t]   = cell over l of x[l, t] (F features), both directions, H numbers each
 *     m[l]      = mean over t of h[l, t]: the competing types
 *     out[l, t] = W3' tanh(W1' h[l, t] + W2' m[l] + b1) + b3
 *
 * Cells: LSTM (Hochreiter, Schmidhuber 1997, with forget gates, Gers 2000) or a plain tanh RNN
 * (Elman 1990). All in double precision; every verb is local, and the same for the same input. */
#ifndef HPS_PLAN_POLICY_H
#define HPS_PLAN_POLICY_H

#include <stdint.h>

#include "base/status.h"

enum hps_cell { HPS_CELL_LSTM, HPS_CELL_RNN };

struct hps_policy {
    enum hps_cell cell;
    int F, H, K, D; /* features, size of a cell, of the hidden layer of the head,
                       outputs */
    int nparam;
    double *param, *grad;       /* (nparam) weights; the gradient that backward adds to        */
    double *mean, *square;      /* (nparam) moments of Adam (Kingma, Ba 2015)                  */
    long long steps;            /* of Adam                                                     */
};

/* Weights are drawn from the key so that outputs are near 0. Caller frees. */
struct hps_policy *hps_policy_new(enum hps_cell cell, int features, int outputs, uint64_t key);
/* Of these sizes, all weights 0. */
struct hps_policy *hps_policy_shape(enum hps_cell cell, int features, int H, int K, int outputs);
void hps_policy_free(struct hps_policy *p);

/* HDF5 "heterps-policy-1": attributes cell, features, hidden, head, outputs; dataset /param. A file
 * that is missing HPS_INPUT; damaged, or for other features or outputs HPS_DECK; that cannot be
 * written HPS_OUTPUT: what had its name before stays. On the main thread. */
enum hps_status hps_policy_look(const char *path, enum hps_cell *cell); /* its cells alone */
enum hps_status hps_policy_load(struct hps_policy **p, const char *path, enum hps_cell cell,
                                int features, int outputs);
enum hps_status hps_policy_save(const struct hps_policy *p, const char *path);

/* The activations of a forward pass over one problem, saved for the backward pass. Borrows the
 * policy. Caller frees. */
struct hps_policy_pass;
struct hps_policy_pass *hps_policy_pass_new(struct hps_policy *p, int L, int T);
void hps_policy_pass_free(struct hps_policy_pass *a);

/* Forward pass: x (L, T, F) is borrowed until the backward pass; out (L, T, D) [out]. */
void hps_policy_forward(struct hps_policy_pass *a, const double *x, double *out);
/* Add the gradient of sum(dout * out) to the policy's. dout (L, T, D). After forward only. */
void hps_policy_backward(struct hps_policy_pass *a, const double *dout);

/* A step of Adam along the gradient, which is clipped to a norm of 1 before and 0 after. */
void hps_policy_step(struct hps_policy *p, double rate);

#endif
