/* gpu_group.h - whether the GPUs of some ranks form one NCCL group: decided once, equal on all. */
#ifndef HPS_HW_GPU_GROUP_H
#define HPS_HW_GPU_GROUP_H

#include <stdbool.h>

#include "base/say.h"
#include "hw/nccl.h"

/* A group needs two ranks or more, each of which computes on a GPU of its own (NCCL refuses two
 * ranks on one), and libnccl.so.2 of the same release on all. HETERPS_NCCL=0 in the environment
 * of any rank forbids it, as does HETERPS_CUDA_SYNC=1, which waits for each kernel. Without a
 * group, sums and rows travel through the hosts, as between CPUs. */
struct hps_gpu_group {
    const struct hps_nccl_ops *ops;
    struct hps_nccl_group *group;       /* NULL: there is none */
};

/* The group of the ranks of comm (not MPI_COMM_NULL). Where all compute on GPUs, the first rank
 * says what was decided, at `level`. As long as a result is held, another call for the same
 * ranks returns the same group, so that sums and exchanges share one. Opening a group may take
 * HPS_NCCL_OPEN_S; where not all have a GPU, nothing is opened. Collective over comm, as is the
 * free; free takes NULL. */
const struct hps_gpu_group *hps_gpu_group_new(struct hps_dev *dev, MPI_Comm comm,
                                              enum hps_level level);
void hps_gpu_group_free(const struct hps_gpu_group *group);

/* ---- the decision ---- */

struct hps_gpu_group_fact {     /* what a rank sends to the others; plain data      */
    int rank;                   /* in the world                                     */
    int version;                /* of NCCL; 0: it has none or forbids it, see `why` */
    char host[HPS_NCCL_GPU], gpu[HPS_NCCL_GPU];
    char why[HPS_NCCL_WHY];
};

/* Can these n ranks form a group? If not, `why` [out] names the reason and the ranks. Pure. */
bool hps_gpu_group_possible(int n, const struct hps_gpu_group_fact *fact, char *why, size_t size);

#endif
