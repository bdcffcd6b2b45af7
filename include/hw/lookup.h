/* lookup.h - what a layer with a table gets for one micro-batch: the ids of its bags, the rows that
 * belong to them, and where the gradients of these rows go. The parameter server makes it
 * (ps/ps.h); a layer hands it to the operations of a device. */
#ifndef HPS_HW_LOOKUP_H
#define HPS_HW_LOOKUP_H

#include "hw/ops.h"

/* Gradients of the rows of one step. The first layer that has some overwrites all of them, the
 * others add; with one alone, that layer may name what they are sums of instead. */
struct hps_row_grad {
    float *row;                         /* (nrow, dim), device memory                            */
    size_t nrow;
    bool written;                       /* somebody wrote: row, or deferred                      */
    bool may_defer;                     /* only one layer and one micro-batch read these rows    */
    struct hps_row_sums deferred;       /* set where deferred.row is not NULL                    */
};

/* Are gradients to be added to grad->row (else all of it is overwritten)? They are written from now
 * on. Local. */
static inline bool hps_row_grad_adds(struct hps_row_grad *grad)
{
    bool add = grad->written;

    grad->written = true;
    return add;
}

struct hps_lookup {
    struct hps_bag bag;
    const float *rows;                  /* (nrow, dim) or what the bag says, device memory       */
    struct hps_row_grad *grad;          /* NULL: nothing is learned                              */
};

#endif
