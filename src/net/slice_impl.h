/* slice_impl.h - what the sources of a slice share: the memory of its tensors. For
 * src/net/slice*.c.
 *
 * Every tensor of the slice is a view of a buffer, found once: columns of the packed boundary
 * before the slice (in) or behind it (out), or a block of its own, which the inputs of a
 * concatenation share with it. A skip tensor crosses both boundaries: it is copied from in to out,
 * its gradient from out to in, and layers here that read it add their gradients there. */
#ifndef HPS_NET_SLICE_IMPL_H
#define HPS_NET_SLICE_IMPL_H

#include "net/slice.h"

enum hps_slice_buffer { HPS_BUFFER_NONE, HPS_BUFFER_IN, HPS_BUFFER_INNER, HPS_BUFFER_OUT };

struct hps_slice_view {
    enum hps_slice_buffer buffer, grad_buffer;
    size_t at, grad_at;                 /* first number in the buffer                       */
    size_t ld, grad_ld;                 /* numbers from row to row                          */
    bool rounded;                       /* in bf16, in an inner block; its gradient is fp32 */
    bool passes;                        /* a skip tensor: in `in` and copied to `out`       */
    size_t out_at, out_grad_at;         /* its columns in `out`                             */
};

enum { HPS_LOSS_COPIES = 3 };           /* host buffers for sums of losses */

struct hps_slice_impl {
    struct hps_slice_view *view;        /* (last+1) by layer; before first: what comes in    */
    float **inner;                      /* (nslot) outputs that cross no boundary            */
    float *inner_grad;                  /* their gradients, of the slot in its backward      */
    float **saved;                      /* (nslot) saved activations                         */
    size_t *saved_at, *saved_batch_at;  /* (last-first+1) where a layer's begin              */
    float *all;                         /* scratch of the running layer, grown where a micro-
                                           batch is larger than my rows                      */
    char *packed;                       /* what layers made of their weights                 */
    size_t *packed_at;                  /* (last-first+2) where a layer's begins             */
    float *grad;                        /* of dense weights; NULL: the caller lends it       */
    size_t all_cap, scratch_row;      /* floats; floats of a row, max over the layers      */
    double *scratch;                    /* of the running layer                              */
    struct hps_collective alone;        /* of a feed of one rank                             */
    double *loss_copy;                  /* (HPS_LOSS_COPIES, last-first+1) on the host, pinned */
    struct hps_event *loss_event[HPS_LOSS_COPIES];
    struct hps_event **clock;           /* (last-first+2) NULL until the first measurement   */
    bool *written;                      /* (last+1) a layer has written the gradient         */
    struct hps_tensor *x, *dx;          /* (max inputs) of the running layer                 */
};

/* The update rule of layer first + i in an update. Pure. */
struct hps_rule hps_slice_rule(const struct hps_slice *slice, int i, struct hps_update update);

/* Update those weights of the i-th layer that lie in [from, end) of param. */
void hps_slice_update_part(struct hps_slice *slice, int i, const struct hps_rule *rule,
                           size_t from, size_t end);

#endif
