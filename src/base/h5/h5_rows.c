/* h5_rows.c - datasets by rows: made, written and read by global index, on any number of ranks. */
#include "base/h5/h5_impl.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/say.h"

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
    else
        HPS_H5(H5Pset_alloc_time(make, H5D_ALLOC_TIME_EARLY));
    set = H5Dcreate2(h->file, name, stored, space, links, make, H5P_DEFAULT);
    enum hps_status s = hps_h5_verdict(h, set < 0 ? HPS_OUTPUT : HPS_OK, "%s cannot be made: %s",
                                       name, set < 0 ? hps_h5_why() : "");
    if (set >= 0) HPS_H5(H5Dclose(set));
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
    if (space >= 0) HPS_H5(H5Sclose(space));
    *nrow = (long long)dims[0];
    *width = (int)dims[1];
    return good && dims[0] < (hsize_t)1 << 62 && dims[1] < (hsize_t)1 << 30;
}

bool hps_h5_there(struct hps_h5 *h, htri_t answer)
{
    if (answer < 0 && !h->failed)
        HPS_SAY_ALL(HPS_ERROR, "%s: cannot be read: %s", h->path, hps_h5_why());
    h->failed = h->failed || answer < 0;
    return answer > 0;
}

bool hps_h5_has(struct hps_h5 *h, const char *name)
{
    char part[1024];
    size_t n = strlen(name);

    if (n >= sizeof part) return false;
    for (size_t i = 1; i <= n; i++) {                   /* every group on the way must be there */
        if (i < n && name[i] != '/') continue;
        memcpy(part, name, i);
        part[i] = 0;
        if (!hps_h5_there(h, H5Lexists(h->file, part, H5P_DEFAULT))) return false;
    }
    return n > 0 && hps_h5_there(h, H5Oexists_by_name(h->file, name, H5P_DEFAULT));
}

enum hps_status hps_h5_shape(struct hps_h5 *h, const char *name, long long *nrow, int *width)
{
    hid_t set = hps_h5_has(h, name) ? H5Dopen2(h->file, name, H5P_DEFAULT) : -1;
    bool good = set >= 0 && shape_of(set, nrow, width);

