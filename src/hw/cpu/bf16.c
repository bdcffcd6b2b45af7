/* bf16.c - rounding to bf16, products emulated through fp32, and the choice of the library. */
#include "hw/bf16.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/multiversion.h"
#include "config.h"
#include "hw/cpu/bf16_impl.h"
#include "hw/gemm.h"
#include "hw/numbers.h"

float hps_bf16_rounded(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    bits = (uint32_t)hps_bf16_bits(bits) << 16;
    memcpy(&x, &bits, sizeof bits);
    return x;
}

HPS_MULTIVERSION static void round_rows(size_t rows, size_t n, const float *restrict x, size_t ldx,
                                        uint16_t *restrict to, size_t ldto)
{
    for (size_t r = 0; r < rows; r++, x += ldx, to += ldto)
        for (size_t c = 0; c < n; c++) {
            union { float x; uint32_t bits; } u = { .x = x[c] };
            to[c] = hps_bf16_bits(u.bits);
        }
}

void hps_bf16_round(size_t rows, size_t n, const float *x, size_t ldx, uint16_t *to, size_t ldto)
{
    round_rows(rows, n, x, ldx, to, ldto);
}

HPS_MULTIVERSION static void widen_bf16(size_t n, const uint16_t *restrict from, float *restrict x)
{
    for (size_t i = 0; i < n; i++)
        x[i] = hps_bf16_to_float(from[i]);
}

void hps_bf16_widen(size_t n, const uint16_t *from, float *x)
{
    widen_bf16(n, from, x);
}

/* ---- emulated: fp32 products of rounded numbers; packed operands are floats ---- */

static bool anywhere(void)
{
    return true;
}

static size_t floats_bytes(size_t k, size_t n)
{
    return k * n * sizeof(float);
}

static void pack_floats(size_t k, size_t n, bool transposed, const float *w, void *packed)
{
    float *to = packed;

    for (size_t r = 0; r < k; r++)
        for (size_t c = 0; c < n; c++)
            to[r * n + c] = hps_bf16_rounded(w[transposed ? c * k + r : r * n + c]);
}

/* Rows of bf16 as floats, contiguous; the caller frees them. */
static float *floats_of(size_t rows, size_t n, const uint16_t *x, size_t ldx)
{
    float *to = hps_mem_foreign(rows * n * sizeof *to);

    for (size_t r = 0; r < rows; r++)
        hps_bf16_widen(n, x + r * ldx, to + r * n);
    return to;
}

static void by_floats(const struct hps_bf16_product *p)
{
    size_t rows = p->ta ? p->k : p->m, columns = p->ta ? p->m : p->k;
    float *a = floats_of(rows, columns, p->a, p->lda);
    float *b = p->ldb > 0 ? floats_of(p->k, p->n, p->b, p->ldb) : NULL;

    hps_gemm_lib()->run(&(struct hps_gemm){ .ta = p->ta, .m = p->m, .n = p->n, .k = p->k, .a = a,
                                            .lda = columns, .b = b ? b : p->b, .ldb = p->n,
                                            .beta = p->beta, .c = p->c, .ldc = p->ldc });
    free(b);
    free(a);
}

const struct hps_bf16_lib hps_bf16_emulated = {
    .name = "fp32",
    .usable = anywhere,
    .cache_numbers = 65536,
    .round = hps_bf16_round,
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
