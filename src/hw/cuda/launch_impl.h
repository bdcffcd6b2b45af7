/* launch_impl.h - what an operation needs to queue kernels: stream, scratch, errors. For C and
 * CUDA C: a source of kernels may define the whole table of an operation. */
#ifndef HPS_HW_CUDA_LAUNCH_IMPL_H
#define HPS_HW_CUDA_LAUNCH_IMPL_H

#include <stddef.h>

#include "hw/layer_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hps_dev;

/* The stream COMPUTE, a cudaStream_t. */
void *hps_cuda_stream(struct hps_dev *dev);

/* Scratch memory on the device, not zeroed, valid until the next call. Where it must grow, this
 * waits for queued kernels that use the smaller block. */
void *hps_cuda_scratch(struct hps_dev *dev, size_t bytes);

/* For every call of the runtime and every launch: a failure ends all ranks with a message of the
 * rank, the call, the library's text and the source line. */
#define HPS_CUDA(call) hps_cuda_check((int)(call), #call, __FILE__, __LINE__)
void hps_cuda_check(int error, const char *call, const char *file, int line);

/* The tables of operations of single layer types. */
#define HPS_CUDA_OP(name) extern const struct hps_op_##name hps_cuda_##name;
HPS_LAYER_OPS(HPS_CUDA_OP)
#undef HPS_CUDA_OP

#ifdef __cplusplus
}
#endif
#endif
