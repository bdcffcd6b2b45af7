/* measure_sync.c - a pair of ranks of each type measures, all pairs at the same time. */
#include "profile/measure_sync.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/say.h"
#include "base/wait.h"
#include "base/world.h"
#include "hw/gpu_group.h"
#include "ps/ps.h"

enum { REPEATS = 5 };

int hps_measure_pair_index(const struct hps_pool *pool, int me)
{
    const struct hps_type *t = &pool->type[pool->type_of[me]];
    int second = t->first + 1;

    if (t->nrank < 2) return -1;
    while (pool->type_of[second] != pool->type_of[me])
        second++;
    return me == t->first ? 0 : me == second ? 1 : -1;
}

/* The connection of the two ranks. */
struct path {
    MPI_Comm pair;
    int other;
    struct hps_dev *dev;
    const struct hps_gpu_group *gpus;
};

static double sum_s(const struct path *path, size_t n)
{
    double best = INFINITY;
    MPI_Request request;
    float *x = hps_mem_new(n, sizeof *x);

    for (int i = 0; i < REPEATS; i++) {
        double t0 = hps_now_s();
        HPS_MPI(MPI_Iallreduce(MPI_IN_PLACE, x, (int)n, MPI_FLOAT, MPI_SUM, path->pair, &request));
        hps_wait_all(1, &request);
        best = fmin(best, hps_now_s() - t0);
    }
    hps_mem_free(x);
    return best;
}

/* The other rank owns half the rows: receive them, and send their gradients. */
static double exchange_s(const struct path *path, size_t n)
{
    double best = INFINITY;
    MPI_Request request[2];
    float *out = hps_mem_new(n, sizeof *out), *in = hps_mem_new(n, sizeof *in);

    for (int i = 0; i < REPEATS; i++) {
        double t0 = hps_now_s();
        for (int way = 0; way < 2; way++) {
            HPS_MPI(MPI_Irecv(in, (int)n, MPI_FLOAT, path->other, 0, path->pair, &request[0]));
            HPS_MPI(MPI_Isend(out, (int)n, MPI_FLOAT, path->other, 0, path->pair, &request[1]));
            hps_wait_all(2, request);
        }
        best = fmin(best, hps_now_s() - t0);
    }
    hps_mem_free(out);
    hps_mem_free(in);
    return best;
}

static void queue(const struct path *path, float *x, size_t n, bool sum)
{
    const struct hps_nccl_ops *nccl = path->gpus->ops;
    const struct hps_nccl_message out = { path->other, x, n }, in = { path->other, x + n, n };

    if (sum) nccl->sum(path->gpus->group, x, n);
    for (int way = 0; way < 2 && !sum; way++)
        nccl->exchange(path->gpus->group, 1, &out, 1, &in);
}

/* The same by NCCL and the device's clock: operations are queued one after the other, so that
 * only the first waits for the other host. */
static double gpus_s(const struct path *path, size_t n, bool sum)
{
    struct hps_dev *dev = path->dev;
    size_t bytes = (sum ? n : 2 * n) * sizeof(float);
    float *x = dev->ops->alloc(dev, bytes);
    struct hps_event *event[REPEATS + 1];
    double best = INFINITY;

    dev->ops->zero(dev, x, bytes);
    dev->ops->stream_wait(dev, HPS_STREAM_PEERS, HPS_STREAM_COMPUTE);
    for (int i = 0; i <= REPEATS; i++) {
        if (i > 0) queue(path, x, n, sum);
        event[i] = dev->ops->event_new(dev);
        dev->ops->event_record(dev, event[i], HPS_STREAM_PEERS);
    }
    dev->ops->stream_wait(dev, HPS_STREAM_COMPUTE, HPS_STREAM_PEERS);
    dev->ops->sync(dev);
    for (int i = 0; i < REPEATS; i++)
        best = fmin(best, dev->ops->event_elapsed_s(dev, event[i], event[i + 1]));
    for (int i = 0; i <= REPEATS; i++)
        dev->ops->event_free(dev, event[i]);
    dev->ops->free(dev, x);
    return best;
}

/* Floats sent in one direction, by kind: rows, or requests for partial sums, which more units
 * share; dense gradients; requests and partial sums, which more units do not reduce. */
enum { ROWS, DENSE, REQUESTS, KINDS };

/* Every other unit sends a partial sum for each bag of a unit. The requests for them contain the
 * beginning of each bag and half of the ids, in one direction, so half a float in each. Hot
 * rows, which depend on the data, are priced as others. */
static void sums_of(double n[KINDS], const struct hps_net *net, const struct hps_layer *y,
                    double mine, double number)
{
    double bags = mine * y->nslot;

    n[ROWS] = floor(mine * hps_net_ids_per_example(net, y) / 2 / 2);
    n[REQUESTS] += bags * y->dim * number + floor(bags / 2);
}

