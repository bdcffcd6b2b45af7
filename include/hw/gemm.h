/* gemm.h - the matrix product of the CPU backend, by the library that is the fastest on this
 * processor. Local and thread-safe: each thread of a rank multiplies its own block. */
#ifndef HPS_HW_GEMM_H
#define HPS_HW_GEMM_H

#include <stdbool.h>
#include <stddef.h>

/* c (m, n) = a (m, k) b (k, n) + beta c, row-major. The leading dimensions are floats. */
struct hps_gemm {
    bool ta, tb;                /* a, b are stored transposed            */
    size_t m, n, k;
    const float *a;
    size_t lda;
    const float *b;
    size_t ldb;
    float beta;                 /* 0 (c may hold anything) or 1          */
    float *c;
    size_t ldc;
};

struct hps_gemm_lib {
    const char *name;
    bool (*usable)(void);       /* on this processor */
    void (*run)(const struct hps_gemm *g);
    size_t cache_floats;        /* rows x width of the smallest block that it multiplies at its
                                   full rate: what is done to such a block before and after the
                                   product finds it in the cache */
    bool plain;                 /* a transposed b costs it a tenth of its rate */
};

/* The libraries of this build, the preferred ones first, ended by NULL. The last one, the BLAS, is
 * usable everywhere. */
extern const struct hps_gemm_lib *const hps_gemm_libs[];

/* The first usable one: decided by the processor's model, never by a clock, so that equal layouts
 * give equal bits. */
const struct hps_gemm_lib *hps_gemm_lib(void);

#endif
