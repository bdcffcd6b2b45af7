/* bf16_row.h - numbers of a row as bf16 and back, sixteen at a time: what hps_bf16_to_float and
 * hps_bf16_by_chance (hw/numbers.h) do, as vectors of one width. A compiler that chooses for itself
 * takes several narrow ones for such loops, and what it stores in halves the next loop, which loads
 * it as one, waits for. */
#ifndef HPS_HW_BF16_ROW_H
#define HPS_HW_BF16_ROW_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/rng.h"
#include "hw/numbers.h"

enum { HPS_BF16_ROW = 16 };

typedef uint32_t hps_words16 __attribute__((vector_size(64)));
typedef uint16_t hps_halves16 __attribute__((vector_size(32)));

/* 16 random bits for number i of a row. */
HPS_BOTH_INLINE uint32_t hps_row_chance(uint32_t key, uint32_t i)
{
    return hps_rng_mix32(key + i * 0x9e3779b9u) >> 16;
}

HPS_BOTH_INLINE void hps_bf16_row_load16(const uint16_t *from, float *to)
{
    hps_halves16 half;

    memcpy(&half, from, sizeof half);
    hps_words16 all = __builtin_convertvector(half, hps_words16) << 16;
    memcpy(to, &all, sizeof all);
}

/* Numbers `first` and following of a row. */
HPS_BOTH_INLINE void hps_bf16_row_store16(const float *x, uint32_t key, uint32_t first,
                                          uint16_t *to)
{
    const hps_words16 count = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    hps_words16 chance = key + (first + count) * 0x9e3779b9u, all;

    memcpy(&all, x, sizeof all);
    HPS_RNG_MIX32(chance);
    chance >>= 16;
    hps_words16 bits = all & HPS_FP32_SIGN_LESS;
    all += chance & (hps_words16)(bits < (uint32_t)HPS_BF16_MAX << 16);
    all |= (hps_words16)(bits > (uint32_t)HPS_FP32_INF) & 0x400000u;
    hps_halves16 half = __builtin_convertvector(all >> 16, hps_halves16);
    memcpy(to, &half, sizeof half);
}

/* n numbers; those behind the last sixteen one by one. `from` and `to` do not overlap. */
HPS_BOTH_INLINE void hps_bf16_row_load(const uint16_t *restrict from, size_t n, float *restrict to)
{
    size_t i = 0;

    for (; i + HPS_BF16_ROW <= n; i += HPS_BF16_ROW)
        hps_bf16_row_load16(from + i, to + i);
    for (; i < n; i++)
        to[i] = hps_bf16_to_float(from[i]);
}

HPS_BOTH_INLINE void hps_bf16_row_store(const float *restrict x, size_t n, uint32_t key,
                                        uint32_t first, uint16_t *restrict to)
{
    size_t i = 0;

    for (; i + HPS_BF16_ROW <= n; i += HPS_BF16_ROW)
        hps_bf16_row_store16(x + i, key, first + (uint32_t)i, to + i);
    for (; i < n; i++)
        to[i] = hps_bf16_by_chance(x[i], hps_row_chance(key, first + (uint32_t)i));
}

#endif
