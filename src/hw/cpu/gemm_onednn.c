/* gemm_onednn.c - products by oneDNN. With AVX-512 it is ahead of OpenBLAS by a tenth, and at its
 * full rate on blocks of some hundred rows; with AVX2 it is not (perf/records/gemms.md). */
#include <dnnl.h>

#include "base/quit.h"
#include "hw/gemm.h"

static bool usable(void)
{
#if defined __x86_64__
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
    return false;
#endif
}

static void run(bool ta, bool tb, size_t m, size_t n, size_t k, const float *a, size_t lda,
                const float *b, size_t ldb, float beta, float *c, size_t ldc)
{
    dnnl_status_t s = dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', (dnnl_dim_t)m, (dnnl_dim_t)n,
                                 (dnnl_dim_t)k, 1, a, (dnnl_dim_t)lda, b, (dnnl_dim_t)ldb, beta, c,
                                 (dnnl_dim_t)ldc);
    if (s != dnnl_success)
        HPS_DIE("oneDNN: a product of %zu x %zu x %zu ends with status %d", m, n, k, (int)s);
}

extern const struct hps_gemm_lib hps_gemm_onednn;
const struct hps_gemm_lib hps_gemm_onednn = {
    .name = "oneDNN",
    .usable = usable,
    .run = run,
    .near_floats = 65536,
    .plain = true,
};
