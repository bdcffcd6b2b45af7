/* cuda.h - what the files of the CUDA backend share: its state, errors, scratch, the operations by
 * name. For src/hw/dev_cuda.c and src/hw/cuda_*.c only, which make heterps-cuda.so; the meaning of
 * each operation is in dev.h. */
#ifndef HPS_HW_CUDA_H
#define HPS_HW_CUDA_H

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
    cudaStream_t stream;
    cublasHandle_t blas;
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
static inline void *hps_cuda_stream(struct hps_dev *dev) { return hps_cuda_of(dev)->stream; }

/* So many bytes, not zeroed, good until the next call for the same room. What is queued and uses
 * the smaller block before is waited for when it must grow. */
void *hps_cuda_take(struct hps_dev *dev, struct hps_cuda_room *room, size_t bytes);
void *hps_cuda_scratch(struct hps_dev *dev, size_t bytes);

/* C (m, n) = A B + beta C, row-major; A (m, k) or turned (k, m), B (k, n) or turned (n, k). */
void hps_cuda_gemm(struct hps_dev *dev, bool turn_a, bool turn_b, size_t m, size_t n, size_t k,
                   const float *a, size_t lda, const float *b, size_t ldb, float beta, float *c,
                   size_t ldc);

void hps_cuda_fc_forward(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                        const float *w, const float *b, struct hps_tensor y, float *pre);
void hps_cuda_fc_backward(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                         const float *w, struct hps_tensor y, const float *pre,
                         struct hps_tensor dy, struct hps_tensor dx, bool add, float *dw,
                         float *db);
double hps_cuda_gemm_s(struct hps_dev *dev, int m, int n, int k, int repeat);

void hps_cuda_copy(struct hps_dev *dev, int B, int width, const float *x, size_t ldx, float *y,
                  size_t ldy, bool add);
void hps_cuda_dropout(struct hps_dev *dev, int B, int width, float p, uint64_t key,
                     const long long *example, const float *x, size_t ldx, float *y, size_t ldy,
                     bool add);
void hps_cuda_logistic(struct hps_dev *dev, int B, struct hps_tensor x, const float *label,
                      float weight, float *score, double *loss_sum, struct hps_tensor dx,
                      bool add);
void hps_cuda_cross_entropy(struct hps_dev *dev, int B, struct hps_tensor x, const float *label,
                           float weight, float *score, double *loss_sum, struct hps_tensor dx);
void hps_cuda_squared(struct hps_dev *dev, int B, struct hps_tensor x, const float *label,
                     float weight, float *score, double *loss_sum, struct hps_tensor dx);
void hps_cuda_hinge(struct hps_dev *dev, int B, struct hps_tensor x, const float *label,
                   float margin, float weight, float *score, double *loss_sum,
                   struct hps_tensor dx);
void hps_cuda_unit(struct hps_dev *dev, int B, struct hps_tensor x, float *y, float *norm);
void hps_cuda_unit_back(struct hps_dev *dev, int B, int width, float *y, float *norm, float *dy);
void hps_cuda_pairs(struct hps_dev *dev, const struct hps_pairs *pairs, float weight, float *score,
                   double *loss_sum, float *du, float *dall);
void hps_cuda_nce(struct hps_dev *dev, int B, struct hps_tensor x, int K, float *e, float weight,
                 float *score, double *loss_sum, float *dx);
void hps_cuda_norm2(struct hps_dev *dev, size_t n, const float *x, double *sum);

void hps_cuda_act_forward(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                         struct hps_tensor y);
void hps_cuda_act_backward(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                          struct hps_tensor y, struct hps_tensor dy, struct hps_tensor dx,
                          bool add);
void hps_cuda_gate_forward(struct hps_dev *dev, int B, struct hps_tensor a, struct hps_tensor b,
                          struct hps_tensor x, struct hps_tensor y);
void hps_cuda_gate_backward(struct hps_dev *dev, int B, struct hps_tensor a, struct hps_tensor b,
                           struct hps_tensor dy, struct hps_tensor da, bool add);
