/* reduce_mpi.c - sums over MPI: one non-blocking all-reduce a bucket, in host memory, or a sum of
 * numbers that travel encoded. */
#include <assert.h>
#include <limits.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/wait.h"
#include "comm/reduce.h"
#include "comm/rounded_sum.h"

struct state {
    MPI_Comm comm;
    int n, max_bucket;
    MPI_Request *request;       /* (max_bucket) */
    struct hps_rounded_sum *rounded;    /* instead; NULL: numbers travel as fp32 */
};

static void *open_mpi(const struct hps_reduce_need *need, MPI_Comm comm)
{
    struct state *s = hps_mem_new(1, sizeof *s);

    s->comm = comm;
    s->max_bucket = need->nbucket;
    if (hps_codec_converts(need->codec))
        s->rounded = hps_rounded_sum_new(comm, s->max_bucket, need->codec, need->count);
    else
        s->request = hps_mem_new((size_t)s->max_bucket, sizeof(MPI_Request));
    return s;
}

static void close_mpi(void *state)
{
    struct state *s = state;

    hps_rounded_sum_free(s->rounded);
    hps_mem_free(s->request);
    hps_mem_free(s);
}

static void start(void *state, float *at, size_t n)
{
    struct state *s = state;

    assert(s->n < s->max_bucket && n <= INT_MAX);
    if (s->rounded)
        hps_rounded_sum_start(s->rounded, at, at, n);
    else
        HPS_MPI(MPI_Iallreduce(MPI_IN_PLACE, at, (int)n, MPI_FLOAT, MPI_SUM, s->comm,
                               &s->request[s->n]));
    s->n++;
}

static void poll(void *state)
{
    struct state *s = state;
    int done;

    if (s->rounded)
        hps_rounded_sum_done(s->rounded, s->n, false);
    else
        HPS_MPI(MPI_Testall(s->n, s->request, &done, MPI_STATUSES_IGNORE));
}

static void wait(void *state)
{
    struct state *s = state;

    if (s->rounded) {
        hps_rounded_sum_done(s->rounded, s->n, true);
        hps_rounded_sum_reset(s->rounded);
    } else {
        hps_wait_all(s->n, s->request);
    }
    s->n = 0;
}

static bool encodes(void *state)
{
    const struct state *s = state;
    return s->rounded != NULL;
}

const struct hps_reduce_ops hps_reduce_mpi = {
    .name = "mpi",
    .open = open_mpi,
    .close = close_mpi,
    .start = start,
    .poll = poll,
    .wait = wait,
    .encodes = encodes
};
