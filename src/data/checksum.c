/* checksum.c - the checksum of columns: a sum of mixed elements, so that parts can be added in
 * any order. */
#include "data/checksum.h"

#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/say.h"
#include "data/writer.h"

static const uint64_t step = 0x9e3779b97f4a7c15u;

static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return x ^ x >> 29;
}

uint64_t hps_checksum_key(const char *column)
{
    return hps_rng_key(0, column);
}

uint64_t hps_checksum_reals(uint64_t key, long long first, long long n, const float *x)
{
    uint64_t at = key + (uint64_t)first * step, sum = 0;

    for (long long i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        at += step;
        sum += mix(bits + at);
    }
    return sum;
}

uint64_t hps_checksum_longs(uint64_t key, long long first, long long n, const long long *x)
{
    uint64_t at = key + (uint64_t)first * step, sum = 0;

    for (long long i = 0; i < n; i++) {
        at += step;
        sum += mix((uint64_t)x[i] + at);
    }
    return sum;
}

/* A whole column, read in pieces. */
static enum hps_status sum_column(struct hps_h5 *h, const char *name, bool real, int width,
                                  long long nrow, uint64_t *sum)
{
    long long wide = width ? width : 1, piece = HPS_WRITER_ROWS / wide + 1;
    void *x = hps_mem_new((size_t)(piece * wide), sizeof(long long));
    uint64_t key = hps_checksum_key(name);
    enum hps_status s = HPS_OK;

    for (long long first = 0; first < nrow && !s; first += piece) {
        long long n = nrow - first < piece ? nrow - first : piece;
        s = hps_h5_get(h, name, real ? H5T_NATIVE_FLOAT : H5T_NATIVE_LLONG, first, n, width, x);
        if (!s)
            *sum += real ? hps_checksum_reals(key, first * wide, n * wide, x)
                         : hps_checksum_longs(key, first * wide, n * wide, x);
    }
    hps_mem_free(x);
    return s;
}

static enum hps_status sum_slot(struct hps_h5 *h, const struct hps_slot *slot, uint64_t *sum)
{
    char *name = hps_mem_print("slots/%s/ids", slot->name);
    enum hps_status s = sum_column(h, name, false, 0, slot->ids.nrow, sum);

    hps_mem_free(name);
    if (s || !slot->multi) return s;
    name = hps_mem_print("slots/%s/offsets", slot->name);
    s = sum_column(h, name, false, 0, slot->offsets.nrow, sum);
    hps_mem_free(name);
    return s;
}

static enum hps_status sum_all(struct hps_h5 *h, const struct hps_data *d, uint64_t *sum)
{
    enum hps_status s = sum_column(h, "label", true, 0, d->N, sum);

    if (!s && d->D) s = sum_column(h, "dense", true, d->D, d->N, sum);
    for (int j = 0; j < d->nslot && !s; j++)
        s = sum_slot(h, &d->slot[j], sum);
    return s;
}

enum hps_status hps_writer_verify(const struct hps_data *data, bool *has_checksum)
{
    struct hps_h5 h;
    char *text = NULL, *sum_text;
    uint64_t sum = 0;
    enum hps_status s = hps_h5_open(&h, data->path);

    *has_checksum = false;
    if (s) return s;
    *has_checksum = !hps_h5_get_text(&h, "/", "checksum", &text, true);
    if (*has_checksum) s = sum_all(&h, data, &sum);
    s = hps_h5_read(&h, s);
    sum_text = hps_mem_print("sum64:%016llx", (unsigned long long)sum);
    if (*has_checksum && !s && strcmp(text, sum_text) != 0) {
        HPS_SAY(HPS_ERROR, "%s: damaged: the checksum of its content is %s, it was written with %s",
                data->path, sum_text, text);
        s = HPS_DECK;
    }
    hps_mem_free(sum_text);
    hps_mem_free(text);
    return s;
}
