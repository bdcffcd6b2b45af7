/* measure_sync.c - pairs of ranks, one pair a type, all at once; the others sleep. */
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

enum { REPEATS = 5 };

/* Which of my type's first two ranks am I? -1: neither, or there is no second. */
static int place_of(const struct hps_pool *pool, int me)
{
    const struct hps_type *t = &pool->type[pool->type_of[me]];
    int second = t->first + 1;

    if (t->nrank < 2) return -1;
    while (pool->type_of[second] != pool->type_of[me])
        second++;
    return me == t->first ? 0 : me == second ? 1 : -1;
}

/* How the two reach each other. */
struct road {
    MPI_Comm pair;
    int other;
    struct hps_dev *dev;
    const struct hps_gpu_group *cards;
};

static double sum_s(const struct road *road, size_t n)
{
    double best = INFINITY;
    MPI_Request request;
    float *x = hps_mem_new(n, sizeof *x);

    for (int i = 0; i < REPEATS; i++) {
        double t0 = hps_now_s();
        HPS_MPI(MPI_Iallreduce(MPI_IN_PLACE, x, (int)n, MPI_FLOAT, MPI_SUM, road->pair, &request));
        hps_wait_all(1, &request);
        best = fmin(best, hps_now_s() - t0);
    }
    hps_mem_free(x);
    return best;
}

/* Half the rows lie at the other: they come, and their gradients go. */
static double exchange_s(const struct road *road, size_t n)
{
    double best = INFINITY;
    MPI_Request request[2];
    float *out = hps_mem_new(n, sizeof *out), *in = hps_mem_new(n, sizeof *in);

    for (int i = 0; i < REPEATS; i++) {
        double t0 = hps_now_s();
        for (int way = 0; way < 2; way++) {
            HPS_MPI(MPI_Irecv(in, (int)n, MPI_FLOAT, road->other, 0, road->pair, &request[0]));
            HPS_MPI(MPI_Isend(out, (int)n, MPI_FLOAT, road->other, 0, road->pair, &request[1]));
            hps_wait_all(2, request);
        }
        best = fmin(best, hps_now_s() - t0);
    }
    hps_mem_free(out);
    hps_mem_free(in);
    return best;
}

static void queue(const struct road *road, float *x, size_t n, bool sum)
{
    const struct hps_nccl_ops *nccl = road->cards->ops;
    const struct hps_nccl_message out = { road->other, x, n }, in = { road->other, x + n, n };

    if (sum) nccl->sum(road->cards->group, x, n);
    for (int way = 0; way < 2 && !sum; way++)
        nccl->exchange(road->cards->group, 1, &out, 1, &in);
}

/* The same from card to card, by the device's clock: one is queued behind the other, so that only
 * the first waits for the other's host. */
