/* gemm.c - which library multiplies, and the BLAS as the one that is always there. */
#include <cblas.h>

#include "config.h"
#include "hw/gemm.h"

static bool anywhere(void)
{
    return true;
}

static void by_blas(bool ta, bool tb, size_t m, size_t n, size_t k, const float *a, size_t lda,
                    const float *b, size_t ldb, float beta, float *c, size_t ldc)
{
    cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans,
                (int)m, (int)n, (int)k, 1, a, (int)lda, b, (int)ldb, beta, c, (int)ldc);
}

static const struct hps_gemm_lib blas = {
    .name = HAVE_OPENBLAS ? "OpenBLAS" : "BLAS",
    .usable = anywhere,
    .run = by_blas,
    .near_floats = 262144,
};

#if HAVE_DNNL
extern const struct hps_gemm_lib hps_gemm_onednn;
#endif

const struct hps_gemm_lib *const hps_gemm_libs[] = {
#if HAVE_DNNL
    &hps_gemm_onednn,
#endif
    &blas,
    NULL,
};

const struct hps_gemm_lib *hps_gemm_lib(void)
{
    const struct hps_gemm_lib *const *lib = hps_gemm_libs;

    while (!(*lib)->usable())
        lib++;
    return *lib;
}
