/* gpu.h - which GPU is a rank's, asked of the driver alone: a program built without CUDA knows it
 * too. */
#ifndef HPS_HW_GPU_H
#define HPS_HW_GPU_H

#include "hw/node.h"

#define HPS_GPU_MOST 16         /* that a rank sees of its host's */

/* The host's ranks choose in their order: each takes, of the GPUs that it sees, the one that the
 * fewest have, the first of equals, as long as it has fewer than `each`; who finds none is a CPU
 * rank. GPUs are told apart by their UUIDs: it makes no difference whether the batch system shows a
 * rank its own GPU only or all of them. Fills in gpu, gpu_uuid, gpu_index, gpu_sm, gpu_ranks,
 * gpu_memory_bytes, its share, and nvml; no driver or no device leaves them empty. Which device
 * computes is another question (node->on_gpu). Collective over host, hps_node_host's
 * (MPI_COMM_NULL: alone). */
void hps_gpu_share(struct hps_node *node, int each, MPI_Comm host);

#endif