static double cards_s(const struct road *road, size_t n, bool sum)
{
    struct hps_dev *dev = road->dev;
    size_t bytes = (sum ? n : 2 * n) * sizeof(float);
    float *x = dev->ops->alloc(dev, bytes);
    struct hps_event *event[REPEATS + 1];
    double best = INFINITY;

    dev->ops->zero(dev, x, bytes);
    dev->ops->stream_wait(dev, HPS_STREAM_PEERS, HPS_STREAM_COMPUTE);
    for (int i = 0; i <= REPEATS; i++) {
        if (i > 0) queue(road, x, n, sum);
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

/* Floats that go one way, of each kind: what more units share, rows or ids told for sums;
 * gradients; what peers tell, and sums of rows. */
enum { ROWS, DENSE, TOLD, KINDS };

/* Of a unit's bags every other unit sends a sum; for them it is told where each begins, and half of
 * the ids. What is told goes there only, half a float each way. Popular rows, which only data know,
 * are priced as others: their ids stay, but they travel. */
static void sums_of(double n[KINDS], const struct hps_net *net, const struct hps_layer *y,
                    double mine)
{
    double bags = mine * y->nslot;

    n[ROWS] = floor(mine * hps_net_ids_per_example(net, y) / 2 / 2);
    n[TOLD] += bags * y->dim + floor(bags / 2);
}

/* Of layer l on type t. Half of the rows lie at the other. */
static void floats_of(double n[KINDS], const struct hps_profile *p, const struct hps_net *net,
                      int l, int t, double rows)
{
    const struct hps_layer *y = &net->layer[l];
    double mine = floor(p->batch / 2);

    n[ROWS] = y->table >= 0 ? floor(rows / 2) * y->dim : 0;
    n[DENSE] = (double)y->nparam;
    n[TOLD] = (double)y->nexchange + mine * (double)y->nexchange_row;
    if (y->table >= 0 && net->table[y->table].sums && !p->type[t].gpu) sums_of(n, net, y, mine);
}

/* From the seconds of each kind. Rows are split over the units of a stage, so their traffic is
 * parallel; a sum over more units of the same weights takes no less time. */
static void put(struct hps_profile *p, int l, int t, const double s[KINDS])
{
    size_t at = (size_t)l * (size_t)p->T + (size_t)t;
    double all = s[ROWS] + s[DENSE] + s[TOLD];

    p->sync[at] = all;
    p->beta[at] = all > 0 ? s[ROWS] / all : 1;
}

double hps_measure_carry_s(struct hps_link k, double bytes)
{
    return bytes > 0 ? 2 * k.latency_s + bytes / k.bytes_s : 0;
}

void hps_measure_sync_link(struct hps_profile *p, const struct hps_net *net, int l, int t,
                           struct hps_link link, double rows)
{
    double n[KINDS], s[KINDS];

    floats_of(n, p, net, l, t, rows);
    for (int i = 0; i < KINDS; i++)
        s[i] = hps_measure_carry_s(link, 8 * n[i]);
    s[DENSE] *= p->batch / p->engine.batch;
    put(p, l, t, s);
}

static void measure_one(double s[KINDS], const double n[KINDS], const struct road *road,
                        double step_share)
{
    for (int i = 0; i < KINDS; i++) {
        size_t m = (size_t)fmin(n[i], 1 << 28); /* a message of MPI counts in int */
        s[i] = 0;
        if (m == 0) continue;
        s[i] = road->cards->group ? cards_s(road, m, i == DENSE)
               : i == DENSE       ? sum_s(road, m)
                                  : exchange_s(road, m);
        if (i == DENSE) s[i] *= step_share;
    }
}

/* Of all layers on my type. */
static void measure_all(double (*s)[KINDS], const struct hps_profile *p, const double *rows,
                        const struct hps_net *net, int t, struct road *road)
{
    double n[KINDS];

    road->cards = hps_gpu_group_new(road->dev, road->pair, HPS_DEBUG);
    for (int l = 0; l < net->L; l++) {
        floats_of(n, p, net, l, t, rows[l * p->T + t]);
        measure_one(s[l], n, road, p->batch / p->engine.batch);
    }
    hps_gpu_group_free(road->cards);
}

void hps_measure_sync(struct hps_profile *p, const double *rows, const struct hps_net *net,
                      const struct hps_pool *pool, struct hps_dev *dev, MPI_Comm world)
{
    int me = hps_rank(), t = pool->type_of[me], place = place_of(pool, me);
    double (*told)[KINDS] = hps_mem_new((size_t)net->L, sizeof *told);
    double (*mine)[KINDS] = hps_mem_new((size_t)net->L, sizeof *mine);
    MPI_Comm pair;

    HPS_MPI(MPI_Comm_split(world, place < 0 ? MPI_UNDEFINED : t, me, &pair));
    if (pair != MPI_COMM_NULL) {
        measure_all(mine, p, rows, net, t, &(struct road){ pair, 1 - place, dev, NULL });
        HPS_MPI(MPI_Comm_free(&pair));
    }
    hps_barrier_sleeping(world);
    for (int u = 0; u < pool->T; u++) {
        if (pool->type[u].nrank < 2) continue;
        memcpy(told, mine, (size_t)net->L * sizeof *told);
        HPS_MPI(MPI_Bcast(told, net->L * KINDS, MPI_DOUBLE, pool->type[u].first, world));
        for (int l = 0; l < net->L; l++)
            put(p, l, u, told[l]);
    }
    hps_mem_free(told);
    hps_mem_free(mine);
}
