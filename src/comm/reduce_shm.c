/* reduce_shm.c - sums where ranks of a host share memory: each has its gradients there. A bucket
 * has as many shares as the largest host has ranks, distributed round robin over the ranks of each
 * host. A rank sums each of its shares over its host and stores the sums in all gradients of the
 * host, or, where sums are distributed, in its own only. With several hosts, a share is reduced
 * over the ranks that have it, one of each host: a host sends no more than one rank would.
 *
 * A share consists of whole cache lines. Each sum is computed once, in the order of the ranks. */
#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/parallel.h"
#include "base/say.h"
#include "base/wait.h"
#include "comm/encoded_sum.h"
#include "comm/reduce.h"
#include "comm/shm.h"

enum {
    LINE = 16,      /* floats                                             */
    BLOCK = 1024,   /* floats that are summed at a time, in the L1 cache */
    MAX_DIM = 1024  /* floats of a row of comm/shm                       */
};

/* A bucket and the requests that it waits for, in order. */
struct bucket {
    size_t first, end;          /* floats of the gradients               */
    MPI_Request made;           /* gradients of all ranks of the host    */
    MPI_Request *summed;        /* (nmine) this rank's shares, over hosts */
    MPI_Request laid;           /* all shares are stored on the host     */
};

struct state {
    struct hps_shm *shm;        /* NULL: this rank is alone on its host                      */
    float *own;                 /* then: its gradients                                       */
    int nthread, k, me;         /* threads; ranks of the host, this rank among them          */
    int nhost, my_host;         /* hosts; this one, from 1                                   */
    float **at;                 /* (k) the gradients of each rank of the host                */
    float **shown;              /* (k) of each what the others gather; NULL: not distributed */
    MPI_Request gathered;       /* the host's ranks have shown their shares                  */
    MPI_Request read;           /* and have read those of the others                         */
    size_t n, size;             /* floats of all gradients, of a bucket                      */
    MPI_Comm host, laid;        /* two communicators of the host, each with its own order    */
    int nshare, nmine;          /* shares of a bucket; of this rank: me, me + k, ..          */
    MPI_Comm *across;           /* (nmine) the ranks with the same share; none on one host   */
    struct hps_encoded_sum **encoded;   /* (nmine) over these; NULL: numbers travel as fp32  */
    float *residual;            /* (n) of this rank's shares; borrowed; NULL: there is none  */
    float *sum;                 /* this rank's shares of a step, summed over the host        */
    size_t nsum, sum_cap;
    struct bucket *bucket;      /* (max_bucket)                                              */
    MPI_Request *summed;        /* (max_bucket * nmine)                                      */
    int max_bucket, begun, added, given, laid_down;   /* counts of buckets                   */
};

/* ---- hosts and shares ---- */

/* The rows that hold n floats of each rank with the least address space. */
static int dim_for(size_t n, int parts)
{
    int dim = 1;

    while (dim < MAX_DIM && n / (size_t)dim >= (size_t)(HPS_SHM_MAX_ROWS / 2 / parts))
        dim *= 2;
    return dim;
}

/* The shared-memory peers, or this rank alone. Returns their number. */
static int meet_host(struct state *s, int parts, MPI_Comm comm)
{
    int first, seen = 0;

    HPS_MPI(MPI_Comm_rank(comm, &first));
    for (int q = parts - 1; s->shm && q >= 0; q--)
        if (hps_shm_is(s->shm, q)) {
            first = q;
            seen++;
        }
    HPS_MPI(MPI_Comm_split(comm, first, 0, &s->host));
    HPS_MPI(MPI_Comm_dup(s->host, &s->laid));
    HPS_MPI(MPI_Comm_size(s->host, &s->k));
    HPS_MPI(MPI_Comm_rank(s->host, &s->me));
    return s->shm ? seen : 1;
}

/* Can shared memory be used? Some rank has peers, and a rank with peers sees all ranks of its
 * host and has capacity for `rows`. Equal on all ranks. */
static bool serves(const struct state *s, int seen, size_t rows, int parts, MPI_Comm comm)
{
    bool fits = seen == s->k && (!s->shm || rows <= hps_shm_rows(s->shm));
    int mine[2] = { s->k, !fits }, worst[2], me;

    HPS_MPI(MPI_Allreduce(mine, worst, 2, MPI_INT, MPI_MAX, comm));
    HPS_MPI(MPI_Comm_rank(comm, &me));
    if (worst[1] && me == 0)
        HPS_SAY_ALL(HPS_INFO, "dense gradients of %d ranks travel inside hosts, too: no memory "
                              "that these share has room for them", parts);
    return worst[0] > 1 && !worst[1];
}

/* Each rank touches the memory of its own gradients, on its NUMA node, then maps that of the
 * others. */
