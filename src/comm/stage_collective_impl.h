/* stage_collective_impl.h - what the sources of stage collectives share.
 *
 * A collective gathers the numbers of each rank on all ranks, or scatters a part of them to each
 * rank; numbers are in device memory before and after. The device reduces them in the order of the
 * ranks, so that the bits do not depend on the transport. */
#ifndef HPS_COMM_STAGE_COLLECTIVE_IMPL_H
#define HPS_COMM_STAGE_COLLECTIVE_IMPL_H

#include "comm/stage_collective.h"
#include "hw/gpu_group.h"
#include "hw/span.h"

struct hps_stage_collective {
    struct hps_dev *dev;
    MPI_Comm comm;                      /* owned                                         */
    int me, k;
    const struct hps_gpu_group *gpus;
    const struct hps_stage_collective_ops *ops;
    void *impl;                         /* the state of the operations                   */
    int width;                          /* of a row of the collective under way          */
    int *n, *at;                        /* (k) floats of each rank's rows, their places  */
    void *parts;                        /* device: the summands of a reduction           */
    size_t parts_bytes;
    struct hps_spans *spans;            /* of collectives by NCCL; or NULL               */
    int what;                           /* label of the collectives to come              */
    double wall_s, core_s, bytes;
};

/* The transport. gather and scatter are collective over comm. */
struct hps_stage_collective_ops {
    void *(*open)(struct hps_stage_collective *collective);
    void (*close)(struct hps_stage_collective *collective);
    /* Gather `own` (n[me]) of every rank on all: n[r] floats of rank r at at[r]. */
    void (*gather)(struct hps_stage_collective *collective, const float *own, float *all);
    /* Scatter: n[r] floats at at[r] to rank r; those of every rank for this one to parts (k,
     * n[me]). */
    void (*scatter)(struct hps_stage_collective *collective, const float *all, float *parts);
};
extern const struct hps_stage_collective_ops hps_stage_collective_by_mpi; /* through the hosts */
extern const struct hps_stage_collective_ops
    hps_stage_collective_by_nccl; /* from GPU to GPU: no host waits   */

#endif
