/* codec.c - the list of encodings. */
#include "hw/codec.h"

#include <string.h>

static size_t fp32_bytes(size_t n)
{
    return n * sizeof(float);
}

const struct hps_codec_ops hps_codec_fp32 = { .name = "fp32", .bytes = fp32_bytes };

static const struct hps_codec_ops *const all[] = { &hps_codec_fp32 };

const struct hps_codec_ops *hps_codec_find(const char *name)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->name, name) == 0) return all[i];
    return NULL;
}
