/* gemm_onednn.c - matrix products by oneDNN. With AVX-512 it is faster than OpenBLAS by a tenth and
 * reaches its full rate on blocks of some hundred rows; with AVX2 it is slower
 * (perf/records/gemms.md). */
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

static void run(const struct hps_gemm *g)
{
    dnnl_status_t s = dnnl_sgemm(g->ta ? 'T' : 'N', g->tb ? 'T' : 'N', (dnnl_dim_t)g->m,
                                 (dnnl_dim_t)g->n, (dnnl_dim_t)g->k, 1, g->a, (dnnl_dim_t)g->lda,
                                 g->b, (dnnl_dim_t)g->ldb, g->beta, g->c, (dnnl_dim_t)g->ldc);
    if (s != dnnl_success)
        HPS_DIE("oneDNN: a product of %zu x %zu x %zu ends with status %d", g->m, g->n, g->k,
                (int)s);
}

extern const struct hps_gemm_lib hps_gemm_onednn;
const struct hps_gemm_lib hps_gemm_onednn = {
    .name = "oneDNN",
    .usable = usable,
    .run = run,
    .cache_floats = 65536,
    .plain = true,
};
