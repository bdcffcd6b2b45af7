/* bf16.h - matrix products of the CPU backend whose operands are rounded to bf16 (8 bits of
 * exponent, 8 of mantissa) and whose sums are fp32: by the processor's own instructions, or
 * emulated by fp32 products of rounded numbers. All are Local and thread-safe: each thread
 * multiplies its own block.
 *
 * Rounding is to the nearest, ties to even. A product of two rounded numbers is exact in fp32, so
 * that native and emulated products differ only by the order of their sums and by denormals. */
#ifndef HPS_HW_BF16_H
#define HPS_HW_BF16_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* c (m, n) = a b + beta c, row-major; c is fp32, a and b are bf16. Leading dimensions count
 * numbers. */
struct hps_bf16_product {
    bool ta;                    /* a is stored as (k, m), else (m, k)       */
    size_t m, n, k;
    const uint16_t *a;
    size_t lda;
    const void *b;              /* (k, n) bf16, or as packed                */
    size_t ldb;                 /* 0: b is packed                           */
    float beta;                 /* 0 (c may hold anything) or 1             */
    float *c;
    size_t ldc;
};

struct hps_bf16_lib {
    const char *name;
    bool (*usable)(void);       /* on this processor                        */
    size_t cache_numbers;       /* rows x width of the smallest block that it multiplies at its
                                   full rate                                */
    /* to (rows, n) = x rounded; rows are ldx floats apart, and ldto numbers. */
    void (*round)(size_t rows, size_t n, const float *x, size_t ldx, uint16_t *to, size_t ldto);
    /* The bytes of a packed right-hand operand (k, n). */
    size_t (*packed_bytes)(size_t k, size_t n);
    /* packed = w (k, n), contiguous, rounded; transposed: w is stored as (n, k). */
    void (*pack)(size_t k, size_t n, bool transposed, const float *w, void *packed);
    void (*run)(const struct hps_bf16_product *p);
};

/* By the processor's bf16 instructions; NULL: it has none, or this build no library for them. */
const struct hps_bf16_lib *hps_bf16_native(void);
extern const struct hps_bf16_lib hps_bf16_emulated;

/* hps_bf16_lib.round on any processor. */
void hps_bf16_round(size_t rows, size_t n, const float *x, size_t ldx, uint16_t *to, size_t ldto);
/* x (n) = what was rounded, as fp32; thread-safe. */
void hps_bf16_widen(size_t n, const uint16_t *from, float *x);
/* x rounded to bf16, and back to fp32. Pure. */
float hps_bf16_rounded(float x);

#endif
