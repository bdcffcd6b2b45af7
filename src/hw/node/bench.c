/* bench.c - micro-benchmarks: medians of a few repetitions after a warm-up, at fixed sizes. */
#include "hw/bench.h"

#include <fcntl.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/rng.h"
#include "base/say.h"
#include "base/sort.h"
#include "base/thread.h"
#include "base/wait.h"
#include "hw/stopwatch.h"

#define REPEAT 3
#define MIB ((size_t)1 << 20)
#define ROW 16                  /* floats: a row of 64 bytes */
#define GATHERED 65536          /* rows of one gather        */
#define COPIED (8 * MIB)
#define READ_BYTES (8 * MIB)
#define PINGS 21
#define BLOCKS 5

/* Large enough that every thread multiplies several blocks. */
static void bench_gemm(struct hps_dev *dev, struct hps_node *node)
{
    int n = 384, m = dev->nthread > 4 ? 96 * dev->nthread : n;
    double s = dev->ops->dense->gemm_s(dev, m, n, n, REPEAT);

    node->sgemm_flops_s = s > 0 ? 2.0 * m * n * n / s : 0;
}

/* Twice the last-level cache, 16 to 64 MiB, in whole rows. */
static size_t beyond_caches(const struct hps_node *node)
{
    size_t bytes = (size_t)(2 * node->cache_bytes[2]);

    bytes = bytes < 16 * MIB ? 16 * MIB : bytes > 64 * MIB ? 64 * MIB : bytes;
    return bytes / MIB * MIB;
}

/* y += x over the halves of the block: two reads and a write. */
static void bench_memory(struct hps_dev *dev, struct hps_node *node, float *block, size_t bytes)
{
    double took[REPEAT];
    struct hps_stopwatch watch;
    int width = 1024, rows = (int)(bytes / 2 / sizeof *block / (size_t)width);
    struct hps_tensor y = hps_tensor_of(block + (size_t)rows * (size_t)width, width);

    y.add = true;
    hps_stopwatch_init(&watch, dev, hps_now_s);
    for (int i = -1; i < REPEAT; i++) {
        hps_stopwatch_begin(&watch);
        dev->ops->dense->copy(dev, rows, hps_tensor_of(block, width), y);
        took[i < 0 ? 0 : i] = hps_stopwatch_end(&watch);
    }
    hps_stopwatch_done(&watch);
    node->memory_bytes_s = 3.0 * rows * width * (double)sizeof *block /
                           hps_sort_median(took, REPEAT);
}

static void bench_gather(struct hps_dev *dev, struct hps_node *node, const float *block,
                         size_t bytes)
{
    size_t nrow = bytes / (ROW * sizeof *block), list = GATHERED * sizeof(int);
    int *host = hps_mem_new(REPEAT + 1, list), *at = dev->ops->alloc(dev, (REPEAT + 1) * list);
    float *out = dev->ops->alloc(dev, GATHERED * ROW * sizeof *out);
    double took[REPEAT];
    struct hps_stopwatch watch;

    hps_stopwatch_init(&watch, dev, hps_now_s);
    for (size_t i = 0; i < (REPEAT + 1) * (size_t)GATHERED; i++)
        host[i] = (int)(hps_rng_bits(1, i) % nrow);
    dev->ops->copy_to_device(dev, at, host, (REPEAT + 1) * list);
    for (int i = -1; i < REPEAT; i++) {         /* other rows each time, so that none is cached */
        struct hps_row_list rows = { ROW, ROW, GATHERED, at + (i + 1) * GATHERED };
        hps_stopwatch_begin(&watch);
        dev->ops->rows->gather(dev, block, rows, out);
        took[i < 0 ? 0 : i] = hps_stopwatch_end(&watch);
    }
    hps_stopwatch_done(&watch);
    node->gather_rows_s = GATHERED / hps_sort_median(took, REPEAT);
    dev->ops->free(dev, out);
    dev->ops->free(dev, at);
    hps_mem_free(host);
}

/* Copies between the device and pinned host memory. */
static void bench_copies(struct hps_dev *dev, struct hps_node *node, float *block)
{
    double in[REPEAT], out[REPEAT];
    struct hps_stopwatch watch;
    void *host = dev->ops->pin(dev, COPIED);

    hps_stopwatch_init(&watch, dev, hps_now_s);
    for (int i = -1; i < REPEAT; i++) {
        hps_stopwatch_begin(&watch);
        dev->ops->copy_to_device_async(dev, HPS_STREAM_COMPUTE, block, host, COPIED);
        in[i < 0 ? 0 : i] = hps_stopwatch_end(&watch);
        hps_stopwatch_begin(&watch);
        dev->ops->copy_to_host_async(dev, HPS_STREAM_COMPUTE, host, block, COPIED);
        out[i < 0 ? 0 : i] = hps_stopwatch_end(&watch);
    }
    node->copy_to_device_bytes_s = (double)COPIED / hps_sort_median(in, REPEAT);
    node->copy_to_host_bytes_s = (double)COPIED / hps_sort_median(out, REPEAT);
    dev->ops->unpin(dev, host);
    hps_stopwatch_done(&watch);
}

