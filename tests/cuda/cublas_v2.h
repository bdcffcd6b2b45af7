/* cublas_v2.h - stands in for cuBLAS where no GPU is: the CBLAS, of operands that are rounded as a
 * card's are. */
#ifndef HPS_TESTS_CUBLAS_V2_H
#define HPS_TESTS_CUBLAS_V2_H

#include "cuda_runtime.h"

typedef int cublasStatus_t;
typedef struct hps_shim_blas *cublasHandle_t;
typedef enum { CUBLAS_OP_N, CUBLAS_OP_T } cublasOperation_t;
typedef enum { CUDA_R_32F } cudaDataType_t;
typedef enum {
    CUBLAS_COMPUTE_32F,
    CUBLAS_COMPUTE_32F_FAST_TF32,
    CUBLAS_COMPUTE_32F_FAST_16BF
} cublasComputeType_t;
typedef enum { CUBLAS_GEMM_DEFAULT } cublasGemmAlgo_t;
enum { CUBLAS_STATUS_SUCCESS = 0 };

cublasStatus_t cublasCreate(cublasHandle_t *handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes);
const char *cublasGetStatusString(cublasStatus_t status);
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t a_as, cublasOperation_t b_as,
                            int m, int n, int k, const void *alpha, const void *a,
                            cudaDataType_t a_is, int lda, const void *b, cudaDataType_t b_is,
                            int ldb, const void *beta, void *c, cudaDataType_t c_is, int ldc,
                            cublasComputeType_t type, cublasGemmAlgo_t how);

#endif
