/* reads.c - the reader alone: all columns of a dataset, batch after batch, as fast as it gives them.
 *   reads FILE BATCH shuffled|in_order cold|warm
 *       prints "MB SECONDS PROCESSOR SHARE" of one epoch: seconds on the wall and of the processor,
 *       and which share of the file was in memory before
 * cold: the file is put out of the page cache first. Built by `make perf/bin/reads`. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/quit.h"
#include "base/say.h"
#include "base/world.h"
#include "data/data.h"
#include "lab.h"

/* Put the file out of the page cache: what is not on the disk yet cannot leave. */
static void put_out(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fsync(fd) != 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
        HPS_DIE("%s cannot be put out of the page cache", path);
    close(fd);
}

/* The share of the file that is in memory. */
static double resident(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t page = (size_t)sysconf(_SC_PAGESIZE), there = 0;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size == 0)
        HPS_DIE("%s cannot be read", path);
    size_t bytes = (size_t)st.st_size, n = (bytes + page - 1) / page;
    unsigned char *in = hps_mem_new(n, 1);
    void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED || mincore(map, bytes, in) != 0)
        HPS_DIE("%s cannot be mapped", path);
    for (size_t i = 0; i < n; i++)
        there += in[i] & 1;
    munmap(map, bytes);
    close(fd);
    hps_mem_free(in);
    return (double)there / (double)n;
}

static double batch_bytes(const struct hps_batch *b)
{
    double bytes = (double)b->B * (double)sizeof(float) * (1 + b->data->D);

    for (int j = 0; j < b->data->nslot; j++)
        bytes += 8.0 * (b->offset[j] ? b->offset[j][b->B] + b->B : b->B);
    return bytes;
}

static enum hps_status read_all(const struct hps_data *data, long long batch, bool shuffled,
                                double *bytes)
{
    bool *slot = hps_mem_new((size_t)data->nslot, sizeof *slot);
    struct hps_reader_opt opt = { .dense = data->D > 0, .label = true, .slot = slot, .parts = 1,
                                  .ahead = 2 };
    struct hps_steps steps = hps_steps_of(data->N, batch, 1, 1, 0);
    struct hps_order order = hps_order_of_data(data, shuffled, false, 1);
    const struct hps_batch *b;
    struct hps_reader *reader;

    memset(slot, 1, (size_t)data->nslot * sizeof *slot);
    enum hps_status st = hps_reader_new(&reader, data, &order, &steps, &opt, 0);
    for (*bytes = 0; !st && !(st = hps_reader_next(reader, &b)) && b;)
        *bytes += batch_bytes(b);
    hps_reader_free(reader);
    hps_mem_free(slot);
    return st;
}

static enum hps_status run(int argc, char **argv)
{
    struct hps_data *data;
    double bytes, before;

    if (argc != 5 || atoll(argv[2]) < 1) {
        HPS_SAY(HPS_ERROR, "usage: reads FILE BATCH shuffled|in_order cold|warm");
        return HPS_USAGE;
    }
    if (strcmp(argv[4], "cold") == 0)
        put_out(argv[1]);
    before = resident(argv[1]);
    enum hps_status st = hps_data_open(&data, argv[1], MPI_COMM_NULL);
    if (st)
        return st;
    double t0 = hps_now_s(), cpu0_s = lab_cpu_s();
    st = read_all(data, atoll(argv[2]), strcmp(argv[3], "shuffled") == 0, &bytes);
    double took = hps_now_s() - t0, cpu_s = lab_cpu_s() - cpu0_s;
    hps_data_close(data);
    if (!st)
        hps_out("%.1f %.6g %.6g %.3g\n", bytes / 1e6, took, cpu_s, before);
    return st ? st : hps_out_flush();
}

int main(int argc, char **argv)
{
    hps_begin(NULL, NULL, false);
    return hps_end(run(argc, argv));
}
