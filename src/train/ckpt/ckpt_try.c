/* ckpt_try.c - writers of one file wait for each other in some file systems, and caches take a
 * little at once: so all ranks write, and not very little. Then rank 0 does what a checkpoint takes
 * whatever its size. */
#include "train/ckpt_try.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/direct_file.h"
#include "base/file.h"
#include "base/finite.h"
#include "base/h5.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/part_file.h"
#include "base/world.h"
#include "train/ckpt_state.h"

#define SHARE     (1.0 / 8)     /* of a checkpoint                        */
#define MIN_BYTES 8388608.0     /* of all ranks; no more than a checkpoint */
#define MAX_BYTES 67108864.0
#define MIN_RANK  4096.0        /* of a rank                              */

enum { PIECE = 4 << 20 };       /* of a write; ranks have pieces in turn  */

/* The lowest rank that failed says why, by errno. Collective. */
static enum hps_status agree(bool good, const char *folder, MPI_Comm world)
{
    int why = errno, me = good ? INT_MAX : hps_rank(), first;

    HPS_MPI(MPI_Allreduce(&me, &first, 1, MPI_INT, MPI_MIN, world));
    errno = why;
    if (!good && me == first) hps_ckpt_unwritable(folder);
    return first < INT_MAX ? HPS_OUTPUT : HPS_OK;
}

/* Rank 0 makes the folder and the file, all open it. Collective. */
static enum hps_status open_all(struct hps_direct_file *file, const char *folder, const char *path,
                                MPI_Comm world)
{
    enum hps_status st = HPS_OK;
    bool root = hps_rank() == 0;
    int fd = -1;

    if (root) st = hps_ckpt_make_folder(folder);
    st = hps_agree(world, st);
    if (st) return st;
    if (root) fd = hps_file_new(path, 0);
    st = agree(!root || fd >= 0, folder, world);
    if (st) return st;
    st = agree(hps_direct_open(file, path), folder, world);
    if (root) unlink(path);                     /* also if the run is killed now */
    if (root) close(fd);
    return st;
}

/* This rank's bytes, in pieces that take turns with those of the others. */
static bool write_mine(struct hps_direct_file *file, const char *x, size_t bytes)
{
    size_t piece = bytes < PIECE ? bytes : PIECE;
    bool good = true;

    for (size_t at = 0; good && at < bytes; at += piece) {
        size_t n = bytes - at < piece ? bytes - at : piece;
        uint64_t to = (uint64_t)at * (uint64_t)hps_nrank() + (uint64_t)piece * (uint64_t)hps_rank();
        good = hps_direct_put(file, x + at, n, to);
    }
    return good && hps_direct_sync(file);
}

/* Seconds until all ranks have written so many bytes each; negative: this rank failed, with errno.
 * Collective. */
static double write_s(struct hps_direct_file *file, size_t bytes, MPI_Comm world)
{
    size_t n = bytes / sizeof(float);
    float *x = hps_mem_new(n, sizeof *x);

    for (size_t i = 0; i < n; i++)
        x[i] = (float)i;
    HPS_MPI(MPI_Barrier(world));
    double t0 = hps_now_s();
    bool good = hps_first_not_finite(x, n) == n;
    volatile uint64_t sum = hps_ckpt_block_sum(0, x, n);
    (void)sum;
    good = good && write_mine(file, (const char *)x, n * sizeof *x);
    int why = errno;
    double mine = hps_now_s() - t0, most;
    HPS_MPI(MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, world));
    hps_mem_free(x);
    errno = why;
    return good ? most : -1;
}

/* HDF5 creates a file of so many datasets of a number. */
static enum hps_status make_datasets(const char *path, int n)
{
    struct hps_h5 h;
    enum hps_status st = hps_h5_create(&h, path, MPI_COMM_NULL);

    if (st) return st;
    for (int i = 0; !st && i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "/layers/%d/param", i);
        st = hps_h5_make(&h, name, H5T_NATIVE_FLOAT, 1, 1, 0);
    }
    if (!st) return hps_h5_leave(&h);
    hps_h5_drop(&h);
    return st;
}

/* HDF5 adds their checksums. */
static enum hps_status add_sums(const char *path, int n)
{
    struct hps_h5 h;
    enum hps_status st = hps_h5_change(&h, path);

    for (int i = 0; !st && i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "/layers/%d/param", i);
        st = hps_h5_put_long(&h, name, "checksum", i);
    }
    if (!st) return hps_h5_leave(&h);
    hps_h5_drop(&h);
    return st;
}

/* Seconds until a file of so many datasets and next to no bytes is on the disk and has its name.
 * Rank 0. */
static enum hps_status name_s(const char *folder, int ndataset, double *s)
{
    char *path = hps_mem_print("%s/.name", folder);
    struct hps_part_file file = hps_part_file(path);
    double t0 = hps_now_s();
    bool renamed = false;

    enum hps_status st = make_datasets(file.part, ndataset);
    if (!st) st = add_sums(file.part, ndataset);
    if (!st && !(hps_file_sync(file.part) && hps_part_file_commit(&file, &renamed)))
        st = hps_ckpt_unwritable(folder);
    *s = hps_now_s() - t0;
    if (renamed) unlink(path);
    hps_part_file_done(&file, true);
    hps_mem_free(path);
    return st;
}

enum hps_status hps_ckpt_try(const struct hps_ckpt_opt *opt, const struct hps_rundir *dir,
                             struct hps_ckpt_size size, double *save_s, MPI_Comm world)
{
    char *folder = hps_ckpt_folder(opt, dir), *path = hps_mem_print("%s/.rate", folder);
    double bytes = size.bytes, R = hps_nrank();
    double all = fmin(fmax(SHARE * bytes, MIN_BYTES), fmin(bytes, MAX_BYTES));
    double mine = fmax(all / R, MIN_RANK), took_s = 0, named_s = 0;
    struct hps_direct_file file = { .fd = -1 };

    enum hps_status st = open_all(&file, folder, path, world);
    if (!st) took_s = write_s(&file, (size_t)mine, world);
    if (!st) st = agree(took_s >= 0, folder, world);
    if (file.fd >= 0) hps_direct_close(&file);
    if (!st && hps_rank() == 0) st = name_s(folder, size.ndataset, &named_s);
    st = hps_agree(world, st);
    HPS_MPI(MPI_Bcast(&named_s, 1, MPI_DOUBLE, 0, world));
    *save_s = fmax(took_s, 0) * bytes / (mine * R) + named_s;
    hps_mem_free(path);
    hps_mem_free(folder);
    return st;
}
