/* numbers.h - single numbers as bf16 and fp16, from fp32 and back, by the bits of fp32: without
 * branches, so that compilers turn loops into vectors. To the nearest, ties to even (of bf16:
 * hw/bf16.h); or by chance, up or down in proportion, so that the mean of many roundings is the
 * number itself. C and CUDA C.
 *
 * Infinity and NaN stay what they are. No finite number becomes infinite by chance, and none
 * becomes infinite as fp16. */
#ifndef HPS_HW_NUMBERS_H
#define HPS_HW_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/both.h"

enum {
    HPS_FP32_INF = 0x7f800000,
    HPS_FP32_SIGN_LESS = 0x7fffffff,
    HPS_BF16_MAX = 0x7f7f,              /* the largest finite number              */
    HPS_FP16_SHIFT = 13,                /* digits that half has less than fp32    */
    HPS_FP16_REBIAS = (127 - 15) << 23, /* between the exponents of the two       */
    HPS_FP16_NORMAL = (127 - 14) << 23, /* the bits of 2^-14, the least number of all digits */
    HPS_FP16_MAX = 0x477fe000           /* of 65504, the largest number of half   */
};

/* A union of the two would keep compilers from vectors. */
HPS_BOTH_INLINE uint32_t hps_bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

HPS_BOTH_INLINE float hps_float_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- bf16: the upper half of fp32 ---- */

HPS_BOTH_INLINE float hps_bf16_to_float(uint16_t b)
{
    return hps_float_of((uint32_t)b << 16);
}

/* `chance`: 16 random bits. What is as large as the largest number, or no number, is cut off: the
 * sign is then never carried into, and no number becomes infinite. */
HPS_BOTH_INLINE uint16_t hps_bf16_by_chance(float x, uint32_t chance)
{
    uint32_t all = hps_bits_of(x), bits = all & HPS_FP32_SIGN_LESS;
    uint32_t up = all + (bits < HPS_BF16_MAX << 16 ? chance & 0xffff : 0);

    return (uint16_t)(up >> 16 | (bits > HPS_FP32_INF ? 0x40u : 0));    /* NaN stays NaN */
}

/* ---- fp16: IEEE half ---- */

/* `half`, where the bits are of a finite number. */
HPS_BOTH_INLINE uint16_t hps_fp16_odd(uint32_t sign, uint32_t bits, uint32_t half)
{
    uint32_t odd = 0x7c00 | (uint32_t)(bits > HPS_FP32_INF) << 9;

    return (uint16_t)(sign | (bits >= HPS_FP32_INF ? odd : half));
}

HPS_BOTH_INLINE uint16_t hps_fp16_nearest(float x)
{
    /* 0.5: added to less than 2^-14, its last digit is worth 2^-24 as that of the least halves */
    const uint32_t half_bits = (127 - 1) << 23;
    uint32_t all = hps_bits_of(x), sign = all >> 16 & 0x8000, bits = all & HPS_FP32_SIGN_LESS;
    uint32_t most = bits < HPS_FP16_MAX ? bits : HPS_FP16_MAX;
    uint32_t normal = (most - HPS_FP16_REBIAS + 0xfff + (most >> HPS_FP16_SHIFT & 1)) >>
                      HPS_FP16_SHIFT;
    float low = hps_float_of(bits < HPS_FP16_NORMAL ? bits : 0) + 0.5f;
    uint32_t least = hps_bits_of(low) - half_bits;
    return hps_fp16_odd(sign, bits, bits < HPS_FP16_NORMAL ? least : normal);
}

/* `chance`: 16 random bits. */
HPS_BOTH_INLINE uint16_t hps_fp16_by_chance(float x, uint32_t chance)
{
    uint32_t all = hps_bits_of(x), sign = all >> 16 & 0x8000, bits = all & HPS_FP32_SIGN_LESS;
    uint32_t most = bits < HPS_FP16_MAX ? bits : HPS_FP16_MAX;
    uint32_t normal = (most - HPS_FP16_REBIAS + (chance >> 3 & 0x1fff)) >> HPS_FP16_SHIFT;
    float low = hps_float_of(bits < HPS_FP16_NORMAL ? bits : 0);
    /* the sum has room for 14 bits of chance: with more, whole numbers would be rounded up */
    uint32_t least = (uint32_t)(int)(low * 0x1p24f + (float)(int)(chance >> 2 & 0x3fff) * 0x1p-14f);
    return hps_fp16_odd(sign, bits, bits < HPS_FP16_NORMAL ? least : normal);
}

HPS_BOTH_INLINE float hps_fp16_to_float(uint16_t half)
{
    uint32_t bits = (uint32_t)(half & 0x7fff) << HPS_FP16_SHIFT;
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    bool is_low = bits < 1u << 23, is_inf = bits >= 0x7c00u << HPS_FP16_SHIFT;
    uint32_t normal = bits + (is_inf ? 2 * HPS_FP16_REBIAS : HPS_FP16_REBIAS);
    /* digits behind that of 2^-14 are left */
    float low = hps_float_of(bits + HPS_FP16_NORMAL) - 0x1p-14f;
    return hps_float_of((is_low ? hps_bits_of(low) : normal) | sign);
}

#endif
