/* m_reduce: sums in buckets equal the serial sum at every size, in place, step after step, whatever
 * pieces become ready; all ranks hold the same bits, and a repetition gives the same bits. Whether
 * they are made by MPI, in memory that ranks of a host share, of one host or of several with as
 * many ranks or not, or, where each rank has a card of its own (m_gpu_group_reduce), by NCCL. Where
 * hosts send the largest numbers alone, what arrived over the steps and what the hosts have left is
 * the sum of all; a reduce that goes on from the residuals of another gives its bits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/rng.h"
#include "base/say.h"
#include "base/world.h"
#include "comm/reduce.h"
#include "tests/lib/gpu_group.h"

/* Rank r's gradient i of a step: small multiples of 1/8 sum without rounding; odd steps round. */
static float value(int step, int r, size_t i)
{
    float x = hps_rng_unit(hps_rng_sub(hps_rng_key(7, "grad"), (uint64_t)(step * 64 + r)), i);
    return step % 2 ? x - 0.5f : (float)((int)(x * 64) - 32) / 8;
}

/* Each rank checks a part of the sums, which are the same on all (check_same). */
static void check_sums(int step, bool rounded, const float *got, size_t n)
{
    for (size_t i = (size_t)hps_rank(); i < n; i += (size_t)hps_nrank()) {
        double sum = 0, size = 0;
        for (int r = 0; r < hps_nrank(); r++) {
            sum += (double)value(step, r, i);
            size += value(step, r, i) < 0 ? -(double)value(step, r, i) : (double)value(step, r, i);
        }
        /* comm/rounded_sum.h; a few roundings of fp32; none */
        double limit = rounded ? size / 127 : step % 2 ? 1e-6 * size : 0;
        if (fabs((double)got[i] - sum) > limit)
            HPS_DIE("step %d, element %zu of %zu: %.9g, not %.9g", step, i, n, (double)got[i], sum);
    }
}

static void check_same(const float *got, size_t n, MPI_Comm world)
{
    float *root = hps_mem_new(n, sizeof *root);

    memcpy(root, got, n * sizeof *root);
    HPS_MPI(MPI_Bcast(root, (int)n, MPI_FLOAT, 0, world));
    if (memcmp(root, got, n * sizeof *root) != 0)
        HPS_DIE("the sums of %zu elements differ between ranks", n);
    hps_mem_free(root);
}

static void fill(struct hps_dev *dev, int step, float *grad, float *host, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        host[i] = value(step, hps_rank(), i);
    dev->ops->copy_to_device(dev, grad + first, host + first, (end - first) * sizeof *grad);
}

/* Who shares memory with whom: so many ranks in a row (NULL: all), and not the last `alone`. */
static const struct sharing {
    const char *ranks;
    int alone;
} sharing[] = { { NULL, 0 }, { "2", 0 }, { "3", 0 }, { "1", 0 }, { NULL, 1 }, { "2", 1 } };

static void share(const struct sharing *how)
{
    unsetenv("HETERPS_SHARED_RANKS");
    unsetenv("HETERPS_SHARED_MEMORY");
    if (how->ranks) setenv("HETERPS_SHARED_RANKS", how->ranks, 1);
    if (hps_rank() >= hps_nrank() - how->alone) setenv("HETERPS_SHARED_MEMORY", "0", 1);
}

/* Of 2 ranks or more that share memory there are some. Do numbers travel by MPI? */
static bool check_way(const struct hps_reduce *reduce, size_t n, bool host, MPI_Comm world)
{
    int each = hps_env_count("HETERPS_SHARED_RANKS"), mine, alone;
    const char *way = hps_reduce_name(reduce);

    mine = hps_env_is("HETERPS_SHARED_MEMORY", "0");
    HPS_MPI(MPI_Allreduce(&mine, &alone, 1, MPI_INT, MPI_SUM, world));
    bool near = host && n > 0 && hps_nrank() - alone > 1 && each != 1;
    if ((strcmp(way, "near") == 0) != near)
        HPS_DIE("%d ranks, %d together, %d alone, sum by %s", hps_nrank(), each, alone, way);
    return !near || alone > 0 || (each > 0 && each < hps_nrank());
}

