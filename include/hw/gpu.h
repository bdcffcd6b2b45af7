/* gpu.h - assigns GPUs to the ranks of a host. Only the driver is asked, so that a program built
 * without CUDA knows the GPUs too. */
#ifndef HPS_HW_GPU_H
#define HPS_HW_GPU_H

#include "hw/node.h"

#define HPS_GPU_MAX 16          /* GPUs of its host that a rank considers, at most */

/* Choose a GPU for each rank. The ranks of a host choose in turn: each takes, among the GPUs
 * visible to it, the one with the fewest ranks (the first of equals) that has fewer than
 * `max_ranks`; where there is none, it is a CPU rank. GPUs are identified by UUID, so it makes
 * no difference whether the batch system shows a rank its own GPU alone or all of them. Fills in
 * gpu, gpu_uuid, gpu_index, gpu_sm, gpu_ranks, gpu_memory_bytes (the rank's share) and nvml;
 * without a driver or a GPU they stay empty. Whether the rank computes on its GPU is another
 * question (node->on_gpu). Collective over host, hps_node_host's (MPI_COMM_NULL: alone). */
void hps_gpu_share(struct hps_node *node, int max_ranks, MPI_Comm host);

#endif
