/* m_meet: sums over the ranks of a micro-batch are the serial sums, bit for bit the same on all;
 * every rank gathers all rows in order; a scatter is the transpose of a gather; also with fewer
 * rows than ranks, and as one rank alone does it. All from device memory, whether it goes through
 * MPI or, where each rank has a card of its own (m_gpu_group_meet), through NCCL: what is queued
 * behind a meeting sees it, and no host waits for one. */
#include <string.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/rng.h"
#include "base/world.h"
#include "comm/stage_collective.h"
#include "tests/lib/gpu_group.h"

enum { WIDTH = 5, MAX_N = 64, TURNS = 3 };

/* The same numbers on the device and on the host. */
static struct {
    float *own, *all;
    double *sums;
    float host[MAX_N * WIDTH];
} room;

/* Number i of rank r's x: no two sums round alike. */
static double value(int turn, int r, size_t i)
{
    uint64_t key = hps_rng_sub(hps_rng_key(7, "meet"), (uint64_t)(turn * 64 + r));
    return 2 * hps_rng_real(key, i) - 1;
}

static void check_sum(const struct hps_collective *p, size_t n)
{
    double x[TURNS][MAX_N], want;
    struct hps_dev *dev = p->dev;

    for (int turn = 0; turn < TURNS; turn++) {          /* the next one is told at once */
        for (size_t i = 0; i < n; i++)
            x[turn][i] = value(turn, hps_rank(), i);
        dev->ops->copy_to_device(dev, room.sums + turn * MAX_N, x[turn], n * sizeof *room.sums);
        p->allreduce(p, n, room.sums + turn * MAX_N);
    }
    for (int turn = 0; turn < TURNS; turn++) {
        dev->ops->copy_to_host(dev, x[turn], room.sums + turn * MAX_N, n * sizeof *room.sums);
        for (size_t i = 0; i < n; i++) {
            want = 0;
            for (int r = 0; r < hps_nrank(); r++)
                want += value(turn, r, i);
            if (memcmp(&x[turn][i], &want, sizeof want) != 0)
                HPS_DIE("sum %zu of %zu is %.17g, not %.17g", i, n, x[turn][i], want);
        }
    }
}

static float at(int row, int c)
{
    return (float)(row * WIDTH + c) + 0.25f;
}

/* `rows` rows from `first` on, times `by`, to the device. */
static void put_rows(struct hps_dev *dev, float *to, int first, int rows, float by)
{
    for (int b = 0; b < rows; b++)
        for (int c = 0; c < WIDTH; c++)
            room.host[b * WIDTH + c] = by * at(first + b, c);
    dev->ops->copy_to_device(dev, to, room.host, (size_t)rows * WIDTH * sizeof *to);
    dev->ops->sync(dev);
}

static void spoil(struct hps_dev *dev, float *x)
{
    memset(room.host, 0xff, sizeof room.host);
    dev->ops->copy_to_device(dev, x, room.host, sizeof room.host);
    dev->ops->sync(dev);
}

static void check_rows(struct hps_dev *dev, const float *x, int first, int rows, float by)
{
    dev->ops->copy_to_host(dev, room.host, x, (size_t)rows * WIDTH * sizeof *x);
    for (int b = 0; b < rows; b++)
        for (int c = 0; c < WIDTH; c++)
            if (room.host[b * WIDTH + c] != by * at(first + b, c))
                HPS_DIE("row %d of %d, column %d is %g", b, rows, c,
                        (double)room.host[b * WIDTH + c]);
}

static void check_gather(const struct hps_collective *p, int B)
{
    put_rows(p->dev, room.own, p->first, B, 1);
    spoil(p->dev, room.all);
    p->allgather(p, WIDTH, room.own, room.all);
    check_rows(p->dev, room.all, 0, p->rows, 1);
}

/* Rank r gives (r + 1) times a number that only the place knows. */
static void check_scatter(const struct hps_collective *p, int B)
{
    int k = hps_nrank();

    put_rows(p->dev, room.all, 0, p->rows, (float)(hps_rank() + 1));
    spoil(p->dev, room.own);
    p->reduce_scatter(p, WIDTH, room.all, room.own);
    check_rows(p->dev, room.own, p->first, B, (float)(k * (k + 1) / 2));
}

/* What was gathered is given back at once, `k` times of it. */
static void check_both(const struct hps_collective *p, int B)
{
    put_rows(p->dev, room.own, p->first, B, 1);
    p->allgather(p, WIDTH, room.own, room.all);
    p->reduce_scatter(p, WIDTH, room.all, room.own);
    check_rows(p->dev, room.own, p->first, B, (float)hps_nrank());
}

/* The first rank tells all of a sum, a gather, a scatter before the others begin: by cards its host
 * waits for none of them. */
static void check_told(const struct hps_collective *p, int B, MPI_Comm world)
{
    for (int turn = 0; turn < 2; turn++) {
        if ((hps_rank() == 0) == (turn == 0)) {
            put_rows(p->dev, room.own, p->first, B, 1);
            p->allreduce(p, (size_t)p->rows, room.sums);
            p->allgather(p, WIDTH, room.own, room.all);
            p->reduce_scatter(p, WIDTH, room.all, room.own);
        }
        HPS_MPI(MPI_Barrier(world));
    }
    check_rows(p->dev, room.own, p->first, B, (float)hps_nrank());
}

static void check(struct hps_dev *dev, MPI_Comm world, int rows, bool cards)
{
    struct hps_stage_collective *meet;
    int k = hps_nrank();

    if (hps_stage_collective_new(&meet, dev, world) != HPS_OK) HPS_DIE("no meeting");
    struct hps_collective p = hps_stage_collective_over(meet, rows),
                          one = hps_collective_alone(dev, rows);
    int B = rows * (hps_rank() + 1) / k - p.first;
    check_sum(&p, (size_t)rows);
    check_gather(&p, B);
    check_scatter(&p, B);
    check_both(&p, B);
    double sent = TURNS * 8.0 * rows * (k - 1) + 2 * 4.0 * WIDTH * (B * (k - 1) + rows - B);
    if (hps_stage_collective_bytes(meet) != sent)
        HPS_DIE("%g bytes counted, not %g", hps_stage_collective_bytes(meet), sent);
    check_gather(&one, one.rows);
    if (cards) check_told(&p, B, world);
    hps_stage_collective_free(meet);
}

static void check_all(struct hps_dev *dev, MPI_Comm world, bool cards)
{
    static const int rows[] = { 1, 2, 3, 4, 7, 33 };

    room.own = dev->ops->alloc(dev, sizeof room.host);
    room.all = dev->ops->alloc(dev, sizeof room.host);
    room.sums = dev->ops->alloc(dev, TURNS * MAX_N * sizeof *room.sums);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check(dev, world, rows[i], cards);
    dev->ops->free(dev, room.own);
    dev->ops->free(dev, room.all);
    dev->ops->free(dev, room.sums);
}

int main(int argc, char **argv)
{
    MPI_Comm world = hps_begin(&argc, &argv, true);
    struct hps_dev dev;

    for (int how = GPU_GROUP_FIRST; how <= GPU_GROUP_LAST; how++) {
        gpu_group_open(&dev, (enum gpu_group)how);
        check_all(&dev, world, how == GPU_GROUP_APART);
        dev.ops->close(&dev);
    }
    if (hps_mem_held_bytes() != 0) HPS_DIE("%zu bytes are still held", hps_mem_held_bytes());
    return hps_end(HPS_OK);
}