/* Where sums are distributed: those of my shares, then the others' by a gather; all else is 0. */
static void gather(struct hps_reduce *reduce, size_t n, float *grad, float *got)
{
    size_t first, end;

    memset(got, 0, n * sizeof *got);
    for (int i = 0; hps_reduce_share(reduce, i, &first, &end); i++) {
        memcpy(got + first, grad + first, (end - first) * sizeof *got);
        memset(grad + first, 0, (end - first) * sizeof *grad);
    }
    hps_reduce_gather_begin(reduce, got);
    hps_reduce_gather_end(reduce, got);
    for (size_t i = 0; i < n; i++)
        if (grad[i] != 0) HPS_DIE("element %zu of %zu is left of a gradient", i, n);
}

/* NCCL sums what it sends in fp32. */
static bool on_gpus(const struct hps_reduce *reduce)
{
    return strcmp(hps_reduce_name(reduce), "nccl") == 0;
}

enum { TURNS = 4 };

static void run(struct hps_dev *dev, size_t n, size_t bucket, size_t piece, MPI_Comm world)
{
    float *own = dev->ops->alloc(dev, n * sizeof *own), *all = hps_mem_new(TURNS * n, sizeof *all);
    struct hps_reduce *reduce;

    static int nrun;
    const bool by_share = nrun % 2 == 1, rounded = nrun++ % 4 > 1;
    const struct hps_codec_ops *codec = !rounded       ? &hps_codec_fp32
                                        : nrun % 8 < 4 ? &hps_codec_bf16
                                                       : &hps_codec_fp16;
    const struct hps_reduce_opt opt = { .n = n, .bucket_bytes = bucket, .by_share = by_share,
                                        .codec = codec };

    if (hps_reduce_new(&reduce, dev, own, &opt, world) != HPS_OK)
        HPS_DIE("no reduce");
    float *grad = hps_reduce_grad(reduce);
    const bool rounds = check_way(reduce, n, dev->host, world) && rounded && !on_gpus(reduce);
    if (hps_reduce_by_share(reduce) != (by_share && strcmp(hps_reduce_name(reduce), "near") == 0))
        HPS_DIE("sums are distributed, or not, against the caller's wish");
    for (int turn = 0; turn < TURNS; turn++) {
        float *got = all + (size_t)turn * n;
        int step = turn < 3 ? turn : 1;                 /* the rounding step comes twice */
        size_t left = n;
        for (; left > piece; left -= piece) {           /* complete from the end, as in a step */
            fill(dev, step, grad, got, left - piece, left);
            hps_reduce_ready(reduce, left - piece);
            hps_reduce_poll(reduce);
        }
        fill(dev, step, grad, got, 0, left);
        hps_reduce_end(reduce);
        if (hps_reduce_by_share(reduce))
            gather(reduce, n, grad, got);
        else
            dev->ops->copy_to_host(dev, got, grad, n * sizeof *grad);
        check_sums(step, rounds, got, n);
    }
    check_same(all, TURNS * n, world);                  /* now: it holds up who is ahead */
    if (memcmp(all + n, all + 3 * n, n * sizeof *all) != 0)
        HPS_DIE("the same step gave other bits");
    double k = hps_nrank(), sent = TURNS * 2 * (k - 1) / k * (double)n * (rounds ? 2 : 4);
    if (hps_reduce_bytes(reduce) > 1.000001 * sent || hps_reduce_bytes(reduce) < 0.999999 * sent)
        HPS_DIE("%g bytes counted, not %g", hps_reduce_bytes(reduce), sent);
    if (hps_reduce_count(reduce)->bytes != (rounds ? hps_reduce_bytes(reduce) : 0))
        HPS_DIE("%g bytes counted as encoded", hps_reduce_count(reduce)->bytes);
    hps_reduce_free(reduce);
    dev->ops->free(dev, own);
    hps_mem_free(all);
}

