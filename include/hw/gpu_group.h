/* gpu_group.h - may the GPUs of some ranks work as one group (NCCL)? Found out once, told to all.
 */
#ifndef HPS_HW_GPU_GROUP_H
#define HPS_HW_GPU_GROUP_H

#include <stdbool.h>

#include "base/say.h"
#include "hw/nccl.h"

/* They may where there are two ranks or more, each computes on a GPU, no two on the same one (NCCL
 * refuses that), each has libnccl.so.2, all the same release, and nobody forbids it: HETERPS_NCCL=0
 * in a rank's environment does, and HETERPS_CUDA_SYNC=1, which waits for each kernel. Else sums and
 * rows go through the host, as between CPUs. */
struct hps_gpu_group {
    const struct hps_nccl_ops *ops;
    struct hps_nccl_group *group;       /* NULL: they may not */
};

/* The ranks of comm (not MPI_COMM_NULL). Where all compute on GPUs the first of them says what was
 * found, at `level`. Who asks again for the same ranks while the answer is still held gets the same
 * one: what sums and what exchanges share a group. Making one may take HPS_NCCL_OPEN_S; where not
 * all have a GPU nothing is held. Collective over comm, as is the free; NULL is fine. */
const struct hps_gpu_group *hps_gpu_group_new(struct hps_dev *dev, MPI_Comm comm,
                                              enum hps_level level);
void hps_gpu_group_free(const struct hps_gpu_group *cards);

/* ---- the decision ---- */

struct hps_gpu_group_fact {     /* what a rank tells the others; plain data */
    int rank;                   /* in the world                             */
    int version;                /* of NCCL; 0: none, or forbidden: why      */
    char host[HPS_NCCL_CARD], card[HPS_NCCL_CARD];
    char why[HPS_NCCL_WHY];
};

/* May these n? No: `why` [out] says it, with the ranks that are in the way. Pure. */
bool hps_gpu_group_may(int n, const struct hps_gpu_group_fact *fact, char *why, size_t size);

#endif
