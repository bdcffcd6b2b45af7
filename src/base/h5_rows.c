/* h5_rows.c - datasets by rows: made, written and read by global index, on any number of ranks. */
#include "base/h5.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* `count` blocks of `block` rows, one every `stride`: the whole of what a transfer can say. */
struct pick {
    hsize_t start, stride, count, block;
};

/* MPI-IO counts bytes in an int: a parallel transfer goes in pieces of at most this. */
static const hsize_t piece_bytes = (hsize_t)256 << 20;

enum hps_status hps_h5_make(struct hps_h5 *h, const char *name, hid_t type, long long nrow,
                            int width, long long chunk)
{
    hsize_t dims[2] = { (hsize_t)nrow, (hsize_t)width };
    hsize_t most[2] = { chunk ? H5S_UNLIMITED : (hsize_t)nrow, (hsize_t)width };
    hsize_t chunks[2] = { (hsize_t)chunk, (hsize_t)width };
    int rank = width ? 2 : 1;
    hid_t stored = HPS_H5(H5Tcopy(type)), space = HPS_H5(H5Screate_simple(rank, dims, most));
    hid_t make = HPS_H5(H5Pcreate(H5P_DATASET_CREATE)), links = HPS_H5(H5Pcreate(H5P_LINK_CREATE));
    hid_t set;

    HPS_H5(H5Tset_order(stored, H5T_ORDER_LE));
    HPS_H5(H5Pset_fill_time(make, H5D_FILL_TIME_NEVER));
    HPS_H5(H5Pset_create_intermediate_group(links, 1));
    if (chunk)
        HPS_H5(H5Pset_chunk(make, rank, chunks));
    set = H5Dcreate2(h->file, name, stored, space, links, make, H5P_DEFAULT);
    enum hps_status s = hps_h5_verdict(h, set < 0 ? HPS_OUTPUT : HPS_OK, "%s cannot be made: %s",
                                       name, set < 0 ? hps_h5_why() : "");
    if (set >= 0)
        HPS_H5(H5Dclose(set));
    HPS_H5(H5Pclose(links));
    HPS_H5(H5Pclose(make));
    HPS_H5(H5Sclose(space));
    HPS_H5(H5Tclose(stored));
    return s;
}

/* Without a chunk cache: rows come in large blocks, a copy of them would only cost. */
static hid_t open_set(struct hps_h5 *h, const char *name)
{
    hid_t access = HPS_H5(H5Pcreate(H5P_DATASET_ACCESS)), set;

    HPS_H5(H5Pset_chunk_cache(access, 1, 0, 0));
    set = H5Dopen2(h->file, name, access);
    HPS_H5(H5Pclose(access));
    return set;
}

/* Rows and width; false when it is no table of rows. */
static bool shape_of(hid_t set, long long *nrow, int *width)
{
    hsize_t dims[2] = { 0, 0 };
    hid_t space = H5Dget_space(set);
    int rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    bool good = rank == 1 || rank == 2;

    if (good)
        good = H5Sget_simple_extent_dims(space, dims, NULL) == rank && (rank == 1 || dims[1] > 0);
    if (space >= 0)
        HPS_H5(H5Sclose(space));
    *nrow = (long long)dims[0];
    *width = (int)dims[1];
    return good && dims[0] < (hsize_t)1 << 62 && dims[1] < (hsize_t)1 << 30;
}

bool hps_h5_has(struct hps_h5 *h, const char *name)
{
    char part[1024];
    size_t n = strlen(name);

    if (n >= sizeof part)
        return false;
    for (size_t i = 1; i <= n; i++) {                   /* every group on the way must be there */
        if (i < n && name[i] != '/')
            continue;
        memcpy(part, name, i);
        part[i] = 0;
        if (H5Lexists(h->file, part, H5P_DEFAULT) <= 0)
            return false;
    }
    return n > 0 && H5Oexists_by_name(h->file, name, H5P_DEFAULT) > 0;
}

