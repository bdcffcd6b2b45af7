/* slice.h - layers first..last of a net, live on one device: weights, activations, gradients.
 *
 * Letters: B examples of a micro-batch on this rank, at most `rows`; B = 0 is fine everywhere.
 * An in-flight slot holds one micro-batch between its forward and its backward. */
#ifndef HPS_NET_SLICE_H
#define HPS_NET_SLICE_H

#include "net/net.h"
#include "net/opt.h"

/* The raw inputs of one micro-batch, device memory, borrowed until its backward is done. */
struct hps_feed {
    int B;
    uint64_t key;                       /* of (seed, step)                                   */
    float weight;                       /* 1 / examples of the step                          */
    const long long *example;           /* (B)                                               */
    const float *label, *dense;         /* (B), (B, D); NULL where no layer here wants them  */
    const struct hps_lookup **lookup;   /* (last-first+1) of layers with a table, else NULL  */
    const struct hps_collective *collective; /* the ranks that share the micro-batch; NULL: one */
};

struct hps_slice {
    const struct hps_net *net;          /* borrowed */
    struct hps_dev *dev;                /* borrowed */
    int first, last;                    /* layers   */
    int rows, nslot;                  /* most rows of a micro-batch here; micro-batches at once */
    size_t nparam;
    size_t *offset;                     /* (last-first+2) where a layer's weights begin in param */
    size_t *state_at;                   /* (last-first+2) where a layer's states begin in state  */
    float *param, *grad, *state;        /* (nparam) twice; each layer's planes of states; device */
    size_t *running_at;                 /* (last-first+2) where a layer's running state begins */
    float *running;                     /* of layers that have one; device                   */
    const struct hps_train_opt *opt;    /* borrowed */
    int in_width, out_width;            /* sums of widths that cross the boundaries          */
    int in_grad_width, out_grad_width;  /* of those with a gradient                          */
    /* Packed in boundary order, device: (nslot) each (rows, in_width), (rows, out_width) and
     * (rows, *_grad_width). in and out_grad are filled by the caller, out and in_grad here;
     * out_grad is spoilt by the backward that reads it. */
    float **in, **out, **in_grad, **out_grad;
    float *score;                       /* (nslot, rows) predictions, where the net ends   */
    double *loss;                       /* device: (last-first+1) sums of each loss here     */
    void *own;
};

struct hps_slice_opt {
    int first, last;                    /* layers                                            */
    int rows;                           /* the most examples of a micro-batch                */
    int nslot;                          /* in-flight slots: micro-batches under way at once  */
    const struct hps_train_opt *train;  /* borrowed                                          */
    uint64_t seed;                      /* of the initial weights: a stream for each layer   */
    bool training;                      /* else no gradients and no states                   */
};
/* Everything that a slice will ever need is taken here: weights are initialised, and states as
 * opt->train says. Net and device are borrowed. Local. */
enum hps_status hps_slice_new(struct hps_slice **slice, const struct hps_net *net,
                              struct hps_dev *dev, const struct hps_slice_opt *opt);
void hps_slice_free(struct hps_slice *slice);
/* Its gradients are made there from now on, in device memory of the caller's (nparam), zeroed, that
 * stays for every backward and update; it may go before the slice. */
void hps_slice_lend_grad(struct hps_slice *slice, float *grad);

/* Is there a collective layer among first..last? Pure. */
bool hps_slice_is_collective(const struct hps_net *net, int first, int last);

/* Forward of a micro-batch in in-flight slot `slot`: reads in[slot] and the feed, fills out[slot];
 * scores and adds to the loss if that is here. No backward may follow training = false. Queued: it
 * is done when the device is in sync, and what it reads stays until then. Collective over the
 * ranks that share the micro-batch, where a layer is. */
void hps_slice_forward(struct hps_slice *slice, int slot, const struct hps_feed *feed,
                       bool training);
/* Backward of it, queued: reads out_grad[slot], fills in_grad[slot], adds to grad and to the
 * lookup's grad. `done(l, arg)` is called for each layer with dense weights or a table, last
 * layer first, when its gradient is queued for this micro-batch (so that it can travel); may be
 * NULL. */
void hps_slice_backward(struct hps_slice *slice, int slot, const struct hps_feed *feed,
                        void (*done)(int layer, void *arg), void *arg);

/* Forward of a micro-batch of one example and more in slot 0, or its backward then, for the
 * profile: each layer's seconds (last-first+1) by that clock; a device that is no host has its
 * own. Waits. */
void hps_slice_clock(struct hps_slice *slice, const struct hps_feed *feed, bool backward,
                     double (*clock_s)(void), double *seconds);

/* Sum of the losses here, each times its weight, since the last call; back to 0. `begin` queues the
 * copy to the host, as number 0 or 1; `end` answers it, and waits for the device where it must;
 * `loss` is both, with a number of its own. */
void hps_slice_loss_begin(struct hps_slice *slice, int copy);
double hps_slice_loss_end(struct hps_slice *slice, int copy);
double hps_slice_loss(struct hps_slice *slice);
/* Is there a loss among layers first..last? Pure. */
bool hps_slice_has_loss(const struct hps_net *net, int first, int last);
/* 0-based `step` of `total` on all dense weights by each layer's rule, gradients times `scale`;
 * these are 0 after. */
void hps_slice_update(struct hps_slice *slice, long long step, long long total, float scale);

#endif