static void see_all(struct state *s, bool by_share, size_t rows, int parts, MPI_Comm comm)
{
    int me, i = 0;

    s->at = hps_mem_new((size_t)s->k, sizeof *s->at);
    if (by_share) s->shown = hps_mem_new((size_t)s->k, sizeof *s->shown);
    if (!s->shm) {
        s->at[0] = s->own = hps_mem_new(s->n, sizeof *s->own);
        return;
    }
    HPS_MPI(MPI_Comm_rank(comm, &me));
    for (int b = 0; b <= by_share; b++)
        hps_shm_at(s->shm, me, b, rows);
    HPS_MPI(MPI_Barrier(s->host));
    for (int q = 0; q < parts; q++) {
        if (!hps_shm_is(s->shm, q)) continue;
        if (by_share) s->shown[i] = hps_shm_at(s->shm, q, 1, rows);
        s->at[i++] = hps_shm_at(s->shm, q, 0, rows);
    }
    assert(i == s->k);
}

static void deal_shares(struct state *s, MPI_Comm comm)
{
    int first = s->me == 0;

    HPS_MPI(MPI_Allreduce(&s->k, &s->nshare, 1, MPI_INT, MPI_MAX, comm));
    HPS_MPI(MPI_Allreduce(&first, &s->nhost, 1, MPI_INT, MPI_SUM, comm));
    HPS_MPI(MPI_Scan(&first, &s->my_host, 1, MPI_INT, MPI_SUM, comm));
    HPS_MPI(MPI_Bcast(&s->my_host, 1, MPI_INT, 0, s->host));
    s->nmine = (s->nshare - s->me + s->k - 1) / s->k;
}

/* Make the communicators across hosts. For each share the order begins with another host, since the
 * root of MPI's reduction tree sends and receives more than others. */
static void reach_across(struct state *s, MPI_Comm comm)
{
    s->across = hps_mem_new((size_t)s->nmine, sizeof *s->across);
    for (int j = 0; j < s->nshare; j++) {
        MPI_Comm some;
        bool mine = j % s->k == s->me;
        HPS_MPI(MPI_Comm_split(comm, mine ? 0 : MPI_UNDEFINED,
                               (s->my_host + s->nshare * s->nhost - j) % s->nhost, &some));
        if (mine) s->across[j / s->k] = some;
    }
}

/* All of them encode, or none does. */
static void encode_across(struct state *s, const struct hps_reduce_need *need)
{
    struct hps_encoded_sum **sum = hps_mem_new((size_t)s->nmine, sizeof(struct hps_encoded_sum *));

    for (int i = 0; i < s->nmine; i++)
        sum[i] = hps_encoded_sum_new(s->across[i], s->max_bucket, need);
    s->residual = need->residual;
    if (sum[0])
        s->encoded = sum;
    else
        hps_mem_free(sum);
}

/* Allocate the buckets and their requests. */
static void make_room(struct state *s)
{
    size_t lines = s->n / LINE + 2 * (size_t)s->max_bucket;

    s->sum_cap = (size_t)s->nmine * (lines / (size_t)s->nshare + (size_t)s->max_bucket) * LINE;
    s->sum = hps_mem_new(s->sum_cap, sizeof *s->sum);
    s->summed = hps_mem_new((size_t)s->max_bucket * (size_t)s->nmine, sizeof(MPI_Request));
    for (int b = 0; b < s->max_bucket; b++)
        s->bucket[b].summed = s->summed + (size_t)b * (size_t)s->nmine;
}

static void close_near(void *state)
{
    struct state *s = state;

    hps_wait_all(1, &s->read);
    for (int i = 0; s->across && i < s->nmine; i++) {
        if (s->encoded) hps_encoded_sum_free(s->encoded[i]);
        HPS_MPI(MPI_Comm_free(&s->across[i]));
    }
    HPS_MPI(MPI_Comm_free(&s->host));
    HPS_MPI(MPI_Comm_free(&s->laid));
    hps_shm_free(s->shm);
    hps_mem_free(s->own);
    hps_mem_free(s->at);
    hps_mem_free(s->shown);
    hps_mem_free(s->across);
    hps_mem_free(s->encoded);
    hps_mem_free(s->sum);
    hps_mem_free(s->summed);
    hps_mem_free(s->bucket);
    hps_mem_free(s);
}

