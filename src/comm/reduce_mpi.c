/* reduce_mpi.c - sums over MPI: one non-blocking all-reduce a bucket, in host memory, or a sum of
 * numbers that travel encoded. Each rank is a host of its own. */
#include <assert.h>
#include <limits.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/wait.h"
#include "comm/encoded_sum.h"
#include "comm/reduce.h"

struct state {
    MPI_Comm comm;
    int n, max_bucket;
    MPI_Request *request;       /* (max_bucket) */
    struct hps_encoded_sum *encoded;    /* instead; NULL: numbers travel as fp32 */
    size_t all, bucket;                 /* floats of all gradients, of a bucket  */
    float *residual;                    /* (all) borrowed; NULL: there is none   */
};

static void *open_mpi(const struct hps_reduce_need *need, MPI_Comm comm)
{
    struct state *s = hps_mem_new(1, sizeof *s);

    s->comm = comm;
    s->max_bucket = need->nbucket;
    s->all = need->n;
    s->bucket = need->bucket;
    s->residual = need->residual;
    s->encoded = hps_encoded_sum_new(comm, s->max_bucket, need);
    if (s->encoded) return s;
    s->request = hps_mem_new((size_t)s->max_bucket, sizeof(MPI_Request));
    return s;
}

static void close_mpi(void *state)
{
    struct state *s = state;

    hps_encoded_sum_free(s->encoded);
    hps_mem_free(s->request);
    hps_mem_free(s);
}

static void start(void *state, float *at, size_t n)
{
    struct state *s = state;

    assert(s->n < s->max_bucket && n <= INT_MAX);
    size_t end, first = hps_reduce_bucket(s->all, s->bucket, s->n, &end);
    if (s->encoded)
        hps_encoded_sum_start(s->encoded, at, at, n, s->residual ? s->residual + first : NULL);
    else
        HPS_MPI(MPI_Iallreduce(MPI_IN_PLACE, at, (int)n, MPI_FLOAT, MPI_SUM, s->comm,
                               &s->request[s->n]));
    s->n++;
}

static void poll(void *state)
{
    struct state *s = state;
    int done;

    if (s->encoded)
        hps_encoded_sum_done(s->encoded, s->n, false);
    else
        HPS_MPI(MPI_Testall(s->n, s->request, &done, MPI_STATUSES_IGNORE));
}

static void wait(void *state)
{
    struct state *s = state;

    if (s->encoded) {
        hps_encoded_sum_done(s->encoded, s->n, true);
        hps_encoded_sum_reset(s->encoded);
    } else {
        hps_wait_all(s->n, s->request);
    }
    s->n = 0;
}

static void find_host(void *state, struct hps_reduce_host *host)
{
    const struct state *s = state;

    host->ranks = MPI_COMM_NULL;
    HPS_MPI(MPI_Comm_rank(s->comm, &host->index));
    HPS_MPI(MPI_Comm_size(s->comm, &host->n));
}

static bool all_of_it(void *state, int i, size_t *first, size_t *end)
{
    const struct state *s = state;

    *first = 0;
    *end = s->all;
    return i == 0;
}

static bool encodes(void *state)
{
    const struct state *s = state;
    return s->encoded != NULL;
}

const struct hps_reduce_ops hps_reduce_mpi = {
    .name = "mpi",
    .open = open_mpi,
    .close = close_mpi,
    .start = start,
    .poll = poll,
    .wait = wait,
    .encodes = encodes,
    .host = find_host,
    .share = all_of_it
};