/* ---- a share of the numbers ---- */

static struct hps_reduce *open_topk(struct hps_dev *dev, size_t n, bool by_share, float *own,
                                    MPI_Comm world)
{
    const struct hps_reduce_opt opt = { .n = n, .bucket_bytes = 4096, .by_share = by_share,
                                        .codec = &hps_codec_fp32, .share = 0.05 };
    struct hps_reduce *reduce;
    enum hps_status st = hps_reduce_new(&reduce, dev, own, &opt, world);

    if (st != (on_gpus(reduce) ? HPS_DECK : HPS_OK)) HPS_DIE("top-k by %s: %d",
                                                              hps_reduce_name(reduce), st);
    if (!st) return reduce;
    hps_reduce_free(reduce);
    return NULL;
}

/* got (n) = the sums of a step. */
static void step_topk(struct hps_dev *dev, struct hps_reduce *reduce, int step, size_t n,
                      float *got)
{
    fill(dev, step, hps_reduce_grad(reduce), got, 0, n);
    hps_reduce_end(reduce);
    if (hps_reduce_by_share(reduce))
        gather(reduce, n, hps_reduce_grad(reduce), got);
    else
        dev->ops->copy_to_host(dev, got, hps_reduce_grad(reduce), n * sizeof *got);
}

/* all (n) -= the residuals of all hosts; returns what is left at most. */
static double without_residuals(struct hps_reduce *reduce, size_t n, double *all, MPI_Comm world)
{
    float *x = hps_mem_new(n, sizeof *x), *sum = hps_mem_new(n, sizeof *sum);
    double most = 0, mine = hps_reduce_residual2(reduce), square = 0, squares;

    if (!hps_reduce_get_residual(reduce, x)) memset(x, 0, n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        square += (double)x[i] * (double)x[i];
    HPS_MPI(MPI_Allreduce(x, sum, (int)n, MPI_FLOAT, MPI_SUM, world));
    HPS_MPI(MPI_Allreduce(MPI_IN_PLACE, &square, 1, MPI_DOUBLE, MPI_SUM, world));
    HPS_MPI(MPI_Allreduce(&mine, &squares, 1, MPI_DOUBLE, MPI_SUM, world));
    if (fabs(square - squares) > 1e-9 * square || !(square > 0))
        HPS_DIE("squares of residuals: %g, not %g", squares, square);
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(all[i] - (double)sum[i]));
    hps_mem_free(x);
    hps_mem_free(sum);
    return most;
}

/* The residuals of `from` are passed on to `to`, as by a checkpoint. */
static void pass_on(struct hps_reduce *from, struct hps_reduce *to, size_t n)
{
    struct hps_reduce_host host = { MPI_COMM_NULL, 0, 0 };
    float *x = hps_mem_new(n, sizeof *x);
    size_t half = n / 2;

    hps_reduce_has_residual(from, &host);
    hps_reduce_get_residual(from, x);
    if (host.ranks != MPI_COMM_NULL) HPS_MPI(MPI_Bcast(x, (int)n, MPI_FLOAT, 0, host.ranks));
    hps_reduce_add_residual(to, half, n - half, x + half);
    hps_reduce_add_residual(to, 0, half, x);
    hps_mem_free(x);
}