/* The floats that a number of a message is worth; GPUs send fp32. */
static double number_of(const struct hps_storage_opt *storage, enum hps_message kind, bool gpu)
{
    return gpu ? 1 : (double)hps_storage_codec(storage, kind)->bytes(1) / sizeof(float);
}

/* For layer l on type t; the other rank owns half of the rows. */
static void floats_of(double n[KINDS], const struct hps_profile *p, const struct hps_net *net,
                      int l, int t, double rows, const struct hps_storage_opt *storage)
{
    const struct hps_layer *y = &net->layer[l];
    double mine = floor(p->batch / 2);
    bool gpu = p->type[t].gpu;
    double number = (number_of(storage, HPS_MESSAGE_ROWS, gpu) +
                     number_of(storage, HPS_MESSAGE_GRADIENTS, gpu)) / 2;

    n[ROWS] = y->table >= 0 ? floor(rows / 2) * y->dim * number : 0;
    n[DENSE] = (double)y->nparam * (gpu ? 1 : hps_storage_dense_bytes(storage, y->nparam));
    n[REQUESTS] = (double)y->nexchange + mine * (double)y->nexchange_row;
    if (y->table >= 0 && net->table[y->table].sums && !gpu) sums_of(n, net, y, mine, number);
}

/* Set sync and beta from the seconds of each kind. The traffic of rows is parallel over the
 * units of a stage; a sum of dense gradients takes no less time with more units. */
static void put(struct hps_profile *p, int l, int t, const double s[KINDS])
{
    size_t at = (size_t)l * (size_t)p->T + (size_t)t;
    double all = s[ROWS] + s[DENSE] + s[REQUESTS];

    p->sync[at] = all;
    p->beta[at] = all > 0 ? s[ROWS] / all : 1;
}

double hps_measure_transfer_s(struct hps_link k, double bytes)
{
    return bytes > 0 ? 2 * k.latency_s + bytes / k.bytes_s : 0;
}

void hps_measure_sync_link(struct hps_profile *p, const struct hps_net *net, int l, int t,
                           struct hps_link link, double rows,
                           const struct hps_storage_opt *storage)
{
    double n[KINDS], s[KINDS];

    floats_of(n, p, net, l, t, rows, storage);
    for (int i = 0; i < KINDS; i++)
        s[i] = hps_measure_transfer_s(link, 8 * n[i]);
    s[DENSE] *= p->batch / p->engine.batch;
    put(p, l, t, s);
}

static void measure_one(double s[KINDS], const double n[KINDS], const struct path *path,
                        double step_share)
{
    for (int i = 0; i < KINDS; i++) {
        size_t m = (size_t)fmin(n[i], 1 << 28); /* a message of MPI counts in int */
        s[i] = 0;
        if (m == 0) continue;
        s[i] = path->gpus->group ? gpus_s(path, m, i == DENSE)
               : i == DENSE       ? sum_s(path, m)
                                  : exchange_s(path, m);
        if (i == DENSE) s[i] *= step_share;
    }
}

/* For all layers on this rank's type. */
static void measure_all(double (*s)[KINDS], const struct hps_profile *p, const double *rows,
                        const struct hps_net *net, int t,
                        const struct hps_storage_opt *storage, struct path *path)
{
    double n[KINDS];

    path->gpus = hps_gpu_group_new(path->dev, path->pair, HPS_DEBUG);
    for (int l = 0; l < net->L; l++) {
        floats_of(n, p, net, l, t, rows[l * p->T + t], storage);
        measure_one(s[l], n, path, p->batch / p->engine.batch);
    }
    hps_gpu_group_free(path->gpus);
}

void hps_measure_sync(struct hps_profile *p, const double *rows, const struct hps_net *net,
                      const struct hps_pool *pool, struct hps_dev *dev,
                      const struct hps_storage_opt *storage, MPI_Comm world)
{
    int me = hps_rank(), t = pool->type_of[me], index = hps_measure_pair_index(pool, me);
    double (*received)[KINDS] = hps_mem_new((size_t)net->L, sizeof *received);
    double (*mine)[KINDS] = hps_mem_new((size_t)net->L, sizeof *mine);
    MPI_Comm pair;

    HPS_MPI(MPI_Comm_split(world, index < 0 ? MPI_UNDEFINED : t, me, &pair));
    if (pair != MPI_COMM_NULL) {
        measure_all(mine, p, rows, net, t, storage, &(struct path){ pair, 1 - index, dev, NULL });
        HPS_MPI(MPI_Comm_free(&pair));
    }
    hps_barrier_sleeping(world);
    for (int u = 0; u < pool->T; u++) {
        if (pool->type[u].nrank < 2) continue;
        memcpy(received, mine, (size_t)net->L * sizeof *received);
        HPS_MPI(MPI_Bcast(received, net->L * KINDS, MPI_DOUBLE, pool->type[u].first, world));
        for (int l = 0; l < net->L; l++)
            put(p, l, u, received[l]);
    }
    hps_mem_free(received);
    hps_mem_free(mine);
}
