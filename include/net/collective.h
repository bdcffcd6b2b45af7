/* collective.h - collectives over the ranks of a stage, for layers that need the whole micro-batch.
 *
 * The ranks of a stage share each micro-batch by contiguous rows, in the order of the ranks. Each
 * function is Collective over them: a layer of a `collective` type is called on all of them in the
 * same order, also where B = 0. Sums are made in the order of the ranks, so the results are the
 * same bits on every rank, and the same to rounding on any number of ranks. All arrays are device
 * memory; a call is queued on COMPUTE with the operations around it. */
#ifndef HPS_NET_COLLECTIVE_H
#define HPS_NET_COLLECTIVE_H

#include "hw/dev.h"

struct hps_collective {
    int rows;                   /* of the whole micro-batch                                  */
    int first;                  /* my first row; B rows are mine                             */
    struct hps_dev *dev;
    /* Sum x (n) over the ranks, in place. */
    void (*allreduce)(const struct hps_collective *c, size_t n, double *x);
    /* Gather my_rows (B, width) of every rank to all (rows, width); both contiguous. */
    void (*allgather)(const struct hps_collective *c, int width, const float *my_rows, float *all);
    /* Its transpose: sum `all` (rows, width) over the ranks and keep my rows of the sums. */
    void (*reduce_scatter)(const struct hps_collective *c, int width, const float *all,
                           float *my_rows);
    void *context;              /* of the implementation                                     */
};

/* For a rank that has all `rows` of the micro-batch: nothing is communicated. */
struct hps_collective hps_collective_alone(struct hps_dev *dev, int rows);

#endif