static void run_topk(struct hps_dev *dev, size_t n, bool by_share, MPI_Comm world)
{
    enum { STEPS = 7 };
    float *own = dev->ops->alloc(dev, n * sizeof *own), *got = hps_mem_new(n, sizeof *got);
    float *again = hps_mem_new(n, sizeof *again);
    double *all = hps_mem_new(n, sizeof *all);
    struct hps_reduce *reduce = open_topk(dev, n, by_share, own, world), *next;
    struct hps_reduce_host host = { MPI_COMM_NULL, 0, 0 };

    for (int step = 0; reduce && step < STEPS; step++) {
        step_topk(dev, reduce, step, n, got);
        check_same(got, n, world);
        for (size_t i = 0; i < n; i++) {
            all[i] -= (double)got[i];
            for (int r = 0; r < hps_nrank(); r++)
                all[i] += (double)value(step, r, i);
        }
    }
    bool has = reduce && hps_reduce_has_residual(reduce, &host);
    if (reduce && has != (check_way(reduce, n, dev->host, world) && hps_nrank() > 1))
        HPS_DIE("residuals of %d hosts, or not, against who shares memory", host.n);
    if (has && without_residuals(reduce, n, all, world) > 1e-5) HPS_DIE("numbers are lost");
    if (has && hps_reduce_count(reduce)->bytes != hps_reduce_bytes(reduce))
        HPS_DIE("other bytes were sent than counted as encoded");
    if (has) {
        next = open_topk(dev, n, by_share, own, world);
        pass_on(reduce, next, n);
        step_topk(dev, reduce, STEPS, n, got);
        step_topk(dev, next, STEPS, n, again);
        if (memcmp(got, again, n * sizeof *got) != 0) HPS_DIE("other bits after a restart");
        hps_reduce_free(next);
    }
    hps_reduce_free(reduce);
    dev->ops->free(dev, own);
    hps_mem_free(got);
    hps_mem_free(again);
    hps_mem_free(all);
}

/* CPUs, and a rank alone, are no group: nothing is held for them. */
static void no_group(struct hps_dev *dev, MPI_Comm comm)
{
    size_t held = hps_mem_held_bytes();
    const struct hps_gpu_group *one = hps_gpu_group_new(dev, comm, HPS_INFO);
    const struct hps_gpu_group *two = hps_gpu_group_new(dev, comm, HPS_INFO);

    if (one->group || two->group) HPS_DIE("a group without GPUs");
    if (hps_mem_held_bytes() != held) HPS_DIE("a group of none holds something");
    hps_gpu_group_free(one);
    hps_gpu_group_free(two);
}

static void run_sizes(struct hps_dev *dev, bool few, MPI_Comm world)
{
    static const size_t size[] = { 0, 1, 3, 255, 256, 257, 1025, 5003 };

    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        if (few && i % 3 == 0)
            continue;
        run(dev, size[i], 1024, 100, world);
        run(dev, size[i], 1024, 10007, world);
        run(dev, size[i], 4 << 20, 101, world);
    }
    run(dev, 5, 4, 2, world);
    for (int by_share = 0; by_share < 2; by_share++) {
        run_topk(dev, 5003, by_share, world);
        run_topk(dev, 1000, by_share, world);
    }
    run(dev, 50001, 64 << 10, 7777, world);
    if (dev->host) {                                    /* a share is large enough for threads */
        dev->nthread = 2;
        run(dev, 600011, 1 << 20, 100003, world);
        dev->nthread = 1;
    }
}

int main(int argc, char **argv)
{
    MPI_Comm world = hps_begin(&argc, &argv, true);
    struct hps_dev dev;

    for (int how = GPU_GROUP_FIRST; how <= GPU_GROUP_LAST; how++) {
        gpu_group_open(&dev, (enum gpu_group)how);
        no_group(&dev, dev.host ? world : MPI_COMM_SELF);
        for (size_t i = 0; i < sizeof sharing / sizeof *sharing && (dev.host || i == 0); i++) {
            share(&sharing[i]);
            run_sizes(&dev, how >= GPU_GROUP_APART, world); /* gpus take their time */
        }
        dev.ops->close(&dev);
    }
    if (hps_mem_held_bytes() != 0)
        HPS_DIE("%zu bytes are still held", hps_mem_held_bytes());
    return hps_end(HPS_OK);
}
