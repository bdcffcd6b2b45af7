/* launch_impl.h - what an operation needs to queue kernels: stream, scratch, errors. C and
 * CUDA C read it alike: a source of kernels may define the whole table of an operation. */
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

/* So many bytes, not zeroed, good until the next call. What is queued and uses the smaller block
 * before is waited for when it must grow. */
void *hps_cuda_scratch(struct hps_dev *dev, size_t bytes);

/* Every call of the runtime, every launch stands inside this: a failure says rank, call, the
 * library's text and place, and ends all. */
#define HPS_CUDA(call) hps_cuda_check((int)(call), #call, __FILE__, __LINE__)
void hps_cuda_check(int error, const char *call, const char *file, int line);

/* The tables of layers' own operations, in whichever source has them. */
#define HPS_CUDA_OP(name) extern const struct hps_op_##name hps_cuda_##name;
HPS_LAYER_OPS(HPS_CUDA_OP)
#undef HPS_CUDA_OP

#ifdef __cplusplus
}
#endif
#endif