static void *open_near(const struct hps_reduce_need *need, MPI_Comm comm)
{
    struct state *s = hps_mem_new(1, sizeof *s);
    int parts;

    HPS_MPI(MPI_Comm_size(comm, &parts));
    const int dim = dim_for(need->n, parts), dims[2] = { dim, dim };
    const size_t rows = need->n / (size_t)dim + 1;
    *s = (struct state){ .nthread = need->dev->nthread, .max_bucket = need->nbucket,
                         .n = need->n, .size = need->bucket, .gathered = MPI_REQUEST_NULL,
                         .read = MPI_REQUEST_NULL };
    s->shm = hps_shm_new(need->dev->host, 1 + need->by_share, dims, comm);
    int seen = meet_host(s, parts, comm);
    if (!serves(s, seen, rows, parts, comm)) {
        close_near(s);
        return NULL;
    }
    s->bucket = hps_mem_new((size_t)s->max_bucket, sizeof *s->bucket);
    see_all(s, need->by_share, rows, parts, comm);
    deal_shares(s, comm);
    if (s->nhost > 1) {
        reach_across(s, comm);
        encode_across(s, need);
        make_room(s);
    }
    return s;
}

static float *memory(void *state)
{
    const struct state *s = state;
    return s->at[s->me];
}

/* ---- a bucket ---- */

/* The beginning of share j of a bucket. */
static size_t share(const struct state *s, const struct bucket *b, int j)
{
    size_t line = b->first / LINE, lines = (b->end + LINE - 1) / LINE - line;
    size_t at = (line + lines * (size_t)j / (size_t)s->nshare) * LINE;

    return at < b->first ? b->first : at > b->end ? b->end : at;
}

/* Sum a share over the host: to all gradients of the host, or (several hosts) to `to`. */
struct adding {
    const struct state *s;
    struct hps_parallel work;
    size_t first, end;
    float *to;
};

static void lay_down(const struct state *s, const float *sum, size_t at, size_t n)
{
    for (int q = 0; q < s->k; q++)
        if (sum != s->at[q] + at) memcpy(s->at[q] + at, sum, n * sizeof *sum);
}

/* Where sums are distributed: each rank's gradients are done with. */
static void zero_all(const struct state *s, size_t at, size_t n)
{
    for (int q = 0; q < s->k; q++)
        memset(s->at[q] + at, 0, n * sizeof *s->at[q]);
}

static void add_block(const struct adding *j, size_t at, size_t n)
{
    const struct state *s = j->s;
    float sum[BLOCK];

    memcpy(sum, s->at[0] + at, n * sizeof *sum);
    for (int q = 1; q < s->k; q++) {
        const float *x = s->at[q] + at;
        for (size_t i = 0; i < n; i++)
            sum[i] += x[i];
    }
    if (s->shown) zero_all(s, at, n);
    if (j->to)
        memcpy(j->to + (at - j->first), sum, n * sizeof *sum);
    else if (s->shown)
        memcpy(s->at[s->me] + at, sum, n * sizeof *sum);
    else
        lay_down(s, sum, at, n);
}

static void add_part(void *job, int t)
{
    const struct adding *j = job;
    size_t lines = (j->end - j->first + LINE - 1) / LINE;
    size_t at = j->first + hps_parallel_cut(&j->work, lines, t) * LINE;
    size_t end = j->first + hps_parallel_cut(&j->work, lines, t + 1) * LINE;

    for (; at < end && at < j->end; at += BLOCK) {
        size_t n = (end < j->end ? end : j->end) - at;
        add_block(j, at, n < BLOCK ? n : BLOCK);
    }
}

/* Where sums are distributed, nobody waits for those of others. */
static void tell_laid(struct state *s, struct bucket *b)
{
    s->given++;
    if (s->shown) return;
    hps_shm_release();
    HPS_MPI(MPI_Ibarrier(s->laid, &b->laid));
}

/* Reduce share i of this rank over hosts; MPI's algorithms are better when not in place. */
static void add_share(struct state *s, struct bucket *b, int i)
{
    int share_of = s->me + i * s->k;
    struct adding j = { .s = s, .first = share(s, b, share_of), .end = share(s, b, share_of + 1),
                        .to = s->nhost > 1 ? s->sum + s->nsum : NULL };
    size_t n = j.end - j.first;

    j.work = hps_parallel_of(n * (size_t)s->k / LINE, s->nthread);
    hps_parallel_for(&j.work, add_part, &j);
    if (!j.to) return;
    s->nsum += n;
    assert(n <= INT_MAX && s->nsum <= s->sum_cap);
    float *to = memory(s) + j.first;
    if (s->encoded)
        hps_encoded_sum_start(s->encoded[i], j.to, to, n,
                              s->residual ? s->residual + j.first : NULL);
    else
        HPS_MPI(MPI_Iallreduce(j.to, to, (int)n, MPI_FLOAT, MPI_SUM, s->across[i],
                               &b->summed[i]));
}

/* All ranks of the host have computed the bucket: sum the shares. */
static void add(struct state *s, struct bucket *b)
{
    hps_shm_acquire();
    for (int i = 0; i < s->nmine; i++)
        add_share(s, b, i);
    s->added++;
    if (s->nhost == 1) tell_laid(s, b);
}

