/* stage_collective_impl.h - what the files of meetings share. For src/comm/meet*.c only.
 *
 * In a meeting what each rank has goes to all, or of what it has each gets a part; it lies on the
 * device before and after. What is to be added up is added there, in the order of the ranks, so
 * that the bits do not depend on the way. */
#ifndef HPS_COMM_STAGE_COLLECTIVE_IMPL_H
#define HPS_COMM_STAGE_COLLECTIVE_IMPL_H

#include "comm/stage_collective.h"
#include "hw/gpu_group.h"
#include "hw/span.h"

struct hps_stage_collective {
    struct hps_dev *dev;
    MPI_Comm comm;                      /* owned                                         */
    int me, k;
    const struct hps_gpu_group *cards;
    const struct hps_stage_collective_way *way;
    void *with;                         /* the way's own                                 */
    int width;                          /* of a row of the meeting under way             */
    int *n, *at;                        /* (k) floats of each rank's rows, their places  */
    void *parts;                        /* device: what is to be added up                */
    size_t parts_bytes;
    struct hps_spans *spans;            /* of meetings that no host waits for; or NULL   */
    int what;                           /* those to come are marked                      */
    double wall_s, core_s, bytes;
};

/* How numbers travel. Both are Collective over comm. */
struct hps_stage_collective_way {
    void *(*open)(struct hps_stage_collective *meet);
    void (*close)(struct hps_stage_collective *meet);
    /* own (n[me]) of every rank to all, n[r] floats of rank r at at[r]. */
    void (*gather)(struct hps_stage_collective *meet, const float *own, float *all);
    /* n[r] floats at at[r] of all to rank r; of every rank, those for me to parts (k, n[me]). */
    void (*deal)(struct hps_stage_collective *meet, const float *all, float *parts);
};
extern const struct hps_stage_collective_way hps_stage_collective_by_mpi; /* through the hosts */
extern const struct hps_stage_collective_way
    hps_stage_collective_by_nccl; /* from GPU to GPU: no host waits   */

#endif
