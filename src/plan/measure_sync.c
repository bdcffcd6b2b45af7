/* measure_sync.c - pairs of ranks, one pair a type, all at once; the others sleep. */
#include "plan/measure_sync.h"

#include <math.h>

#include "base/mem.h"

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

static double sum_s(float *x, size_t n, MPI_Comm pair)
{
    double best = INFINITY;
    MPI_Request request;
    for (int i = 0; i < REPEATS; i++) {
        double t0 = hps_now_s();
        HPS_MPI(MPI_Iallreduce(MPI_IN_PLACE, x, (int)n, MPI_FLOAT, MPI_SUM, pair, &request));
        hps_wait_all(1, &request);
        best = fmin(best, hps_now_s() - t0);
    }
    return best;
}

/* Half the rows lie at the other: they come, and their gradients go. */
static double exchange_s(float *out, float *in, size_t n, int other, MPI_Comm pair)
{
    double best = INFINITY;
    MPI_Request request[2];
    for (int i = 0; i < REPEATS; i++) {
        double t0 = hps_now_s();
        for (int way = 0; way < 2; way++) {
            HPS_MPI(MPI_Irecv(in, (int)n, MPI_FLOAT, other, 0, pair, &request[0]));
            HPS_MPI(MPI_Isend(out, (int)n, MPI_FLOAT, other, 0, pair, &request[1]));
            hps_wait_all(2, request);
        }
        best = fmin(best, hps_now_s() - t0);
    }
    return best;
}

static size_t floats_of(const struct hps_layer *y, double rows)
{
    size_t n = y->table >= 0 ? (size_t)(rows / 2) * (size_t)y->dim : y->nparam;
    return n < 1u << 28 ? n : 1u << 28; /* a message of MPI counts in int */
}

static void measure(double *mine, const double *rows, const struct hps_net *net, int T, int t,
                    int other, double step_share, MPI_Comm pair)
{
    for (int l = 0; l < net->L; l++) {
        const struct hps_layer *y = &net->layer[l];
        size_t n = floats_of(y, rows[l * T + t]);
        if (n == 0) continue;
        float *a = hps_mem_new(n, sizeof *a), *b = hps_mem_new(n, sizeof *b);
        mine[l] = y->table >= 0 ? exchange_s(a, b, n, other, pair) : sum_s(a, n, pair) * step_share;
        hps_mem_free(a);
        hps_mem_free(b);
    }
}

void hps_measure_sync(double *sync, const double *rows, const struct hps_net *net,
                      const struct hps_pool *pool, double step_share, MPI_Comm world)
{
    int me = hps_rank(), t = pool->type_of[me], place = place_of(pool, me);
    double *told = hps_mem_new((size_t)net->L, sizeof *told);
    double *mine = hps_mem_new((size_t)net->L, sizeof *mine);
    MPI_Comm pair;

    HPS_MPI(MPI_Comm_split(world, place < 0 ? MPI_UNDEFINED : t, me, &pair));
    if (pair != MPI_COMM_NULL) {
        measure(mine, rows, net, pool->T, t, 1 - place, step_share, pair);
        HPS_MPI(MPI_Comm_free(&pair));
    }
    hps_barrier_quiet(world);
    for (int u = 0; u < pool->T; u++) {
        if (pool->type[u].nrank < 2) continue;
        for (int l = 0; l < net->L; l++)
            told[l] = mine[l];
        HPS_MPI(MPI_Bcast(told, net->L, MPI_DOUBLE, pool->type[u].first, world));
        for (int l = 0; l < net->L; l++)
            sync[l * pool->T + u] = told[l];
    }
    hps_mem_free(told);
    hps_mem_free(mine);
}
