#include "hw/row_format.h"

#include <string.h>

#include "base/multiversion.h"
#include "hw/codec.h"

enum hps_number hps_number_find(const char *word)
{
    const char *at = HPS_NUMBER_WEIGHTS;

    for (int i = HPS_AS_FP32;; i++) {
        size_t n = strcspn(at, "|");
        if (strlen(word) == n && strncmp(word, at, n) == 0) return (enum hps_number)i;
        if (at[n] == '\0') return HPS_AS_FP32;
        at += n + 1;
    }
}

static size_t bytes_of(enum hps_number kind, size_t n)
{
    static const size_t each[] = { [HPS_AS_FP32] = 4, [HPS_AS_BF16] = 2,
                                   [HPS_AS_FP16] = 2, [HPS_AS_INT8] = 1 };
    size_t bytes = n * each[kind] + (kind == HPS_AS_INT8 ? sizeof(float) : 0), word = sizeof(float);

    return (bytes + word - 1) / word * word;
}

struct hps_row_format hps_row_format_of(enum hps_number weights, enum hps_number states, size_t dim,
                                        size_t nstate)
{
    size_t state_at = bytes_of(weights, dim);

    return (struct hps_row_format){ weights, states, dim, nstate, state_at,
                                    state_at + bytes_of(states, nstate) };
}

HPS_MULTIVERSION static void decode_rows(const struct hps_row_format *f, size_t n,
                                         const unsigned char *row, float *x)
{
    for (size_t i = 0; i < n; i++, row += f->bytes, x += f->dim + f->nstate) {
        hps_row_load(f->weights, row, f->dim, x);
        hps_row_load(f->states, row + f->state_at, f->nstate, x + f->dim);
    }
}

void hps_row_decode(const struct hps_row_format *f, size_t n, const void *rows, float *x)
{
    decode_rows(f, n, rows, x);
}

HPS_MULTIVERSION static void encode_rows(const struct hps_row_format *f, size_t n, const float *x,
                                         const uint32_t *key, unsigned char *row)
{
    for (size_t i = 0; i < n; i++, row += f->bytes, x += f->dim + f->nstate) {
        hps_row_store(f->weights, x, f->dim, key[i], 0, row);
        hps_row_store(f->states, x + f->dim, f->nstate, key[i], (uint32_t)f->dim,
                      row + f->state_at);
    }
}

static void store_nearest(enum hps_number kind, const float *x, size_t n, unsigned char *to)
{
    switch (kind) {
    case HPS_AS_BF16: hps_codec_bf16.encode(1, n, x, to); break;
    case HPS_AS_FP16: hps_codec_fp16.encode(1, n, x, to); break;
    case HPS_AS_INT8: hps_row_store_int8(x, n, 0, true, to); break;
    case HPS_AS_FP32: memcpy(to, x, n * sizeof *x); break;
    }
}

void hps_row_encode(const struct hps_row_format *f, size_t n, const float *x, const uint32_t *key,
                    void *rows)
{
    unsigned char *row = rows;

    if (key) encode_rows(f, n, x, key, row);
    for (size_t i = 0; !key && i < n; i++, row += f->bytes, x += f->dim + f->nstate) {
        store_nearest(f->weights, x, f->dim, row);
        store_nearest(f->states, x + f->dim, f->nstate, row + f->state_at);
    }
}
