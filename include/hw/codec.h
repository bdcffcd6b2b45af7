/* codec.h - encodings in which numbers travel between ranks: a table of functions for each, and one
 * list of them. What is computed with is fp32. Another encoding is a table and a line of the list.
 * How rows are kept: hw/row_format.h.
 *
 *   fp32  as in memory
 *   bf16  8 digits, the exponents of fp32: a number changes by 2^-8 of it at most, near 0 by 2^-134
 *   fp16  11 digits, IEEE half: by 2^-11 of it, below 2^-14 by 2^-25. What is above 65504, the
 *         largest, becomes that, so that no number becomes infinite which was not
 *
 * Infinity and NaN stay what they are in each, so that a loss that is not finite is seen; as bf16
 * what is above 3.39e38 becomes infinite. */
#ifndef HPS_HW_CODEC_H
#define HPS_HW_CODEC_H

#include <stdbool.h>
#include <stddef.h>

struct hps_codec_ops {
    const char *name;
    size_t (*bytes)(size_t n);  /* of a row of n numbers, encoded. Pure. */
    /* to (rows, bytes(n)) = x (rows, n), each number rounded to the nearest, ties to even; and
     * back. NULL: numbers travel and stay where they are. What overlaps is wrong. Thread-safe. */
    void (*encode)(size_t rows, size_t n, const float *x, void *to);
    void (*decode)(size_t rows, size_t n, const void *from, float *x);
    /* A number changes by that share of it at most, or by `tiny`, whichever is more. */
    double share, tiny;
};
extern const struct hps_codec_ops hps_codec_fp32, hps_codec_bf16, hps_codec_fp16;

/* The encoding of that name; NULL: there is none. Pure. */
const struct hps_codec_ops *hps_codec_find(const char *name);
/* Are numbers to be encoded? Pure. */
static inline bool hps_codec_converts(const struct hps_codec_ops *codec)
{
    return codec->encode != NULL;
}

#endif