static void bench_disk(struct hps_node *node, const char *file)
{
    int fd = file ? open(file, O_RDONLY) : -1;
    char *buffer = hps_mem_new(MIB, 1);
    double got = 0, start = hps_now_s();
    ssize_t n = 1;

    while (fd >= 0 && n > 0 && got < READ_BYTES) {
        n = pread(fd, buffer, MIB, (off_t)got);
        got += n > 0 ? (double)n : 0;
    }
    double took = hps_now_s() - start;
    node->disk_bytes_s = got > 0 && took > 0 ? got / took : 0;
    if (file && got <= 0)
        HPS_SAY_ALL(HPS_DEBUG, "%s cannot be read: the disk's rate is not known", file);
    if (fd >= 0) close(fd);
    hps_mem_free(buffer);
}

enum hps_status hps_bench_node(struct hps_dev *dev, struct hps_node *node, const char *file)
{
    size_t bytes = beyond_caches(node);
    float *block = dev->ops->alloc(dev, bytes);

    dev->ops->zero(dev, block, bytes);          /* else all its pages are the zero page */
    bench_gemm(dev, node);
    bench_memory(dev, node, block, bytes);
    bench_gather(dev, node, block, bytes);
    if (!dev->host) bench_copies(dev, node, block);
    bench_disk(node, file);
    dev->ops->free(dev, block);
    return HPS_OK;
}

/* On an oversubscribed host a waiting rank sleeps, with growing intervals, and wakes up late: as in
 * training, where a message takes long to come. */
static double pause_s(void)
{
    double start = hps_now_s();

    if (!hps_wait_oversubscribed()) return 0;
    hps_sleep_s(400e-6);
    return hps_now_s() - start;
}

static void pass(char *buffer, size_t bytes, int peer, bool send, MPI_Comm comm)
{
    MPI_Request request;

    if (send)
        HPS_MPI(MPI_Isend(buffer, (int)bytes, MPI_BYTE, peer, HPS_TAG_BENCH, comm, &request));
    else
        HPS_MPI(MPI_Irecv(buffer, (int)bytes, MPI_BYTE, peer, HPS_TAG_BENCH, comm, &request));
    hps_wait_all(1, &request);
}

/* One round trip, timed by the first rank, without the pauses before each half. */
static double round_trip(char *buffer, size_t bytes, int peer, bool first, bool paused,
                         MPI_Comm comm)
{
    double theirs = 0, mine, start;

    if (!first) pass(buffer, bytes, peer, false, comm);
    mine = paused ? pause_s() : 0;
    start = hps_now_s();
    memcpy(buffer, &mine, sizeof mine);
    pass(buffer, bytes, peer, true, comm);
    if (first) {
        pass(buffer, bytes, peer, false, comm);
        memcpy(&theirs, buffer, sizeof theirs);
    }
    return hps_now_s() - start - theirs;
}

/* Neither rank spins while its peer is busy elsewhere. */
static void meet(int peer, MPI_Comm comm)
{
    MPI_Request request[2];
    char mine = 0, theirs;

    HPS_MPI(MPI_Irecv(&theirs, 1, MPI_BYTE, peer, HPS_TAG_BENCH, comm, &request[0]));
    HPS_MPI(MPI_Isend(&mine, 1, MPI_BYTE, peer, HPS_TAG_BENCH, comm, &request[1]));
    hps_wait_sleeping(&request[0]);
    hps_wait_sleeping(&request[1]);
}

struct hps_link hps_bench_pair(int peer, bool first, MPI_Comm comm)
{
    char *buffer = hps_mem_new(MIB, 1);
    double ping[PINGS], block[BLOCKS];
    struct hps_link link;

    meet(peer, comm);
    for (int i = -3; i < PINGS; i++)
        ping[i < 0 ? 0 : i] = round_trip(buffer, 8, peer, first, true, comm);
    for (int i = -1; i < BLOCKS; i++)
        block[i < 0 ? 0 : i] = round_trip(buffer, MIB, peer, first, false, comm);
    link.latency_s = hps_sort_median(ping, PINGS) / 2;
    link.bytes_s = 2 * (double)MIB / hps_sort_median(block, BLOCKS);
    if (first)
        HPS_MPI(MPI_Send(&link, sizeof link, MPI_BYTE, peer, HPS_TAG_BENCH, comm));
    else
        HPS_MPI(MPI_Recv(&link, sizeof link, MPI_BYTE, peer, HPS_TAG_BENCH, comm,
                         MPI_STATUS_IGNORE));
    hps_mem_free(buffer);
    return link;
}