    if (set < 0)
        HPS_SAY_ALL(HPS_ERROR, "%s: there is no dataset %s", h->path, name);
    else if (!good)
        HPS_SAY_ALL(HPS_ERROR, "%s: dataset %s has no one or two dimensions", h->path, name);
    if (set >= 0) HPS_H5(H5Dclose(set));
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

/* What is moved, and how; `why` says what went wrong. */
struct job {
    hid_t set, type, how;
    int width;
    const struct pick *pick;
    char *data;
    bool write;
    char why[600];
};

static bool failed(struct job *j, const char *why)
{
    snprintf(j->why, sizeof j->why, "%s", why);
    return false;
}

/* Blocks first..first+count-1 of the pick. */
static bool move_piece(struct job *j, hsize_t first, hsize_t count)
{
    size_t row = (size_t)(j->width ? j->width : 1) * (size_t)HPS_H5(H5Tget_size(j->type));
    hsize_t rows = count * j->pick->block, dims[2] = { rows, (hsize_t)j->width };
    char *at = j->data ? j->data + first * j->pick->block * row : NULL;     /* NULL: no rows */
    hid_t space = H5Dget_space(j->set), memory;
    bool good;

    if (space < 0) return failed(j, hps_h5_why());
    memory = HPS_H5(H5Screate_simple(j->width ? 2 : 1, dims, NULL));
    select_rows(space, j->pick, first, count, j->width);
    if (count == 0) HPS_H5(H5Sselect_none(memory));
    good = j->write ? H5Dwrite(j->set, j->type, memory, space, j->how, at) >= 0
                    : H5Dread(j->set, j->type, memory, space, j->how, at) >= 0;
    if (!good) failed(j, hps_h5_why());
    HPS_H5(H5Sclose(memory));
    HPS_H5(H5Sclose(space));
    return good;
}

/* All ranks go through the same number of pieces, so that every transfer is collective. */
static bool move(struct hps_h5 *h, struct job *j)
{
    const struct pick *p = j->pick;
    hsize_t per = p->count, block_bytes = p->block * (hsize_t)(j->width ? j->width : 1) *
                                          (hsize_t)HPS_H5(H5Tget_size(j->type));
    long long mine = 1, pieces = 1;
    bool good = true;

    j->how = HPS_H5(H5Pcreate(H5P_DATASET_XFER));
    if (h->comm != MPI_COMM_NULL) {
        per = block_bytes && block_bytes < piece_bytes ? piece_bytes / block_bytes : 1;
        mine = (long long)((p->count + per - 1) / per);
        HPS_MPI(MPI_Allreduce(&mine, &pieces, 1, MPI_LONG_LONG, MPI_MAX, h->comm));
        HPS_H5(H5Pset_dxpl_mpio(j->how, H5FD_MPIO_COLLECTIVE));
    }
    for (long long i = 0; i < pieces; i++) {            /* on, even after a failure: all ranks */
        hsize_t first = (hsize_t)i * per < p->count ? (hsize_t)i * per : p->count;
        hsize_t count = p->count - first < per ? p->count - first : per;
        good = move_piece(j, first, count) && good;
    }
    HPS_H5(H5Pclose(j->how));
    return good;
}

/* An extendible dataset grows to the furthest row that any rank writes. */
static bool grow(struct hps_h5 *h, struct job *j, long long nrow, long long end)
{
    hsize_t dims[2] = { 0, (hsize_t)j->width };
    long long furthest = end;

    if (h->comm != MPI_COMM_NULL)
        HPS_MPI(MPI_Allreduce(&end, &furthest, 1, MPI_LONG_LONG, MPI_MAX, h->comm));
    dims[0] = (hsize_t)furthest;
    if (furthest <= nrow || H5Dset_extent(j->set, dims) >= 0) return true;
    return failed(j, hps_h5_why());
}

static bool misfit(struct job *j, long long nrow, int width)
{
    char has[64], wants[32];

    snprintf(has, sizeof has, width ? "(%lld, %d)" : "(%lld)", nrow, width);
    snprintf(wants, sizeof wants, j->width ? "(rows, %d)" : "(rows)", j->width);
    snprintf(j->why, sizeof j->why, "its shape is %s, %s is wanted", has, wants);
    return false;
}

/* Is the dataset there, and does it have the rows that are wanted? */
static bool fits(struct job *j, long long *nrow, long long end)
{
    int width = 0;

    if (j->set < 0) return failed(j, "there is none such");
    if (!shape_of(j->set, nrow, &width)) return failed(j, "it has no one or two dimensions");
    if (width != j->width) return misfit(j, *nrow, width);
    if (j->write || end <= *nrow) return true;
    snprintf(j->why, sizeof j->why, "it has %lld rows, %lld are wanted", *nrow, end);
    return false;
}

/* One pick of rows, there or back. The status of a failure: OUTPUT for a write, DECK for a read. */
static enum hps_status transfer(struct hps_h5 *h, const char *name, hid_t type, int width,
                                const struct pick *p, void *data, bool write)
{
    struct job j = { .type = type, .width = width, .pick = p, .data = data, .write = write };
    enum hps_status s, bad = write ? HPS_OUTPUT : HPS_DECK;
    long long nrow = 0, end = 0;
    bool good;

    if (p->count) end = (long long)(p->start + (p->count - 1) * p->stride + p->block);
    j.set = hps_h5_has(h, name) ? open_set(h, name) : -1;
    good = fits(&j, &nrow, end);
    s = hps_agree(h->comm, good ? HPS_OK : bad);        /* or some would wait for the others */
    if (!s) good = (!write || grow(h, &j, nrow, end)) && move(h, &j);
    if (j.set >= 0 && H5Dclose(j.set) < 0 && good)      /* what was buffered is written here */
        good = failed(&j, hps_h5_why());
    return hps_h5_verdict(h, good ? HPS_OK : bad, "dataset %s cannot be %s: %s", name,
                          write ? "written" : "read", j.why);
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

/* The whole blocks in one pick, then the short last block of all, if it is among them. */
enum hps_status hps_h5_get_cyclic(struct hps_h5 *h, const char *name, hid_t type,
                                  const struct hps_h5_cyclic *rows, void *to)
{
    int part = rows->part, parts = rows->parts, block = rows->block, width = rows->width;
    long long whole = rows->nrow / block, rest = rows->nrow % block;
    long long mine = whole > part ? (whole - part - 1) / parts + 1 : 0;
    long long first = rows->first < mine ? rows->first : mine, left = mine - first;
    long long n = rows->n < left ? rows->n : left, at = (part + first * parts) * block;
    bool last = whole % parts == part && rows->first <= mine && mine - rows->first < rows->n;
    size_t row = (size_t)(width ? width : 1) * (size_t)HPS_H5(H5Tget_size(type));
    struct pick blocks = { n > 0 ? (hsize_t)at : 0, (hsize_t)parts * (hsize_t)block, (hsize_t)n,
                           (hsize_t)block };
    struct pick tail = { (hsize_t)(whole * block), 1, last ? (hsize_t)rest : 0, 1 };
    enum hps_status s;

    assert(block > 0 && part >= 0 && part < parts);
    s = transfer(h, name, type, width, &blocks, to, false);
    if (!s && rest)
        s = transfer(h, name, type, width, &tail,
                     (char *)to + (size_t)n * (size_t)block * row, false);
    return s;
}
