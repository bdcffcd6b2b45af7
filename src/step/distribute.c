/* distribute.c - things to the ranks that own them, in rounds that fit MPI's int counts. */
#include "step/distribute.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/mpi_check.h"

enum { ROUND_BYTES = 16 << 20 };    /* of things that a rank sends, or takes, in one round */

struct spread {
    MPI_Comm comm;
    MPI_Datatype thing;
    size_t size;
    int R;
    long long piece;                /* most things from one rank to another in a round     */
    const char **at;                /* (R) the next things for each rank                    */
    long long *left, *coming;       /* (R) things still to send, still to take             */
    int *nout, *nin, *out0, *in0;   /* (R) of this round: counts and places                */
    char *stage;                    /* what this round sends                               */
};

static long long least(long long a, long long b)
{
    return a < b ? a : b;
}

static void begin(struct spread *s, const char *from, const long long *count)
{
    size_t R = (size_t)s->R;

    s->piece = (long long)(ROUND_BYTES / (s->size * R));
    if (s->piece < 1) s->piece = 1;
    s->at = hps_mem_new(R, sizeof *s->at);
    s->left = hps_mem_new(2 * R, sizeof *s->left);
    s->coming = s->left + R;
    s->nout = hps_mem_new(4 * R, sizeof *s->nout);
    s->nin = s->nout + R;
    s->out0 = s->nin + R;
    s->in0 = s->out0 + R;
    s->stage = hps_mem_new((size_t)s->piece * R, s->size);
    for (int r = 0; r < s->R; r++) {
        s->at[r] = from;
        s->left[r] = count[r];
        from += (size_t)count[r] * s->size;
    }
    HPS_MPI(MPI_Alltoall(s->left, 1, MPI_LONG_LONG, s->coming, 1, MPI_LONG_LONG, s->comm));
    HPS_MPI(MPI_Type_contiguous((int)s->size, MPI_BYTE, &s->thing));
    HPS_MPI(MPI_Type_commit(&s->thing));
}

static void end(struct spread *s)
{
    HPS_MPI(MPI_Type_free(&s->thing));
    hps_mem_free(s->stage);
    hps_mem_free(s->nout);
    hps_mem_free(s->left);
    hps_mem_free(s->at);
}

/* Fill the stage with the next piece for each rank, take theirs; returns how many came. */
static long long one_round(struct spread *s, char *to)
{
    int out = 0, in = 0;

    for (int r = 0; r < s->R; r++) {
        s->nout[r] = (int)least(s->left[r], s->piece);
        s->nin[r] = (int)least(s->coming[r], s->piece);
        s->out0[r] = out;
        s->in0[r] = in;
        memcpy(s->stage + (size_t)out * s->size, s->at[r], (size_t)s->nout[r] * s->size);
        s->at[r] += (size_t)s->nout[r] * s->size;
        s->left[r] -= s->nout[r];
        s->coming[r] -= s->nin[r];
        out += s->nout[r];
        in += s->nin[r];
    }
    HPS_MPI(MPI_Alltoallv(s->stage, s->nout, s->out0, s->thing, to, s->nin, s->in0, s->thing,
                          s->comm));
    return in;
}

static void *alone(const void *from, size_t size, long long n)
{
    void *to = hps_mem_new((size_t)n, size);

    if (n > 0) memcpy(to, from, (size_t)n * size);
    return to;
}

void *hps_distribute(const void *from, size_t size, const long long *count, long long *n,
                     MPI_Comm comm)
{
    struct spread s = { .comm = comm, .size = size, .R = 1 };
    long long most = 0, all, came = 0;

    assert(size > 0 && size <= ROUND_BYTES);
    *n = count[0];
    if (comm == MPI_COMM_NULL) return alone(from, size, *n);
    HPS_MPI(MPI_Comm_size(comm, &s.R));
    begin(&s, from, count);
    *n = 0;
    for (int r = 0; r < s.R; r++) {
        *n += s.coming[r];
        if (s.left[r] > most) most = s.left[r];
    }
    HPS_MPI(MPI_Allreduce(&most, &all, 1, MPI_LONG_LONG, MPI_MAX, comm));
    char *to = hps_mem_new((size_t)*n, size);
    for (long long done = 0; done < all; done += s.piece)
        came += one_round(&s, to + (size_t)came * size);
    assert(came == *n);
    end(&s);
    return to;
}