enum hps_status hps_h5_shape(struct hps_h5 *h, const char *name, long long *nrow, int *width)
{
    hid_t set = hps_h5_has(h, name) ? H5Dopen2(h->file, name, H5P_DEFAULT) : -1;
    bool good = set >= 0 && shape_of(set, nrow, width);

    if (set < 0)
        HPS_SAY_ALL(HPS_ERROR, "%s: there is no dataset %s", h->path, name);
    else if (!good)
        HPS_SAY_ALL(HPS_ERROR, "%s: dataset %s has no one or two dimensions", h->path, name);
    if (set >= 0)
        HPS_H5(H5Dclose(set));
    return good ? HPS_OK : HPS_DECK;
}

static void select_rows(hid_t space, const struct pick *p, hsize_t first, hsize_t count, int width)
{
    hsize_t start[2] = { p->start + first * p->stride, 0 }, stride[2] = { p->stride, 1 };
    hsize_t counts[2] = { count, 1 }, block[2] = { p->block, (hsize_t)width };

    if (count == 0)
        HPS_H5(H5Sselect_none(space));
    else
        HPS_H5(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, counts, block));
}

/* Blocks first..first+count-1 of a pick. */
static bool move_piece(hid_t set, hid_t type, int width, const struct pick *p, hsize_t first,
                       hsize_t count, hid_t how, void *data, bool write)
{
    size_t row = (size_t)(width ? width : 1) * (size_t)HPS_H5(H5Tget_size(type));
    hsize_t rows = count * p->block, dims[2] = { rows, (hsize_t)width };
    char *at = (char *)data + first * p->block * row;
    hid_t space = H5Dget_space(set), memory;
    bool good;

    if (space < 0)
        return false;
    memory = HPS_H5(H5Screate_simple(width ? 2 : 1, dims, NULL));
    select_rows(space, p, first, count, width);
    if (count == 0)
        HPS_H5(H5Sselect_none(memory));
    good = write ? H5Dwrite(set, type, memory, space, how, at) >= 0
                 : H5Dread(set, type, memory, space, how, at) >= 0;
    HPS_H5(H5Sclose(memory));
    HPS_H5(H5Sclose(space));
    return good;
}

/* All ranks go through the same number of pieces, so that every transfer is collective. */
static bool move(struct hps_h5 *h, hid_t set, hid_t type, int width, const struct pick *p,
                 void *data, bool write)
{
    hsize_t block_bytes = p->block * (hsize_t)(width ? width : 1) *
                          (hsize_t)HPS_H5(H5Tget_size(type));
    hsize_t per = p->count;
    long long mine = 1, pieces = 1;
    hid_t how = HPS_H5(H5Pcreate(H5P_DATASET_XFER));
    bool good = true;

    if (h->comm != MPI_COMM_NULL) {
        per = block_bytes && block_bytes < piece_bytes ? piece_bytes / block_bytes : 1;
        mine = (long long)((p->count + per - 1) / per);
        HPS_MPI(MPI_Allreduce(&mine, &pieces, 1, MPI_LONG_LONG, MPI_MAX, h->comm));
        HPS_H5(H5Pset_dxpl_mpio(how, H5FD_MPIO_COLLECTIVE));
    }
    for (long long i = 0; i < pieces; i++) {            /* on, even after a failure: all ranks */
        hsize_t first = (hsize_t)i * per < p->count ? (hsize_t)i * per : p->count;
        hsize_t count = p->count - first < per ? p->count - first : per;
        good = move_piece(set, type, width, p, first, count, how, data, write) && good;
    }
    HPS_H5(H5Pclose(how));
    return good;
}

/* An extendible dataset grows to the furthest row that any rank writes. */
static bool grow(struct hps_h5 *h, hid_t set, long long nrow, int width, long long end)
{
    hsize_t dims[2] = { 0, (hsize_t)width };
    long long furthest = end;

    if (h->comm != MPI_COMM_NULL)
        HPS_MPI(MPI_Allreduce(&end, &furthest, 1, MPI_LONG_LONG, MPI_MAX, h->comm));
    dims[0] = (hsize_t)furthest;
    return furthest <= nrow || H5Dset_extent(set, dims) >= 0;
}

