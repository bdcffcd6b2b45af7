/* h5_extent.c - where the bytes of a dataset lie in its file, for those who read without HDF5. */
#include "base/h5.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/say.h"

enum { MAX_CHUNKS = 1 << 14 };     /* looking one up takes time that grows with their number */

/* The one way of storing numbers of a class that can be read as bytes; -1: none. */
static hid_t plain_type(H5T_class_t class, int size)
{
    if (class == H5T_FLOAT) return size == 4 ? H5T_IEEE_F32LE : size == 8 ? H5T_IEEE_F64LE : -1;
    return size == 4 ? H5T_STD_I32LE : size == 8 ? H5T_STD_I64LE : -1;
}

/* Why the stored numbers are not what is wanted; NULL: they are. */
static const char *type_trouble(hid_t set, H5T_class_t class, int size)
{
    hid_t type = H5Dget_type(set);
    const char *why = NULL;

    if (type < 0) return "its type cannot be read";
    if (H5Tget_class(type) != class)
        why = class == H5T_FLOAT ? "it does not hold real numbers" : "it does not hold integers";
    else if (H5Tget_size(type) != (size_t)size)
        why = size == 4 ? "its numbers do not have 4 bytes" : "its numbers do not have 8 bytes";
    else if (H5Tget_order(type) != H5T_ORDER_LE)
        why = "its numbers are not little-endian";
    else if (class == H5T_INTEGER && H5Tget_sign(type) != H5T_SGN_2)
        why = "its numbers have no sign";
    else if (H5Tequal(type, plain_type(class, size)) <= 0)
        why = "the bits of its numbers have an unusual meaning (precision, offset, exponent bias)";
    HPS_H5(H5Tclose(type));
    return why;
}

static const char *chunk_trouble(hid_t make, struct hps_h5_extent *e, int rank)
{
    hsize_t chunks[2] = { 0, 1 };

    if (H5Pget_chunk(make, rank, chunks) != rank || chunks[0] == 0)
        return "its chunks cannot be read";
    if (chunks[1] != (hsize_t)e->width) return "its rows are cut into several chunks";
    e->chunk = (long long)chunks[0];
    if (e->nrow / e->chunk >= MAX_CHUNKS)
        return "it has too many chunks to be read: some 65,536 rows are good for one";
    return NULL;
}

/* Why the way it is stored does not allow plain reading; NULL: it does. Fills in e->chunk. What
 * hps_h5_survey refuses is not asked again. */
static const char *layout_trouble(hid_t make, struct hps_h5_extent *e, int rank, bool *chunked)
{
    *chunked = H5Pget_layout(make) == H5D_CHUNKED;
    e->chunk = e->nrow > 0 ? e->nrow : 1;
    if (*chunked) return chunk_trouble(make, e, rank);
    return H5Pget_layout(make) == H5D_CONTIGUOUS ? NULL
                                                 : "it is stored neither contiguous nor in chunks";
}

static bool chunk_offset(hid_t set, long long row, uint64_t *offset)
{
    hsize_t at[2] = { (hsize_t)row, 0 }, bytes;
    haddr_t address;
    unsigned skipped;

    if (H5Dget_chunk_info_by_coord(set, at, &skipped, &address, &bytes) < 0) return false;
    *offset = address == HADDR_UNDEF ? UINT64_MAX : address;
    return true;
}

static const char *find_offsets(hid_t set, bool chunked, struct hps_h5_extent *e)
{
    e->nchunk = (int)((e->nrow + e->chunk - 1) / e->chunk);
    e->offset = hps_mem_new((size_t)e->nchunk, sizeof *e->offset);
    for (int i = 0; i < e->nchunk && chunked; i++)
        if (!chunk_offset(set, i * e->chunk, &e->offset[i])) return "its chunks cannot be found";
    if (e->nchunk && !chunked) {
        haddr_t address = H5Dget_offset(set);
        e->offset[0] = address == HADDR_UNDEF ? UINT64_MAX : address;
    }
    return NULL;
}

