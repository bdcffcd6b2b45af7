/* cuda_dense.c - fully connected layers: products by cuBLAS, bias and activation by kernels. */
#include "base/mem.h"
#include "base/rng.h"
#include "base/sort.h"
#include "hw/cuda/cuda_impl.h"

static cublasComputeType_t compute_type(enum hps_precision precision)
{
    switch (precision) {
    case HPS_TF32: return CUBLAS_COMPUTE_32F_FAST_TF32;
    case HPS_BF16: return CUBLAS_COMPUTE_32F_FAST_16BF;
    default: return CUBLAS_COMPUTE_32F;
    }
}

/* cuBLAS is column-major: it computes C' = B' A'. */
void hps_cuda_gemm(struct hps_dev *dev, enum hps_precision precision, const struct hps_gemm *g)
{
    const float one = 1;

    if (g->m > 0 && g->n > 0)
        HPS_CUBLAS(cublasGemmEx(hps_cuda_of(dev)->blas, g->tb ? CUBLAS_OP_T : CUBLAS_OP_N,
                                g->ta ? CUBLAS_OP_T : CUBLAS_OP_N, (int)g->n, (int)g->m,
                                (int)g->k, &one, g->b, CUDA_R_32F, (int)g->ldb, g->a, CUDA_R_32F,
                                (int)g->lda, &g->beta, g->c, CUDA_R_32F, (int)g->ldc,
                                compute_type(precision), CUBLAS_GEMM_DEFAULT));
}

void hps_cuda_fc_forward(struct hps_dev *dev, const struct hps_fc *fc)
{
    size_t in = (size_t)fc->x.width, out = (size_t)fc->y.width;

    hps_cuda_gemm(dev, fc->precision, &(struct hps_gemm){
        .m = (size_t)fc->B, .n = out, .k = in, .a = fc->x.data, .lda = fc->x.ld, .b = fc->w,
        .ldb = out, .c = fc->y.data, .ldc = fc->y.ld });
    if (fc->b || fc->act != HPS_ACT_NONE)
        HPS_CUDA(hps_kern_bias_act(hps_cuda_stream(dev), fc->act, fc->B, fc->y, fc->b,
                                   fc->act == HPS_ACT_GELU ? fc->pre : NULL));
}

void hps_cuda_fc_backward(struct hps_dev *dev, const struct hps_fc *fc, struct hps_tensor dy,
                          struct hps_tensor dx, float *dw, float *db)
{
    void *stream = hps_cuda_stream(dev);
    size_t in = (size_t)fc->x.width, out = (size_t)dy.width, rows = (size_t)fc->B;

    if (rows == 0) return;
    if (fc->act != HPS_ACT_NONE)
        HPS_CUDA(hps_kern_act_back(stream, fc->act, fc->B, hps_tensor_of(fc->pre, dy.width),
                                   fc->y, dy, dy));
    if (dx.data)
        hps_cuda_gemm(dev, fc->precision, &(struct hps_gemm){
            .tb = true, .m = rows, .n = in, .k = out, .a = dy.data, .lda = dy.ld, .b = fc->w,
            .ldb = out, .beta = dx.add ? 1 : 0, .c = dx.data, .ldc = dx.ld });
    hps_cuda_gemm(dev, fc->precision, &(struct hps_gemm){
        .ta = true, .m = in, .n = out, .k = rows, .a = fc->x.data, .lda = fc->x.ld, .b = dy.data,
        .ldb = dy.ld, .beta = 1, .c = dw, .ldc = out });
    if (db) {
        size_t n = hps_kern_column_blocks(rows) * out;
        float *scratch = hps_cuda_scratch(dev, n * sizeof *scratch);
        HPS_CUDA(hps_kern_column_sums(stream, fc->B, dy, scratch, db));
    }
}

/* Nonzero numbers: a GPU that multiplies zeros draws less power and runs faster. */
static void fill(struct hps_dev *dev, float *to, size_t n)
{
    enum { MANY = 1 << 16 };
    float *some = hps_mem_new(MANY, sizeof *some);

    for (size_t i = 0; i < MANY; i++)
        some[i] = hps_rng_unit(1, i) - 0.5f;
    for (size_t at = 0; at < n; at += MANY)
        dev->ops->copy_to_device(dev, to + at, some,
                                 (n - at < MANY ? n - at : MANY) * sizeof *some);
    dev->ops->sync(dev);
    hps_mem_free(some);
}

double hps_cuda_gemm_s(struct hps_dev *dev, int m, int n, int k, int repeat)
{
    size_t M = (size_t)m, N = (size_t)n, K = (size_t)k, nr = repeat > 0 ? (size_t)repeat : 1;
    cudaStream_t stream = hps_cuda_stream(dev);
    float *all = dev->ops->alloc(dev, (M * K + K * N + M * N) * sizeof *all), ms;
    struct hps_gemm g = { .m = M, .n = N, .k = K, .a = all, .lda = K, .b = all + M * K, .ldb = N,
                          .beta = 1, .c = all + M * K + K * N, .ldc = N };
    double *took = hps_mem_new(nr, sizeof *took);
    cudaEvent_t from, to;

    fill(dev, all, M * K + K * N);
    HPS_CUDA(cudaEventCreate(&from));
    HPS_CUDA(cudaEventCreate(&to));
    for (size_t i = 0; i <= nr; i++) {
        HPS_CUDA(cudaEventRecord(from, stream));
        hps_cuda_gemm(dev, hps_dev_product(dev, k, n), &g);
        HPS_CUDA(cudaEventRecord(to, stream));
        HPS_CUDA(cudaEventSynchronize(to));
        HPS_CUDA(cudaEventElapsedTime(&ms, from, to));
        if (i > 0) took[i - 1] = (double)ms * 1e-3;
    }
    double median = hps_sort_median(took, nr);
    HPS_CUDA(cudaEventDestroy(from));
    HPS_CUDA(cudaEventDestroy(to));
    hps_mem_free(took);
    dev->ops->free(dev, all);
    return median;
}