/* One pick of rows, there or back. The status of a failure: OUTPUT for a write, DECK for a read. */
static enum hps_status transfer(struct hps_h5 *h, const char *name, hid_t type, int width,
                                const struct pick *p, void *data, bool write)
{
    long long nrow = 0, end = p->count ? (long long)(p->start + (p->count - 1) * p->stride +
                                                     p->block) : 0;
    int wide = 0;
    hid_t set = hps_h5_has(h, name) ? open_set(h, name) : -1;
    bool good = set >= 0 && shape_of(set, &nrow, &wide) && wide == width;
    char why[600] = "";

    if (!good)
        snprintf(why, sizeof why, "%s", set < 0 ? "there is none such" : "it has another width");
    if (good && !write && end > nrow) {
        good = false;
        snprintf(why, sizeof why, "it has %lld rows, %lld are wanted", nrow, end);
    } else if (good) {
        good = (!write || grow(h, set, nrow, width, end)) &&
               move(h, set, type, width, p, data, write);
        if (!good)
            snprintf(why, sizeof why, "%s", hps_h5_why());
    }
    if (set >= 0 && H5Dclose(set) < 0 && good) {        /* what was buffered is written here */
        good = false;
        snprintf(why, sizeof why, "%s", hps_h5_why());
    }
    return hps_h5_verdict(h, good ? HPS_OK : write ? HPS_OUTPUT : HPS_DECK,
                          "dataset %s cannot be %s: %s", name, write ? "written" : "read", why);
}

enum hps_status hps_h5_put(struct hps_h5 *h, const char *name, hid_t type, long long first,
                           long long n, int width, const void *from)
{
    struct pick rows = { (hsize_t)first, 1, (hsize_t)n, 1 };
    void *data;

    memcpy(&data, &from, sizeof data);                  /* one way in for both directions */
    return transfer(h, name, type, width, &rows, data, true);
}

enum hps_status hps_h5_get(struct hps_h5 *h, const char *name, hid_t type, long long first,
                           long long n, int width, void *to)
{
    struct pick rows = { (hsize_t)first, 1, (hsize_t)n, 1 };

    return transfer(h, name, type, width, &rows, to, false);
}

/* The whole blocks of a part in one pick, then the short last block of all, if it is this part's. */
static enum hps_status cyclic(struct hps_h5 *h, const char *name, hid_t type, long long nrow,
                              int width, int block, int part, int parts, void *data, bool write)
{
    long long whole = nrow / block, rest = nrow % block;
    long long mine = whole > part ? (whole - part - 1) / parts + 1 : 0;
    size_t row = (size_t)(width ? width : 1) * (size_t)HPS_H5(H5Tget_size(type));
    struct pick blocks = { (hsize_t)part * (hsize_t)block, (hsize_t)parts * (hsize_t)block,
                           (hsize_t)mine, (hsize_t)block };
    struct pick tail = { (hsize_t)(whole * block), 1,
                         whole % parts == part ? (hsize_t)rest : 0, 1 };
    enum hps_status s;

    assert(block > 0 && part >= 0 && part < parts);
    s = transfer(h, name, type, width, &blocks, data, write);
    if (!s && rest)
        s = transfer(h, name, type, width, &tail,
                     (char *)data + (size_t)mine * (size_t)block * row, write);
    return s;
}

enum hps_status hps_h5_put_cyclic(struct hps_h5 *h, const char *name, hid_t type, long long nrow,
                                  int width, int block, int part, int parts, const void *from)
{
    void *data;

    memcpy(&data, &from, sizeof data);
    return cyclic(h, name, type, nrow, width, block, part, parts, data, true);
}

enum hps_status hps_h5_get_cyclic(struct hps_h5 *h, const char *name, hid_t type, long long nrow,
                                  int width, int block, int part, int parts, void *to)
{
    return cyclic(h, name, type, nrow, width, block, part, parts, to, false);
}
