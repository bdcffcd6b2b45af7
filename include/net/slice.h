/* slice.h - layers first..last of a network on one device: weights, activations, gradients.
 *
 * Letters: B examples of a micro-batch on this rank, at most `rows`; every verb takes B = 0.
 * An in-flight slot holds one micro-batch between its forward and its backward. */
#ifndef HPS_NET_SLICE_H
#define HPS_NET_SLICE_H

#include "net/net.h"
#include "net/opt.h"

/* The raw inputs of one micro-batch, device memory, borrowed until its backward is done. */
struct hps_feed {
    int B;
    uint64_t key;                       /* of the random numbers of (seed, step)             */
    float weight;                       /* 1 / examples of the step                          */
    const long long *example;           /* (B)                                               */
    const float *label, *dense;         /* (B), (B, D); NULL where no layer here reads them  */
    const struct hps_lookup **lookup;   /* (last-first+1) of layers with a table, else NULL  */
    const struct hps_collective *collective; /* the ranks that share the micro-batch; NULL: one */
};

struct hps_slice {
    const struct hps_net *net;          /* borrowed */
    struct hps_dev *dev;                /* borrowed */
    int first, last;                    /* layers   */
    int rows, nslot;                    /* max rows of a micro-batch here; in-flight slots   */
    size_t nparam;
    size_t *offset;                     /* (last-first+2) where a layer's weights begin in param */
    size_t *state_at;                   /* (last-first+2) where a layer's states begin in state */
    float *param, *grad;                /* (nparam) each; device                             */
    float *state;                       /* planes of optimiser states by layer; device       */
    size_t *running_at;                 /* (last-first+2) where a layer's begin in running   */
    float *running;                     /* running states; device                            */
    const struct hps_train_opt *opt;    /* borrowed */
    int in_width, out_width;            /* sums of widths that cross the boundaries          */
    int in_grad_width, out_grad_width;  /* of those with a gradient                          */
    /* Tensors packed in boundary order, device: (nslot) each of (rows, in_width), (rows, out_width)
     * and (rows, *_grad_width). The caller fills in and out_grad, the slice out and in_grad. The
     * backward that reads out_grad overwrites it. */
    float **in, **out, **in_grad, **out_grad;
    float *score;                       /* (nslot, rows) predictions of the last layer; device */
    double *loss;                       /* (last-first+1) sums of each loss here; device     */
    struct hps_slice_impl *impl;
};

struct hps_slice_opt {
    int first, last;                    /* layers                                            */
    int rows;                           /* max examples of a micro-batch                     */
    int nslot;                          /* in-flight slots                                   */
    const struct hps_train_opt *train;  /* borrowed                                          */
    uint64_t seed;                      /* of the initial weights: a stream for each layer   */
    bool training;                      /* else no gradients and no optimiser states         */
};
/* Allocate all memory that the slice will ever need, initialise weights, running states and (by
 * opt->train) optimiser states. Net and device are borrowed. Local. */
enum hps_status hps_slice_new(struct hps_slice **slice, const struct hps_net *net,
                              struct hps_dev *dev, const struct hps_slice_opt *opt);
void hps_slice_free(struct hps_slice *slice);
/* Use the caller's device memory (nparam), zeroed, for the gradients from now on. It stays the
 * caller's and must outlive the last backward and update, not the slice. */
void hps_slice_borrow_grad(struct hps_slice *slice, float *grad);

/* Numbers of all running states, one layer's behind the other's in `running`. Pure. */
size_t hps_slice_nrunning(const struct hps_slice *slice);

/* Is there a collective layer among first..last? Pure. */
bool hps_slice_is_collective(const struct hps_net *net, int first, int last);

/* Queue the forward of the micro-batch in in-flight slot `slot`: it reads in[slot] and the feed,
 * fills out[slot] and, where the slice has losses, the scores, and adds to the losses. What it
 * reads stays valid until the device has been synchronised. No backward may follow a forward with
 * training = false. Collective over the ranks that share the micro-batch if a layer is, else
 * Local. */
void hps_slice_forward(struct hps_slice *slice, int slot, const struct hps_feed *feed,
                       bool training);
/* Queue its backward: it reads out_grad[slot], fills in_grad[slot], and adds to grad and to the
 * gradients of the lookups. done(l, arg) is called for each layer with dense weights or a table,
 * the last layer first, once its gradient of this micro-batch is queued, so that it can be reduced
 * meanwhile; NULL: not called. Collective as the forward. */
void hps_slice_backward(struct hps_slice *slice, int slot, const struct hps_feed *feed,
                        void (*done)(int layer, void *arg), void *arg);

/* For the profile: run the forward (or, after it, the backward) of a micro-batch of at least one
 * example in slot 0 and measure each layer: seconds (last-first+1) [out] by clock_s on a host, by
 * events on other devices. Blocks. */
void hps_slice_measure(struct hps_slice *slice, const struct hps_feed *feed, bool backward,
                       double (*clock_s)(void), double *seconds);

/* The sum of the losses here, each times its weight, since the last call; they are 0 after.
 * `begin` queues the copy to the host into buffer `copy` (0 or 1), `end` returns its sum and blocks
 * until it is there; hps_slice_loss does both, with a buffer of its own. Local. */
void hps_slice_loss_begin(struct hps_slice *slice, int copy);
double hps_slice_loss_end(struct hps_slice *slice, int copy);
double hps_slice_loss(struct hps_slice *slice);
/* Is there a loss among layers first..last? Pure. */
bool hps_slice_has_loss(const struct hps_net *net, int first, int last);
/* Update all dense weights, each layer by its rule, with gradients times `scale`; the gradients are
 * 0 after. Local. */
void hps_slice_update(struct hps_slice *slice, struct hps_update update, float scale);
/* Update those of one layer. Local. */
void hps_slice_update_layer(struct hps_slice *slice, int l, const struct hps_rule *rule);
/* To be called when the weights of a layer were written by anything else than these two. Local. */
void hps_slice_pack(struct hps_slice *slice, int l);

/* Ranks of a host may update a share of the weights each. Can they: does every rule update each
 * weight by itself? Pure. */
bool hps_slice_has_shares(const struct hps_slice *slice);
/* Update the weights [first, end) of param alone, as hps_slice_update does at scale 1, and pack
 * nothing. Local. */
void hps_slice_update_share(struct hps_slice *slice, size_t first, size_t end,
                            struct hps_update update);
/* Copy plane p of the optimiser states to or from `plane` (nparam; host), one number for each
 * weight; a layer with p states or fewer is left out. A host's device alone. Local. */
void hps_slice_states_out(const struct hps_slice *slice, int p, float *plane);
void hps_slice_states_in(struct hps_slice *slice, int p, const float *plane);
/* The most planes of states of a layer. Pure. */
int hps_slice_nplane(const struct hps_slice *slice);

#endif