/* The rows that there are must lie inside the file. */
static const char *end_trouble(const struct hps_h5_extent *e, uint64_t file_bytes)
{
    uint64_t row = (uint64_t)e->width * (uint64_t)e->size;

    for (int i = 0; i < e->nchunk; i++) {
        long long left = e->nrow - i * e->chunk;
        uint64_t rows = (uint64_t)(left < e->chunk ? left : e->chunk);
        if (e->offset[i] == UINT64_MAX) continue;
        if (e->offset[i] > file_bytes || (file_bytes - e->offset[i]) / row < rows)
            return "the file ends before its last row";
    }
    return NULL;
}

/* What was never written is read as 0: so must the file mean it. */
static const char *fill_trouble(hid_t make, H5T_class_t class, const struct hps_h5_extent *e)
{
    double real = 0;
    long long whole = 0;
    bool holes = false, good;
    H5D_fill_value_t how;

    for (int i = 0; i < e->nchunk && !holes; i++)
        holes = e->offset[i] == UINT64_MAX;
    if (!holes) return NULL;
    good = H5Pfill_value_defined(make, &how) >= 0;
    if (good && how == H5D_FILL_VALUE_USER_DEFINED)
        good = (class == H5T_FLOAT ? H5Pget_fill_value(make, H5T_NATIVE_DOUBLE, &real)
                                   : H5Pget_fill_value(make, H5T_NATIVE_LLONG, &whole)) >= 0;
    return good && real == 0 && whole == 0
               ? NULL
               : "it has rows that were never written, and their fill value is not 0: write them";
}

static uint64_t file_bytes(struct hps_h5 *h, bool *plain)
{
    hsize_t bytes = 0, before = 0;
    hid_t make = H5Fget_create_plist(h->file);

    *plain = make >= 0 && H5Pget_userblock(make, &before) >= 0 && before == 0 &&
             H5Fget_filesize(h->file, &bytes) >= 0;
    if (make >= 0) HPS_H5(H5Pclose(make));
    return bytes;
}

static const char *mismatch(struct hps_h5 *h, hid_t set, H5T_class_t class, int size,
                            struct hps_h5_extent *e)
{
    bool plain, chunked = false;
    uint64_t bytes = file_bytes(h, &plain);
    int rank = e->width ? 2 : 1;
    const char *why = plain ? type_trouble(set, class, size) : "the file has a user block";
    hid_t make = H5Dget_create_plist(set);

    e->size = size;
    if (e->width == 0) e->width = 1;
    if (make < 0) return "its layout cannot be read";
    if (!why) why = layout_trouble(make, e, rank, &chunked);
    if (!why) why = find_offsets(set, chunked, e);
    if (!why) why = fill_trouble(make, class, e);
    if (!why) why = end_trouble(e, bytes);
    HPS_H5(H5Pclose(make));
    return why;
}

enum hps_status hps_h5_offset(struct hps_h5 *h, const char *name, uint64_t *offset)
{
    hid_t set = H5Dopen2(h->file, name, H5P_DEFAULT);
    haddr_t address = set < 0 ? HADDR_UNDEF : H5Dget_offset(set);

    if (set >= 0) HPS_H5(H5Dclose(set));
    *offset = address;
    return hps_h5_verdict(h, address == HADDR_UNDEF ? HPS_OUTPUT : HPS_OK,
                          "dataset %s has no place in the file", name);
}

enum hps_status hps_h5_extent(struct hps_h5 *h, const char *name, H5T_class_t class, int size,
                              struct hps_h5_extent *extent)
{
    const char *why;
    hid_t set;
    enum hps_status s;

    *extent = (struct hps_h5_extent){ 0 };
    s = hps_h5_shape(h, name, &extent->nrow, &extent->width);
    if (s) return s;
    set = H5Dopen2(h->file, name, H5P_DEFAULT);
    why = set < 0 ? "it cannot be opened" : mismatch(h, set, class, size, extent);
    if (set >= 0) HPS_H5(H5Dclose(set));
    if (!why) return HPS_OK;
    hps_mem_free(extent->offset);
    *extent = (struct hps_h5_extent){ 0 };
    HPS_SAY_ALL(HPS_ERROR, "%s: dataset %s: %s", h->path, name, why);
    return HPS_DECK;
}
