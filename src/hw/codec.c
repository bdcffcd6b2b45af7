/* codec.c - the encodings, and the list of them. */
#include "hw/codec.h"

#include <stdint.h>
#include <string.h>

#include "base/multiversion.h"
#include "hw/bf16.h"
#include "hw/numbers.h"

static size_t fp32_bytes(size_t n)
{
    return n * sizeof(float);
}

const struct hps_codec_ops hps_codec_fp32 = { .name = "fp32", .bytes = fp32_bytes };

static size_t half_bytes(size_t n)
{
    return n * sizeof(uint16_t);
}

static void bf16_encode(size_t rows, size_t n, const float *x, void *to)
{
    hps_bf16_round(1, rows * n, x, rows * n, to, rows * n);
}

static void bf16_decode(size_t rows, size_t n, const void *from, float *x)
{
    hps_bf16_widen(rows * n, from, x);
}

const struct hps_codec_ops hps_codec_bf16 = { .name = "bf16", .bytes = half_bytes,
                                              .encode = bf16_encode, .decode = bf16_decode,
                                              .share = 0x1p-8, .tiny = 0x1p-134 };

HPS_MULTIVERSION static void to_fp16(size_t n, const float *restrict x, uint16_t *restrict to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = hps_fp16_nearest(x[i]);
}

HPS_MULTIVERSION static void from_fp16(size_t n, const uint16_t *restrict from, float *restrict x)
{
    for (size_t i = 0; i < n; i++)
        x[i] = hps_fp16_to_float(from[i]);
}

static void fp16_encode(size_t rows, size_t n, const float *x, void *to)
{
    to_fp16(rows * n, x, to);
}

static void fp16_decode(size_t rows, size_t n, const void *from, float *x)
{
    from_fp16(rows * n, from, x);
}

const struct hps_codec_ops hps_codec_fp16 = { .name = "fp16", .bytes = half_bytes,
                                              .encode = fp16_encode, .decode = fp16_decode,
                                              .share = 0x1p-11, .tiny = 0x1p-25 };

static const struct hps_codec_ops *const all[] = { &hps_codec_fp32, &hps_codec_bf16,
                                                   &hps_codec_fp16 };

const struct hps_codec_ops *hps_codec_find(const char *name)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->name, name) == 0) return all[i];
    return NULL;
}
