/* slice_impl.h - what the files of a slice share: where its tensors live. For src/net/slice*.c.
 *
 * Every tensor that the slice sees has a home, found once: a column of the packed boundary before
 * it (in), of the one behind it (out), or a block of its own, which what is concatenated shares
 * with the concatenation. A tensor that crosses both boundaries passes through: it is copied from
 * in to out, its gradient from out to in, where readers here add theirs. */
#ifndef HPS_NET_SLICE_IMPL_H
#define HPS_NET_SLICE_IMPL_H

#include "net/slice.h"

enum hps_destination { HPS_PLACE_NONE, HPS_PLACE_IN, HPS_PLACE_INNER, HPS_PLACE_OUT };

struct hps_slice_home {
    enum hps_destination place, grad_place;
    size_t at, grad_at;                 /* floats from the beginning of the place           */
    size_t ld, grad_ld;
    bool passes;                         /* in `in` (its home) and also in `out`              */
    size_t out_at, out_grad_at;         /* then: its columns there                          */
};

enum { HPS_LOSS_COPIES = 3 };                  /* places for sums of losses */

struct hps_slice_own {
    struct hps_slice_home *home;        /* (last+1) by layer; before first: what crosses  */
    float **inner;                      /* (nslot) outputs that stay here                  */
    float *inner_grad;                  /* their gradients: one slot goes back at a time   */
    float **saved;                      /* (nslot) activations from forward to backward    */
    size_t *saved_at, *saved_batch_at;  /* (last-first+1) where a layer's begin              */
    float *all;                         /* scratch of a layer at work: for my rows, grown for
                                           those of others                                   */
    float *grad;                        /* of dense weights, where no other's is lent        */
    size_t all_cap, shared;             /* floats; most of a row                             */
    double *scratch;                    /* of a layer at work                                */
    struct hps_collective alone;        /* of a feed without others                          */
    double *loss_copy;                  /* (HPS_LOSS_COPIES, last-first+1) on the host, pinned */
    struct hps_event *loss_event[HPS_LOSS_COPIES];
    struct hps_event **clock;            /* (last-first+2) NULL until it is looked at         */
    bool *written;                      /* (last+1) this backward has begun the gradient     */
    struct hps_tensor *x, *dx;          /* (most inputs) of the layer at work                */
};

/* The rule of the i-th layer of the slice at a step of so many. Pure. */
struct hps_rule hps_slice_rule(const struct hps_slice *slice, int i, long long step,
                               long long total);

#endif
