/* sample.c - a small dataset whose every value follows from its place. */
#include "sample.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/h5.h"
#include "base/mem.h"
#include "base/quit.h"
#include "base/rng.h"

static void must(enum hps_status s)
{
    if (s)
        HPS_DIE("the sample cannot be written");
}

float sample_label(long long example)
{
    return hps_rng_bits(1, (uint64_t)example) % 4 == 0;
}

float sample_dense(long long example, int d)
{
    return hps_rng_unit(100 + (uint64_t)d, (uint64_t)example) - 0.5f;
}

int sample_nid(const struct sample *s, int slot, long long example)
{
    if (slot < s->nsingle)
        return 1;
    return (int)(hps_rng_bits(200 + (uint64_t)slot, (uint64_t)example) % 5);
}

long long sample_id(const struct sample *s, int slot, long long example, int k)
{
    uint64_t key = hps_rng_sub(300 + (uint64_t)slot, (uint64_t)k);

    return (long long)(hps_rng_bits(key, (uint64_t)example) % (uint64_t)s->buckets);
}

static void put_slot(struct hps_h5 *h, const struct sample *s, int slot)
{
    bool multi = slot >= s->nsingle;
    char group[64], path[80];
    long long *offset = hps_mem_new((size_t)s->N + 1, sizeof *offset), *id;

    snprintf(group, sizeof group, "slots/%s%d", multi ? "m" : "s",
             multi ? slot - s->nsingle : slot);
    for (long long i = 0; i < s->N; i++)
        offset[i + 1] = offset[i] + sample_nid(s, slot, s->first + i);
    id = hps_mem_new((size_t)offset[s->N], sizeof *id);
    for (long long i = 0; i < s->N; i++)
        for (int k = 0; k < offset[i + 1] - offset[i]; k++)
            id[offset[i] + k] = sample_id(s, slot, s->first + i, k);
    snprintf(path, sizeof path, "%s/ids", group);
    must(hps_h5_make(h, path, H5T_NATIVE_LLONG, offset[s->N], 0, s->chunk));
    must(hps_h5_put(h, path, H5T_NATIVE_LLONG, 0, offset[s->N], 0, id));
    snprintf(path, sizeof path, "%s/offsets", group);
    if (multi) {
        must(hps_h5_make(h, path, H5T_NATIVE_LLONG, s->N + 1, 0, s->chunk));
        must(hps_h5_put(h, path, H5T_NATIVE_LLONG, 0, s->N + 1, 0, offset));
    }
    must(hps_h5_put_long(h, group, "buckets", s->buckets));
    hps_mem_free(id);
    hps_mem_free(offset);
}

static void put_columns(struct hps_h5 *h, const struct sample *s)
{
    float *x = hps_mem_new((size_t)s->N * (size_t)(s->D + 1), sizeof *x);

    for (long long i = 0; i < s->N; i++)
        x[i] = sample_label(s->first + i);
    must(hps_h5_make(h, "label", H5T_NATIVE_FLOAT, s->N, 0, s->chunk));
    must(hps_h5_put(h, "label", H5T_NATIVE_FLOAT, 0, s->N, 0, x));
    for (long long i = 0; i < s->N; i++)
        for (int d = 0; d < s->D; d++)
            x[i * s->D + d] = sample_dense(s->first + i, d);
    if (s->D) {
        must(hps_h5_make(h, "dense", H5T_NATIVE_FLOAT, s->N, s->D, s->chunk));
        must(hps_h5_put(h, "dense", H5T_NATIVE_FLOAT, 0, s->N, s->D, x));
    }
    hps_mem_free(x);
}

static void put_names(struct hps_h5 *h, const char *attribute, const char *kind, int n,
                      const char *more_kind, int more)
{
    char text[4096] = "";

    for (int i = 0; i < n + more; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s%d", i ? "," : "",
                 i < n ? kind : more_kind, i < n ? i : i - n);
    must(hps_h5_put_text(h, "/", attribute, text));
}

void sample_write(const char *path, const struct sample *s)
{
    struct hps_h5 h;

    must(hps_h5_create(&h, path, MPI_COMM_NULL));
    must(hps_h5_put_text(&h, "/", "format", "heterps-dataset-1"));
    put_names(&h, "slots", "s", s->nsingle, "m", s->nmulti);
    put_names(&h, "dense", "d", s->D, "", 0);
    put_columns(&h, s);
    for (int j = 0; j < s->nsingle + s->nmulti; j++)
        put_slot(&h, s, j);
    must(hps_h5_close(&h));
}

void sample_put_id(const char *path, const char *dataset, long long at, long long id)
{
    struct hps_h5 h;

    must(hps_h5_change(&h, path));
    must(hps_h5_put(&h, dataset, H5T_NATIVE_LLONG, at, 1, 0, &id));
    must(hps_h5_close(&h));
}

void sample_put_real(const char *path, const char *dataset, long long at, int width, float value)
{
    struct hps_h5 h;
    float row[64];

    must(hps_h5_change(&h, path));
    must(hps_h5_get(&h, dataset, H5T_NATIVE_FLOAT, at / (width ? width : 1), 1, width, row));
    row[width ? at % width : 0] = value;
    must(hps_h5_put(&h, dataset, H5T_NATIVE_FLOAT, at / (width ? width : 1), 1, width, row));
    must(hps_h5_close(&h));
}
