/* codec_fp16.c - IEEE half precision. */
#include <stdint.h>

#include "base/multiversion.h"
#include "hw/codec.h"
#include "hw/numbers.h"

HPS_MULTIVERSION static void to_halves(size_t n, const float *restrict x, uint16_t *restrict to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = hps_fp16_nearest(x[i]);
}

HPS_MULTIVERSION static void from_halves(size_t n, const uint16_t *restrict from,
                                         float *restrict x)
{
    for (size_t i = 0; i < n; i++)
        x[i] = hps_fp16_to_float(from[i]);
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
