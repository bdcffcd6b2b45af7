/* codec_fp16.c - IEEE half precision, by the bits of fp32: loops without branches, which compilers
 * turn into vectors on any processor. */
#include <stdint.h>

#include "base/multiversion.h"
#include "hw/codec.h"

union number {
    float x;
    uint32_t bits;
};

enum {
    SHIFT = 13,                         /* digits that half has less                          */
    REBIAS = (127 - 15) << 23,          /* between the exponents of the two                   */
    NORMAL = (127 - 14) << 23,          /* the bits of 2^-14, the least number of all digits  */
    MAX = 0x477fe000,                   /* of 65504, the largest number of half               */
    INF = 0x7f800000
};

/* 0.5: added to less than 2^-14, its last digit is worth 2^-24 as that of the least halves is. */
enum { ADDEND = (127 - 1) << 23 };

HPS_INLINE uint16_t half_of(float x)
{
    union number all = { .x = x }, low, addend = { .bits = ADDEND };
    uint32_t sign = all.bits >> 16 & 0x8000, bits = all.bits & 0x7fffffff;
    uint32_t most = bits < MAX ? bits : MAX;
    uint32_t normal = (most - REBIAS + 0xfff + (most >> SHIFT & 1)) >> SHIFT;

    low.bits = bits < NORMAL ? bits : 0;
    low.x += addend.x;
    uint32_t half = bits < NORMAL ? low.bits - ADDEND : normal;
    half = bits == INF ? 0x7c00 : half;
    return (uint16_t)(sign | (bits > INF ? 0x7e00 : half));
}

HPS_INLINE float float_of(uint16_t half)
{
    uint32_t bits = (uint32_t)(half & 0x7fff) << SHIFT, sign = (uint32_t)(half & 0x8000) << 16;
    bool is_low = bits < 1u << 23, is_inf = bits >= 0x7c00u << SHIFT;
    union number normal = { .bits = bits + (is_inf ? 2 * REBIAS : REBIAS) };
    union number low = { .bits = bits + NORMAL }, least = { .bits = NORMAL }, y;

    low.x -= least.x;                   /* digits behind that of 2^-14 are left */
    y.bits = (is_low ? low.bits : normal.bits) | sign;
    return y.x;
}

HPS_MULTIVERSION static void to_halves(size_t n, const float *restrict x, uint16_t *restrict to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = half_of(x[i]);
}

HPS_MULTIVERSION static void from_halves(size_t n, const uint16_t *restrict from,
                                         float *restrict x)
{
    for (size_t i = 0; i < n; i++)
        x[i] = float_of(from[i]);
}

static size_t fp16_bytes(size_t n)
{
    return n * sizeof(uint16_t);
}

static void fp16_encode(size_t rows, size_t n, const float *x, void *to)
{
    to_halves(rows * n, x, to);
}

static void fp16_decode(size_t rows, size_t n, const void *from, float *x)
{
    from_halves(rows * n, from, x);
}

const struct hps_codec_ops hps_codec_fp16 = {
    .name = "fp16",
    .bytes = fp16_bytes,
    .encode = fp16_encode,
    .decode = fp16_decode,
    .share = 0x1p-11,
    .tiny = 0x1p-25,
};
