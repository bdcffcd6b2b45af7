/* m_h5: rows written by n ranks are the same rows read by 1, by n - 1 and by n, in blocks in turn
 * too; a growing dataset grows for all; a failure on one rank is heard by all. */
#include <stdio.h>

#include "base/h5.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/world.h"

enum { N = 10007, W = 3, BLOCK = 64 };

static void must(enum hps_status s, const char *what)
{
    if (s)
        HPS_DIE("%s: status %d", what, (int)s);
}

static float value(long long row, int w)
{
    return (float)(row * W + w);
}

static long long share(int n, int p)
{
    return (long long)N * p / n;
}

static void write_all(MPI_Comm world, int rank, int n)
{
    struct hps_h5 h;
    float *x = hps_mem_new(N * W, sizeof *x);
    long long first = share(n, rank), rows = share(n, rank + 1) - first;

    must(hps_h5_create(&h, "m.h5", world), "create");
    must(hps_h5_make(&h, "plain", H5T_NATIVE_FLOAT, N, W, 0), "make");
    must(hps_h5_make(&h, "grown", H5T_NATIVE_FLOAT, 0, W, 1000), "make");
    for (long long i = 0; i < rows * W; i++)
        x[i] = value(first, 0) + (float)i;
    must(hps_h5_put(&h, "plain", H5T_NATIVE_FLOAT, first, rows, W, x), "put");
    must(hps_h5_put(&h, "grown", H5T_NATIVE_FLOAT, first, rows, W, x), "put growing");
    must(hps_h5_put(&h, "plain", H5T_NATIVE_FLOAT, 0, rank == 0 ? 1 : 0, W, x), "put by one");
    must(hps_h5_put_long(&h, "/", "ranks", n), "attribute");
    must(hps_h5_close(&h), "close");
    hps_mem_free(x);
}

static void check_rows(struct hps_h5 *h, const char *name, long long first, long long rows)
{
    float *x = hps_mem_new((size_t)rows * W, sizeof *x);

    must(hps_h5_get(h, name, H5T_NATIVE_FLOAT, first, rows, W, x), "get");
    for (long long i = 0; i < rows * W; i++)
        if (x[i] != value(first, 0) + (float)i)
            HPS_DIE("%s: element %lld is wrong", name, first * W + i);
    hps_mem_free(x);
}

static void check_cyclic(struct hps_h5 *h, int part, int parts)
{
    float *x = hps_mem_new(N * W, sizeof *x);
    struct hps_h5_cyclic rows = { N, W, BLOCK, part, parts, 0, N };
    long long k = 0;

    must(hps_h5_get_cyclic(h, "plain", H5T_NATIVE_FLOAT, &rows, x), "get");
    for (long long row = 0; row < N; row++)
        for (int w = 0; w < W && row / BLOCK % parts == part; w++)
            if (x[k++] != value(row, w))
                HPS_DIE("cyclic row %lld is wrong for part %d of %d", row, part, parts);
    hps_mem_free(x);
}

/* Readers 0..parts-1 of the n ranks. */
static void read_all(int rank, int parts)
{
    struct hps_h5 h;
    long long first = share(parts, rank);

    if (rank >= parts)
        return;
    must(hps_h5_open(&h, "m.h5"), "open");
    check_rows(&h, "plain", first, share(parts, rank + 1) - first);
    check_rows(&h, "grown", first, share(parts, rank + 1) - first);
    check_cyclic(&h, rank, parts);
    must(hps_h5_close(&h), "close");
}

/* The last rank asks for rows that are not there. */
static void fail_on_one(MPI_Comm world, int rank, int n)
{
    struct hps_h5 h;
    float row[W] = { 0 };
    enum hps_status s;

    must(hps_h5_create(&h, "f.h5", world), "create");
    must(hps_h5_make(&h, "x", H5T_NATIVE_FLOAT, 10, W, 0), "make");
    s = hps_h5_get(&h, "x", H5T_NATIVE_FLOAT, rank == n - 1 ? 10 : 0, 1, W, row);
    if (s != HPS_DECK)
        HPS_DIE("rank %d did not hear of the failure: %d", rank, (int)s);
    must(hps_h5_close(&h), "close");
    if (hps_h5_create(&h, "no/such/folder.h5", world) != HPS_OUTPUT)
        HPS_DIE("a file in no folder was created");
}

int main(int argc, char **argv)
{
    MPI_Comm world = hps_begin(&argc, &argv, true);
    int rank = hps_rank(), n = hps_nrank();

    write_all(world, rank, n);
    HPS_MPI(MPI_Barrier(world));
    read_all(rank, 1);
    if (n > 1)
        read_all(rank, n - 1);
    read_all(rank, n);
    fail_on_one(world, rank, n);
    return hps_end(hps_mem_held_bytes() ? HPS_FAIL : HPS_OK);
}
