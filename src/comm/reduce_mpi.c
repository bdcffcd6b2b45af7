/* reduce_mpi.c - sums over MPI: one non-blocking all-reduce a bucket, in host memory. */
#include <assert.h>
#include <limits.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/wait.h"
#include "comm/reduce.h"

struct state {
    MPI_Comm comm;
    int n, max_bucket;
    MPI_Request *request;       /* (max_bucket) */
};

static void *open_mpi(const struct hps_reduce_need *need, MPI_Comm comm)
{
    struct state *s = hps_mem_new(1, sizeof *s);

    s->comm = comm;
    s->max_bucket = need->nbucket;
    s->request = hps_mem_new((size_t)s->max_bucket, sizeof(MPI_Request));
    return s;
}

static void close_mpi(void *state)
{
    struct state *s = state;

    hps_mem_free(s->request);
    hps_mem_free(s);
}

static void start(void *state, float *at, size_t n)
{
    struct state *s = state;

    assert(s->n < s->max_bucket && n <= INT_MAX);
    HPS_MPI(MPI_Iallreduce(MPI_IN_PLACE, at, (int)n, MPI_FLOAT, MPI_SUM, s->comm,
                           &s->request[s->n++]));
}

static void poll(void *state)
{
    struct state *s = state;
    int done;

    HPS_MPI(MPI_Testall(s->n, s->request, &done, MPI_STATUSES_IGNORE));
}

static void wait(void *state)
{
    struct state *s = state;

    hps_wait_all(s->n, s->request);
    s->n = 0;
}

const struct hps_reduce_ops hps_reduce_mpi = {
    .name = "mpi",
    .open = open_mpi,
    .close = close_mpi,
    .start = start,
    .poll = poll,
    .wait = wait
};
