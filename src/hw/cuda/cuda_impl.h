/* cuda_impl.h - what the files of the CUDA backend share: its state, errors, scratch, the
 * operations by name. For the sources of this folder only, which make heterps-cuda.so; the meaning
 * of each operation is in dev.h. */
#ifndef HPS_HW_CUDA_CUDA_IMPL_H
#define HPS_HW_CUDA_CUDA_IMPL_H

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "hw/dev.h"
#include "hw/kern.h"

extern const struct hps_dev_ops hps_dev_cuda;    /* what heterps-cuda.so is loaded for */

struct hps_cuda_room {          /* one block of device memory, kept between operations */
    void *at;
    size_t bytes;
};

struct hps_cuda {               /* dev->state */
    cudaStream_t stream[HPS_NSTREAM];
    cudaEvent_t ahead[HPS_NSTREAM];     /* of each stream, for those that wait for it */
    cublasHandle_t blas;
    struct hps_cuda_graphs *graphs;     /* NULL: each kernel by itself              */
    void *products;                     /* of cuBLAS, where there are graphs        */
    struct hps_cuda_room scratch;       /* of one operation                         */
    struct hps_cuda_room attend;        /* of an attention, which calls operations  */
    double *number;             /* a double on the device: what is read by the host */
};

/* Every call of the runtime, of cuBLAS, of a launcher stands inside one of these: a failure says
 * rank, call, the library's text and place, ends all. */
#define HPS_CUDA(call) hps_cuda_check((int)(call), #call, __FILE__, __LINE__)
#define HPS_CUBLAS(call) hps_cublas_check((int)(call), #call, __FILE__, __LINE__)
void hps_cuda_check(int error, const char *call, const char *file, int line);
void hps_cublas_check(int status, const char *call, const char *file, int line);

static inline struct hps_cuda *hps_cuda_of(struct hps_dev *dev) { return dev->state; }
static inline void *hps_cuda_stream(struct hps_dev *dev)
{
    return hps_cuda_of(dev)->stream[HPS_STREAM_COMPUTE];
}

/* cuda_graph.c: ops->graph_begin, _end; is a graph being captured? Then nothing may wait for the
 * stream COMPUTE, and a block that its kernels use is freed behind the graph. */
struct hps_cuda_graphs *hps_cuda_graphs_new(void);      /* NULL: not asked for */
void hps_cuda_graphs_free(struct hps_cuda_graphs *graphs);
void hps_cuda_graph_begin(struct hps_dev *dev, int number);
void hps_cuda_graph_end(struct hps_dev *dev, int number);
bool hps_cuda_capturing(const struct hps_cuda *cuda);
void hps_cuda_free_later(struct hps_cuda *cuda, void *block);

void hps_cuda_range(const char *name);          /* cuda_range.c: ops->range */

/* So many bytes, not zeroed, good until the next call for the same room. What is queued and uses
 * the smaller block before is waited for when it must grow. */
void *hps_cuda_take(struct hps_dev *dev, struct hps_cuda_room *room, size_t bytes);
void *hps_cuda_scratch(struct hps_dev *dev, size_t bytes);

/* C (m, n) = A B + beta C, row-major; A (m, k) or turned (k, m), B (k, n) or turned (n, k). */
void hps_cuda_gemm(struct hps_dev *dev, bool turn_a, bool turn_b, size_t m, size_t n, size_t k,
                   const float *a, size_t lda, const float *b, size_t ldb, float beta, float *c,
                   size_t ldc);

#define HPS_DEV_VERB(verb) hps_cuda_##verb
#include "hw/dev_verbs.h"

#endif