void hps_cuda_cosine_forward(struct hps_dev *dev, int B, struct hps_tensor a, struct hps_tensor b,
                            struct hps_tensor y, float *keep);
void hps_cuda_cosine_backward(struct hps_dev *dev, int B, struct hps_tensor a, struct hps_tensor b,
                             struct hps_tensor y, float *keep, struct hps_tensor dy,
                             struct hps_tensor da, bool add_a, struct hps_tensor db, bool add_b);
void hps_cuda_softmax_forward(struct hps_dev *dev, int B, struct hps_tensor x, struct hps_tensor y);
void hps_cuda_softmax_backward(struct hps_dev *dev, int B, struct hps_tensor y,
                               struct hps_tensor dy, struct hps_tensor dx, bool add);
void hps_cuda_row_norm_forward(struct hps_dev *dev, int B, struct hps_tensor x, const float *gain,
                              const float *shift, float eps, struct hps_tensor y, float *keep);
void hps_cuda_row_norm_backward(struct hps_dev *dev, int B, struct hps_tensor x, const float *gain,
                               float *keep, struct hps_tensor dy, struct hps_tensor dx, bool add,
                               float *dgain, float *dshift);
void hps_cuda_moments(struct hps_dev *dev, int B, struct hps_tensor x, struct hps_tensor z,
                     double *sums);
void hps_cuda_blend(struct hps_dev *dev, int B, const float *p, struct hps_tensor x, const float *m,
                   const float *r, const float *q, struct hps_tensor z, struct hps_tensor y,
                   bool add);
void hps_cuda_dots_forward(struct hps_dev *dev, int B, int dim, bool self, int nx,
                          const struct hps_tensor *x, struct hps_tensor y);
void hps_cuda_dots_backward(struct hps_dev *dev, int B, int dim, bool self, int nx,
                           const struct hps_tensor *x, struct hps_tensor dy,
                           const struct hps_tensor *dx, const bool *add);
void hps_cuda_fm_forward(struct hps_dev *dev, int B, int dim, int nx, const struct hps_tensor *x,
                        struct hps_tensor y, float *sums);
void hps_cuda_fm_backward(struct hps_dev *dev, int B, int dim, int nx, const struct hps_tensor *x,
                         float *sums, struct hps_tensor dy, const struct hps_tensor *dx,
                         const bool *add);
void hps_cuda_attend_forward(struct hps_dev *dev, const struct hps_attend *net,
                            const struct hps_bag *bag, const float *param, const float *rows,
                            struct hps_tensor c, struct hps_tensor y);
void hps_cuda_attend_backward(struct hps_dev *dev, const struct hps_attend *net,
                             const struct hps_bag *bag, const float *param, const float *rows,
                             struct hps_tensor c, struct hps_tensor dy, float *grad,
                             struct hps_tensor dc, bool add, float *rows_grad, size_t nrow);

void hps_cuda_bag_forward(struct hps_dev *dev, const struct hps_bag *bag, int dim,
                         enum hps_pool_kind pool, enum hps_combine combine, const float *rows,
                         struct hps_tensor y);
void hps_cuda_bag_backward(struct hps_dev *dev, const struct hps_bag *bag, int dim,
                          enum hps_pool_kind pool, enum hps_combine combine,
                          struct hps_tensor dy, float *rows_grad, size_t nrow, bool add);

void hps_cuda_update(struct hps_dev *dev, const struct hps_rule *rule, size_t n, float *param,
                    float *grad, float *state);
void hps_cuda_rows_apply(struct hps_dev *dev, const struct hps_rule *rule, float *table,
                        size_t stride, int dim, size_t n, const int *at,
                        const struct hps_row_sums *grad);
void hps_cuda_rows_gather(struct hps_dev *dev, const float *table, size_t stride, int dim,
                         size_t n, const int *at, float *out);
void hps_cuda_rows_sum(struct hps_dev *dev, int dim, size_t n, const struct hps_row_sums *sums,
                      float *to);

#endif
