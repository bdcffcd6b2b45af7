/* codec.c - the list of encodings, and those that need no kernel of their own. */
#include "hw/codec.h"

#include <stdint.h>
#include <string.h>

#include "hw/bf16.h"

static size_t fp32_bytes(size_t n)
{
    return n * sizeof(float);
}

const struct hps_codec_ops hps_codec_fp32 = { .name = "fp32", .bytes = fp32_bytes };

static size_t bf16_bytes(size_t n)
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

const struct hps_codec_ops hps_codec_bf16 = {
    .name = "bf16",
    .bytes = bf16_bytes,
    .encode = bf16_encode,
    .decode = bf16_decode,
    .share = 0x1p-8,
    .tiny = 0x1p-134,
};

static const struct hps_codec_ops *const all[] = { &hps_codec_fp32, &hps_codec_bf16,
                                                   &hps_codec_fp16 };

const struct hps_codec_ops *hps_codec_find(const char *name)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->name, name) == 0) return all[i];
    return NULL;
}
