/* gemm.c - the choice of the library for matrix products, and the BLAS, which is always there. */
#include <cblas.h>

#include "config.h"
#include "hw/gemm.h"

static bool anywhere(void)
{
    return true;
}

static void by_blas(const struct hps_gemm *g)
{
    cblas_sgemm(CblasRowMajor, g->ta ? CblasTrans : CblasNoTrans, g->tb ? CblasTrans : CblasNoTrans,
                (int)g->m, (int)g->n, (int)g->k, 1, g->a, (int)g->lda, g->b, (int)g->ldb, g->beta,
                g->c, (int)g->ldc);
}

static const struct hps_gemm_lib blas = {
    .name = HAVE_OPENBLAS ? "OpenBLAS" : "BLAS",
    .usable = anywhere,
    .run = by_blas,
    .cache_floats = 262144,
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