/* This rank's shares are summed over all hosts: store them on the host. */
static void give(struct state *s, struct bucket *b)
{
    for (int j = s->me; !s->shown && j < s->nshare; j += s->k) {
        size_t first = share(s, b, j);
        lay_down(s, memory(s) + first, first, share(s, b, j + 1) - first);
    }
    tell_laid(s, b);
}

/* ---- progress ---- */

static void start(void *state, float *at, size_t n)
{
    struct state *s = state;
    struct bucket *b = &s->bucket[s->begun];

    assert(s->begun < s->max_bucket);
    b->first = (size_t)(at - memory(s));
    b->end = b->first + n;
    hps_shm_release();
    HPS_MPI(MPI_Ibarrier(s->host, &b->made));
    s->begun++;
}

/* Is bucket b summed over all hosts? `blocking`: yes, after waiting. All ranks wait for shares in
 * the order of their numbers, so that those of a share never wait for each other in a circle. */
static bool is_summed(struct state *s, int b, bool blocking)
{
    bool done = true;

    if (!s->encoded) return hps_wait_arrived(s->nmine, s->bucket[b].summed, blocking);
    for (int i = 0; i < s->nmine; i++)
        done &= hps_encoded_sum_done(s->encoded[i], b + 1, blocking);
    return done;
}

/* Advance buckets in order, the same on all ranks; `blocking`: wait for each. */
static void advance_given(struct state *s, bool blocking)
{
    while (s->given < s->added && is_summed(s, s->given, blocking))
        give(s, &s->bucket[s->given]);
    while (s->laid_down < s->given &&
           (s->shown || hps_wait_arrived(1, &s->bucket[s->laid_down].laid, blocking)))
        s->laid_down++;
}

static void advance(struct state *s, bool blocking)
{
    while (s->added < s->begun && hps_wait_arrived(1, &s->bucket[s->added].made, blocking)) {
        add(s, &s->bucket[s->added]);
        advance_given(s, false);
    }
    advance_given(s, blocking);
}

static void poll(void *state)
{
    advance(state, false);
}

static void wait(void *state)
{
    struct state *s = state;

    advance(s, true);
    hps_shm_acquire();
    for (int i = 0; s->encoded && i < s->nmine; i++)
        hps_encoded_sum_reset(s->encoded[i]);
    s->begun = s->added = s->given = s->laid_down = 0;
    s->nsum = 0;
}

static bool encodes(void *state)
{
    const struct state *s = state;
    return s->encoded != NULL;
}

static void find_host(void *state, struct hps_reduce_host *host)
{
    const struct state *s = state;
    *host = (struct hps_reduce_host){ s->host, s->my_host - 1, s->nhost };
}

/* ---- shares ---- */

static bool find_share(const struct state *s, int rank, int i, size_t *first, size_t *end)
{
    int each = (s->nshare - rank + s->k - 1) / s->k, b = i / each, j = rank + i % each * s->k;
    struct bucket at = { .first = 0 };

    if (b >= s->max_bucket) return false;
    at.first = hps_reduce_bucket(s->n, s->size, b, &at.end);
    *first = share(s, &at, j);
    *end = share(s, &at, j + 1);
    return true;
}

static bool my_share(void *state, int i, size_t *first, size_t *end)
{
    const struct state *s = state;
    return find_share(s, s->me, i, first, end);
}

static void gather_begin(void *state, const float *x)
{
    struct state *s = state;
    size_t first, end;

    if (s->k == 1) return;
    hps_wait_all(1, &s->read);
    for (int i = 0; find_share(s, s->me, i, &first, &end); i++)
        memcpy(s->shown[s->me] + first, x + first, (end - first) * sizeof *x);
    hps_shm_release();
    HPS_MPI(MPI_Ibarrier(s->laid, &s->gathered));
}

static void gather_end(void *state, float *x)
{
    struct state *s = state;
    size_t first, end;

    if (s->k == 1) return;
    hps_wait_all(1, &s->gathered);
    hps_shm_acquire();
    for (int q = 0; q < s->k; q++)
        for (int i = 0; q != s->me && find_share(s, q, i, &first, &end); i++)
            memcpy(x + first, s->shown[q] + first, (end - first) * sizeof *x);
    HPS_MPI(MPI_Ibarrier(s->laid, &s->read));
}

const struct hps_reduce_ops hps_reduce_shm = { .name = "near",
                                               .open = open_near,
                                               .close = close_near,
                                               .memory = memory,
                                               .start = start,
                                               .poll = poll,
                                               .wait = wait,
                                               .encodes = encodes,
                                               .host = find_host,
                                               .share = my_share,
                                               .gather_begin = gather_begin,
                                               .gather_end = gather_end };
