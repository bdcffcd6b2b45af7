/* bf16.c - rounding to bf16, products emulated through fp32, and the choice of the library. */
#include "hw/bf16.h"

#include <stdint.h>
#include <string.h>

#include "base/multiversion.h"
#include "config.h"
#include "hw/cpu/bf16_impl.h"
#include "hw/gemm.h"

float hps_bf16_rounded(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    bits = (uint32_t)hps_bf16_bits(bits) << 16;
    memcpy(&x, &bits, sizeof bits);
    return x;
}

HPS_MULTIVERSION static void round_bits(size_t rows, size_t n, const float *x, size_t ldx,
                                        uint16_t *restrict y)
{
    for (size_t r = 0; r < rows; r++, x += ldx, y += n)
        for (size_t c = 0; c < n; c++) {
            union { float x; uint32_t bits; } u = { .x = x[c] };
            y[c] = hps_bf16_bits(u.bits);
        }
}

void hps_bf16_round(size_t rows, size_t n, const float *x, size_t ldx, void *to)
{
    round_bits(rows, n, x, ldx, to);
}

/* ---- emulated: a rounded number is a float with 16 bits of zeros ---- */

static bool anywhere(void)
{
    return true;
}

HPS_MULTIVERSION static void round_floats(size_t rows, size_t n, const float *x, size_t ldx,
                                          void *to)
{
    float *restrict y = to;

    for (size_t r = 0; r < rows; r++, x += ldx, y += n)
        for (size_t c = 0; c < n; c++) {
            union { float x; uint32_t bits; } u = { .x = x[c] };
            u.bits = (uint32_t)hps_bf16_bits(u.bits) << 16;
            y[c] = u.x;
        }
}

static size_t floats_bytes(size_t k, size_t n)
{
    return k * n * sizeof(float);
}

static void pack_floats(size_t k, size_t n, bool transposed, const float *w, void *packed)
{
    float *to = packed;

    if (!transposed) {
        round_floats(1, k * n, w, 0, packed);
        return;
    }
    for (size_t r = 0; r < k; r++)
        for (size_t c = 0; c < n; c++)
            to[r * n + c] = hps_bf16_rounded(w[c * k + r]);
}

static void by_floats(const struct hps_bf16_product *p)
{
    hps_gemm_lib()->run(&(struct hps_gemm){ .ta = p->ta, .m = p->m, .n = p->n, .k = p->k,
                                            .a = p->a, .lda = p->lda, .b = p->b,
                                            .ldb = p->ldb ? p->ldb : p->n, .beta = p->beta,
                                            .c = p->c, .ldc = p->ldc });
}

const struct hps_bf16_lib hps_bf16_emulated = {
    .name = "fp32",
    .usable = anywhere,
    .size = sizeof(float),
    .cache_numbers = 65536,
    .round = round_floats,
    .packed_bytes = floats_bytes,
    .pack = pack_floats,
    .run = by_floats,
};

static const struct hps_bf16_lib *const native[] = {
#if HAVE_DNNL
    &hps_bf16_onednn,
#endif
    NULL,
};

const struct hps_bf16_lib *hps_bf16_native(void)
{
    const struct hps_bf16_lib *const *lib = native;

    while (*lib && !(*lib)->usable())
        lib++;
    return *lib;
}
