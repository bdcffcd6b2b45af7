/* row_format.h - how the rows of a table are kept: weights, then their states, each in an encoding
 * of its own. What is computed with is fp32. A row that is updated is rounded by chance
 * (hw/numbers.h): small updates then count as often as they should, where rounding to the nearest
 * would lose them. The chance is addressed by the row's key and the number in the row, so that bits
 * repeat.
 *
 * int8 rows have a scale, a power of two: a weight is the scale times a whole number up to 127. So
 * what a row decodes to is encoded as itself again, whatever the encoding. */
#ifndef HPS_HW_ROW_FORMAT_H
#define HPS_HW_ROW_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hw/bf16_row.h"

enum hps_number { HPS_AS_FP32, HPS_AS_BF16, HPS_AS_FP16, HPS_AS_INT8 };
#define HPS_NUMBER_WEIGHTS "fp32|bf16|fp16|int8"    /* the words for a deck, in that order */
#define HPS_NUMBER_STATES "fp32|bf16"

/* The one of a word of these; fp32 for another. Pure. */
enum hps_number hps_number_find(const char *word);

struct hps_row_format {
    enum hps_number weights, states;
    size_t dim, nstate;         /* weights of a row, and states: of its weights, and its own     */
    size_t state_at, bytes;     /* where states begin; from row to row. Multiples of 4           */
};

/* Pure. */
struct hps_row_format hps_row_format_of(enum hps_number weights, enum hps_number states, size_t dim,
                                        size_t nstate);

/* Are rows kept as they are computed with? Pure. */
static inline bool hps_row_format_is_plain(const struct hps_row_format *f)
{
    return f->weights == HPS_AS_FP32 && f->states == HPS_AS_FP32;
}

/* Whole rows, x (n, dim + nstate), from n encoded ones; and back: rounded by chance with the key of
 * each row, or, where key is NULL, to the nearest. Local; thread-safe. */
void hps_row_decode(const struct hps_row_format *format, size_t n, const void *rows, float *x);
void hps_row_encode(const struct hps_row_format *format, size_t n, const float *x,
                    const uint32_t *key, void *rows);

/* ---- parts of a row, for loops; `kind` is best a constant ---- */

/* Number i of a row's weights or states, which begin at `from`. */
HPS_BOTH_INLINE float hps_row_number(enum hps_number kind, const unsigned char *from, size_t i)
{
    const float *x = (const float *)(const void *)from;
    const uint16_t *half = (const uint16_t *)(const void *)from;

    switch (kind) {
    case HPS_AS_BF16: return hps_bf16_to_float(half[i]);
    case HPS_AS_FP16: return hps_fp16_to_float(half[i]);
    case HPS_AS_INT8: return *x * (float)((const int8_t *)(x + 1))[i];
    case HPS_AS_FP32: break;
    }
    return x[i];
}

/* `kind` is a constant. */
HPS_BOTH_INLINE void hps_row_load_as(enum hps_number kind, const unsigned char *restrict from,
                                     size_t n, float *restrict to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = hps_row_number(kind, from, i);
}

/* The first n of them. */
HPS_BOTH_INLINE void hps_row_load(enum hps_number kind, const unsigned char *from, size_t n,
                                  float *to)
{
    switch (kind) {
    case HPS_AS_BF16: hps_bf16_row_load((const uint16_t *)(const void *)from, n, to); break;
    case HPS_AS_FP16: hps_row_load_as(HPS_AS_FP16, from, n, to); break;
    case HPS_AS_INT8: hps_row_load_as(HPS_AS_INT8, from, n, to); break;
    case HPS_AS_FP32: hps_row_load_as(HPS_AS_FP32, from, n, to); break;
    }
}

/* The scale of the largest weight, by the bits of the magnitude; NaN where that is not finite. */
HPS_BOTH_INLINE float hps_row_scale(uint32_t max_bits)
{
    const uint32_t nan = 0x7fc00000;
    uint32_t scale = (hps_bits_of(hps_float_of(max_bits) / 127) + 0x7fffff) & HPS_FP32_INF;

    return hps_float_of(max_bits >= HPS_FP32_INF ? nan : scale);
}

/* By chance, or where `nearest` is set by adding a half. */
HPS_BOTH_INLINE void hps_row_store_int8(const float *restrict x, size_t n, uint32_t key,
                                        bool nearest, unsigned char *restrict to)
{
    float *scale = (float *)(void *)to;
    int8_t *q = (int8_t *)(scale + 1);
    uint32_t max = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t bits = hps_bits_of(x[i]) & HPS_FP32_SIGN_LESS;
        max = bits > max ? bits : max;
    }
    *scale = hps_row_scale(max);
    bool finite = max < HPS_FP32_INF;
    float per = finite && *scale > 0 ? 1 / *scale : 0;
    for (size_t i = 0; i < n; i++) {
        float up = nearest ? 0.5f : (float)(int)hps_row_chance(key, (uint32_t)i) * 0x1p-16f;
        float y = (finite ? x[i] : 0) * per + up;
        int whole = (int)y;
        whole -= (float)whole > y;      /* rounded down */
        q[i] = (int8_t)(finite ? whole : 1);
    }
}

/* n numbers of a row, `first` and following, rounded by chance, to the place where they begin. */
HPS_BOTH_INLINE void hps_row_store(enum hps_number kind, const float *restrict x, size_t n,
                                   uint32_t key, uint32_t first, unsigned char *restrict to)
{
    uint16_t *half = (uint16_t *)(void *)to;

    switch (kind) {
    case HPS_AS_BF16: hps_bf16_row_store(x, n, key, first, half); break;
    case HPS_AS_FP16:
        for (size_t i = 0; i < n; i++)
            half[i] = hps_fp16_by_chance(x[i], hps_row_chance(key, first + (uint32_t)i));
        break;
    case HPS_AS_INT8: hps_row_store_int8(x, n, key, false, to); break;
    case HPS_AS_FP32:
        for (size_t i = 0; i < n; i++)
            ((float *)(void *)to)[i] = x[i];
        break;
    }
}

#endif
