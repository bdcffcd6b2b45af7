/* fuzz_dataset: any shape, any attribute, any content and any length of a file: it opens and all
 * its rows can be read, or it is refused. The file is made by the HDF5 library itself from the
 * bytes (lengths, types, chunks, names, values), so that what is tried is our reading of it; the
 * library's own reading of a hostile structure is its own business. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/h5.h"
#include "base/mem.h"
#include "base/quit.h"
#include "fuzz_import.h"

struct bytes {
    const uint8_t *at, *end;
};

static int next(struct bytes *b)
{
    return b->at < b->end ? *b->at++ : 0;
}

/* Mostly what belongs there, sometimes another. */
static long long number(struct bytes *b, long long usual)
{
    int c = next(b);

    return c < 224 ? usual : c - 224;
}

static void put_set(struct hps_h5 *h, struct bytes *b, const char *name, bool real, long long rows,
                    int width)
{
    static const hid_t *const types[] = { &H5T_NATIVE_INT_g, &H5T_NATIVE_DOUBLE_g,
                                          &H5T_NATIVE_LLONG_g, &H5T_NATIVE_FLOAT_g };
    int odd = next(b), c;
    hid_t type = odd >= 240 ? *types[odd % 4] : real ? H5T_NATIVE_FLOAT : H5T_NATIVE_LLONG;
    long long chunk = number(b, 0), count, *id;
    float *x;

    rows = number(b, rows);
    if (odd == 239 || hps_h5_make(h, name, type, rows, (int)number(b, width), chunk))
        return;
    count = rows * (width ? width : 1);
    id = hps_mem_new((size_t)count, sizeof *id);
    x = hps_mem_new((size_t)count, sizeof *x);
    for (long long i = 0; i < count; i++) {
        c = next(b);
        x[i] = c == 255 ? 1e38f * 10 : (float)c;
        id[i] = c < 250 ? (i < 3 ? i : 3) + (c & 1)
                        : (long long)((uint64_t)(c - 252) << c % 60);
    }
    hps_h5_put(h, name, real ? H5T_NATIVE_FLOAT : H5T_NATIVE_LLONG, 0, rows, width,
               real ? (void *)x : (void *)id);
    hps_mem_free(x);
    hps_mem_free(id);
}

static void put_text(struct hps_h5 *h, struct bytes *b, const char *name, const char *usual)
{
    char text[32];
    int n = next(b);

    if (n == 255)
        return;
    if (n < 224) {
        hps_h5_put_text(h, "/", name, usual);
        return;
    }
    for (int i = 0; i < n - 224; i++)
        text[i] = (char)next(b);
    text[n - 224] = 0;
    hps_h5_put_text(h, "/", name, text);
}

static void make(struct hps_h5 *h, struct bytes *b)
{
    long long rows = 1 + next(b) % 40;

    put_text(h, b, "format", "heterps-dataset-1");
    put_text(h, b, "slots", "a,m");
    put_text(h, b, "dense", "x,y");
    put_set(h, b, "label", true, rows, 0);
    put_set(h, b, "dense", true, rows, 2);
    put_set(h, b, "slots/a/ids", false, rows, 0);
    put_set(h, b, "slots/m/ids", false, 3, 0);
    put_set(h, b, "slots/m/offsets", false, rows + 1, 0);
    if (next(b) < 250)
        hps_h5_put_long(h, "slots/a", "buckets", number(b, 256));
    if (next(b) < 250)
        hps_h5_put_long(h, "slots/m", "buckets", number(b, 5));
    if (next(b) > 250)
        hps_h5_put_long(h, "/", "examples", number(b, rows));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes b = { data, data + size };
    char path[128];
    struct hps_h5 h;

    strcpy(path, fuzz_file("set.h5", NULL, 0));
    if (hps_h5_create(&h, path, MPI_COMM_NULL))
        HPS_DIE("no scratch file");
    make(&h, &b);
    if (hps_h5_close(&h))
        HPS_DIE("%s cannot be written", path);
    if (next(&b) > 200 && truncate(path, next(&b) * 64) != 0)
        HPS_DIE("%s cannot be cut", path);
    fuzz_read(path, true);
    if (hps_mem_held_bytes() > 0)
        HPS_DIE("%zu bytes are held", hps_mem_held_bytes());
    return 0;
}
