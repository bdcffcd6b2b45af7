/* collective.h - collectives over the ranks of a stage, for layers that look beyond the rows of
 * this rank.
 *
 * The ranks of a stage share each micro-batch by contiguous rows, in the order of the ranks.
 * Each verb is Collective over them: a layer whose kind says `collective` is called on all of them
 * in the same order, also where B = 0. The results are the same bits on every rank, and the same to
 * rounding on any number of them: sums are made in the order of the ranks. All numbers are device
 * memory; a call is queued on COMPUTE with the operations around it. A rank alone (most runs, the
 * profile) just copies. */
#ifndef HPS_NET_COLLECTIVE_H
#define HPS_NET_COLLECTIVE_H

#include "hw/dev.h"

struct hps_collective {
    int rows, first;            /* of the whole micro-batch; the first of mine (B are mine)  */
    struct hps_dev *dev;
    /* x (n) summed over the ranks. */
    void (*allreduce)(const struct hps_collective *c, size_t n, double *x);
    /* own (B, width) of every rank to all (rows, width), in the micro-batch's order; contiguous, as
     * in reduce_scatter. */
    void (*allgather)(const struct hps_collective *c, int width, const float *own, float *all);
    /* Its transpose: all (rows, width) of every rank summed, and my rows of the sums to own. */
    void (*reduce_scatter)(const struct hps_collective *c, int width, const float *all,
                           float *own);
    void *context;              /* the maker's                                               */
};

/* A rank that has all `rows` to itself. */
struct hps_collective hps_collective_alone(struct hps_dev *dev, int rows);

#endif
