/* gemm.h - the one matrix product of the CPU backend, by the library that is the quickest on this
 * processor. Local; thread-safe: each thread of a rank multiplies its own part. */
#ifndef HPS_HW_GEMM_H
#define HPS_HW_GEMM_H

#include <stdbool.h>
#include <stddef.h>

/* c (m, n) = a (m, k) b (k, n) + beta c, row-major; `ta`, `tb`: a, b are stored transposed. The
 * leading dimensions are floats. beta is 0 (c may hold anything) or 1. */
typedef void hps_gemm_run(bool ta, bool tb, size_t m, size_t n, size_t k, const float *a,
                          size_t lda, const float *b, size_t ldb, float beta, float *c,
                          size_t ldc);

struct hps_gemm_lib {
    const char *name;
    bool (*usable)(void);       /* on this processor */
    hps_gemm_run *run;
    size_t near_floats;         /* rows x width from which on it is at its full rate: what comes
                                   before and after such a block finds it in the near cache */
    bool plain;                 /* b stored transposed slows it by a tenth */
};

/* All that this build has, the preferred ones first, ended by NULL. The last one, the BLAS, is
 * usable everywhere. */
extern const struct hps_gemm_lib *const hps_gemm_libs[];

/* The first usable one: decided by the processor's model, never by a clock, so that equal layouts
 * give equal bits. */
const struct hps_gemm_lib *hps_gemm_lib(void);

#endif
