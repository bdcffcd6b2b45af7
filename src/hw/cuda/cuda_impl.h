/* cuda_impl.h - what the C sources of the CUDA backend share: its state, errors, scratch, and the
 * operations whose tables are in dev_cuda.c. They make heterps-cuda.so. What an operation computes
 * is said in hw/dense_ops.h, hw/row_ops.h and hw/op_*.h. */
#ifndef HPS_HW_CUDA_CUDA_IMPL_H
#define HPS_HW_CUDA_CUDA_IMPL_H

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "hw/cuda/launch_impl.h"
#include "hw/dev.h"
#include "hw/gemm.h"
#include "hw/kern.h"

extern const struct hps_dev_ops hps_dev_cuda;   /* the symbol that the loader looks up */

struct hps_cuda_block {         /* device memory that is kept between operations */
    void *at;
    size_t bytes;
};

struct hps_cuda {               /* dev->state */
    cudaStream_t stream[HPS_NSTREAM];
    cudaEvent_t ahead[HPS_NSTREAM];     /* of each stream, for streams that wait for it */
    cublasHandle_t blas;
    struct hps_cuda_graphs *graphs;     /* NULL: kernels are launched one by one      */
    void *products;                     /* workspace of cuBLAS, where there are graphs */
    struct hps_cuda_block scratch;      /* of one operation                           */
    struct hps_cuda_block attend;       /* of an attention, which calls operations    */
    double *number;                     /* a double on the device that the host reads */
};

#define HPS_CUBLAS(call) hps_cublas_check((int)(call), #call, __FILE__, __LINE__)
void hps_cublas_check(int status, const char *call, const char *file, int line);

static inline struct hps_cuda *hps_cuda_of(struct hps_dev *dev) { return dev->state; }

/* cuda_graph.c: ops->graph_begin and graph_end. While a graph is being captured, nothing may wait
 * for the stream COMPUTE, and a block that its kernels use is freed after the graph. */
struct hps_cuda_graphs *hps_cuda_graphs_new(void);      /* NULL: not requested */
void hps_cuda_graphs_free(struct hps_cuda_graphs *graphs);
void hps_cuda_graph_begin(struct hps_dev *dev, int number);
void hps_cuda_graph_end(struct hps_dev *dev, int number);
bool hps_cuda_capturing(const struct hps_cuda *cuda);
void hps_cuda_free_later(struct hps_cuda *cuda, void *block);

void hps_cuda_range(const char *name);          /* cuda_range.c: ops->range */

/* As hps_cuda_scratch, of this block. */
void *hps_cuda_reserve(struct hps_dev *dev, struct hps_cuda_block *block, size_t bytes);

void hps_cuda_gemm(struct hps_dev *dev, enum hps_precision precision,
                   const struct hps_gemm *g);           /* hw/gemm.h */

/* The operations on dense matrices and on rows, for the tables in dev_cuda.c (hw/dense_ops.h,
 * hw/row_ops.h). */
void hps_cuda_fc_forward(struct hps_dev *dev, const struct hps_fc *fc);
void hps_cuda_fc_backward(struct hps_dev *dev, const struct hps_fc *fc, struct hps_tensor dy,
                          struct hps_tensor dx, float *dw, float *db);
void hps_cuda_act_forward(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                          struct hps_tensor y);
void hps_cuda_act_backward(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                           struct hps_tensor y, struct hps_tensor dy, struct hps_tensor dx);
void hps_cuda_copy(struct hps_dev *dev, int B, struct hps_tensor x, struct hps_tensor y);
void hps_cuda_scale(struct hps_dev *dev, int B, float by, struct hps_tensor x, struct hps_tensor y);
void hps_cuda_reduce(struct hps_dev *dev, int k, size_t n, const float *part, float *to);
void hps_cuda_reduce_doubles(struct hps_dev *dev, int k, size_t n, const double *part, double *to);
void hps_cuda_update(struct hps_dev *dev, const struct hps_rule *rule, size_t n, float *param,
                     float *grad, float *state, size_t plane);
void hps_cuda_norm2(struct hps_dev *dev, size_t n, const float *x, double *sum);
double hps_cuda_gemm_s(struct hps_dev *dev, int m, int n, int k, int repeat);

void hps_cuda_bag_forward(struct hps_dev *dev, const struct hps_lookup *lookup, int dim,
                         enum hps_pool_kind pool, enum hps_combine combine, struct hps_tensor y);
void hps_cuda_bag_backward(struct hps_dev *dev, const struct hps_lookup *lookup, int dim,
                          enum hps_pool_kind pool, enum hps_combine combine, struct hps_tensor dy,
                          bool add);
void hps_cuda_rows_apply(struct hps_dev *dev, const struct hps_rule *rule, float *table,
                         struct hps_row_list rows, const struct hps_row_sums *grad);
void hps_cuda_rows_gather(struct hps_dev *dev, const float *table, struct hps_row_list rows,
                          float *out);
void hps_cuda_rows_move(struct hps_dev *dev, size_t stride, size_t n, const int *from_at,
                        const float *from, const int *to_at, float *to);
void hps_cuda_rows_sum(struct hps_dev *dev, int dim, size_t n, const struct hps_row_sums *sums,
                       float *to);

#endif
