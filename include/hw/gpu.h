/* gpu.h - which GPU answers here, asked of the driver alone: a program built without CUDA knows it
 * too. */
#ifndef HPS_HW_GPU_H
#define HPS_HW_GPU_H

#include "hw/node.h"

/* Fill in gpu, gpu_index, gpu_sm, gpu_memory_bytes of the GPU that is this rank's by its place on
 * the host; no driver or no device leaves them empty. Which device computes is another question
 * (node->on_gpu). Local. */
void hps_gpu_probe(struct hps_node *node);

#endif
