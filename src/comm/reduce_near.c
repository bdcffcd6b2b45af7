/* reduce_near.c - sums where ranks of a host share memory: there each makes its gradients, adds up
 * one share of a bucket over all of its host, and lays the sums down at all of them. Between hosts
 * a share travels, to those alone who have the same share on theirs: a host sends no more than one
 * rank would.
 *
 * A share is of whole cache lines. Each sum is made once, in the order of the ranks on its host. */
#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "base/work.h"
#include "comm/near.h"
#include "comm/reduce.h"

enum {
    LINE = 16,                  /* floats                                                    */
    BLOCK = 1024,               /* of them are added up at once, in the nearest cache        */
    ROW = 64                    /* what comm/near calls one                                  */
};

/* A bucket, in the order of their beginnings; what it waits for. */
struct bucket {
    size_t first, end;          /* floats of the gradients                                   */
    MPI_Request made;           /* by all of my host                                         */
    MPI_Request summed;         /* over the hosts: my share                                  */
    MPI_Request laid;           /* everybody's share, everywhere                             */
};

struct state {
    struct hps_near *near;
    int nthread, k, me, nhost;  /* ranks of my host, my place among them, hosts              */
    float **at;                 /* (k) everybody's gradients                                 */
    MPI_Comm host, laid, across;        /* my host twice: each has an order of its own       */
    struct bucket *bucket;      /* (most)                                                    */
    int most, begun, added, summed, laid_down;  /* so many of them                           */
};

/* ---- who ---- */

/* Those who are near, if that serves: n gradients have room, all of comm have somebody, as many on
 * each host, and all of a host are near each other. Else MPI_COMM_NULL, everywhere. */
static MPI_Comm host_of(const struct hps_near *near, size_t n, int parts, MPI_Comm comm)
{
    int lowest = 0, k = 0, size = 0, most[2];
    MPI_Comm host;

    for (int q = parts - 1; q >= 0; q--)
        if (hps_near_is(near, q)) {
            lowest = q;
            k++;
        }
    HPS_MPI(MPI_Comm_split(comm, k > 0 ? lowest : MPI_UNDEFINED, 0, &host));
    if (k > 0) HPS_MPI(MPI_Comm_size(host, &size));
    bool serves = k > 0 && k == size && n / ROW < hps_near_rows(near);
    int mine[2] = { k, serves ? -k : 0 };
    HPS_MPI(MPI_Allreduce(mine, most, 2, MPI_INT, MPI_MAX, comm));
    if (most[0] == -most[1] && most[0] > 0) return host;
    if (k > 0) HPS_MPI(MPI_Comm_free(&host));
    return MPI_COMM_NULL;
}

static void close_near(void *state)
{
    struct state *s = state;

    if (s->across != MPI_COMM_NULL) HPS_MPI(MPI_Comm_free(&s->across));
    HPS_MPI(MPI_Comm_free(&s->host));
    HPS_MPI(MPI_Comm_free(&s->laid));
    hps_near_free(s->near);
    hps_mem_free(s->at);
    hps_mem_free(s->bucket);
    hps_mem_free(s);
}

static void see_all(struct state *s, size_t n, int parts)
{
    int i = 0;

    s->at = hps_mem_new((size_t)s->k, sizeof *s->at);
    for (int q = 0; q < parts; q++)
        if (hps_near_is(s->near, q)) s->at[i++] = hps_near_at(s->near, q, 0, n / ROW + 1);
    assert(i == s->k);
}

static void *open_near(const struct hps_reduce_need *need, MPI_Comm comm)
{
    const int dim = ROW;
    int parts;

    HPS_MPI(MPI_Comm_size(comm, &parts));
    struct hps_near *near = hps_near_new(need->dev->host, 1, &dim, comm);
    MPI_Comm host = host_of(near, need->n, parts, comm);
    if (host == MPI_COMM_NULL) {
        hps_near_free(near);
        return NULL;
    }
    struct state *s = hps_mem_new(1, sizeof *s);
    *s = (struct state){ .near = near, .nthread = need->dev->nthread, .host = host,
                         .across = MPI_COMM_NULL, .most = need->nbucket };
    HPS_MPI(MPI_Comm_size(host, &s->k));
    HPS_MPI(MPI_Comm_rank(host, &s->me));
    HPS_MPI(MPI_Comm_dup(host, &s->laid));
    s->nhost = parts / s->k;
    if (s->nhost > 1) HPS_MPI(MPI_Comm_split(comm, s->me, 0, &s->across));
    s->bucket = hps_mem_new((size_t)s->most, sizeof *s->bucket);
    see_all(s, need->n, parts);
    return s;
}

static float *home(void *state)
{
    const struct state *s = state;
    return s->at[s->me];
}

/* ---- a bucket ---- */

/* Where the share of member i begins. */
static size_t share(const struct state *s, const struct bucket *b, int i)
{
    size_t line = b->first / LINE, lines = (b->end + LINE - 1) / LINE - line;
    size_t at = (line + lines * (size_t)i / (size_t)s->k) * LINE;

    return at < b->first ? b->first : at > b->end ? b->end : at;
}

struct adding {
    const struct state *s;
    struct hps_work work;
    size_t first, end;
};

static void lay_down(const struct state *s, const float *sum, size_t at, size_t n)
{
    for (int q = 0; q < s->k; q++)
        if (sum != s->at[q] + at) memcpy(s->at[q] + at, sum, n * sizeof *sum);
}

static void add_block(const struct state *s, size_t at, size_t n)
{
    float sum[BLOCK];

    memcpy(sum, s->at[0] + at, n * sizeof *sum);
    for (int q = 1; q < s->k; q++) {
        const float *x = s->at[q] + at;
        for (size_t i = 0; i < n; i++)
            sum[i] += x[i];
    }
    if (s->nhost == 1)
        lay_down(s, sum, at, n);
    else
        memcpy(s->at[s->me] + at, sum, n * sizeof *sum);
}

static void add_part(void *job, int t)
{
    const struct adding *j = job;
    size_t lines = (j->end - j->first + LINE - 1) / LINE;
    size_t at = j->first + hps_work_cut(&j->work, lines, t) * LINE;
    size_t end = j->first + hps_work_cut(&j->work, lines, t + 1) * LINE;

    for (; at < end && at < j->end; at += BLOCK) {
        size_t n = (end < j->end ? end : j->end) - at;
        add_block(j->s, at, n < BLOCK ? n : BLOCK);
    }
}

static void tell_laid(struct state *s, struct bucket *b)
{
    hps_near_show();
    HPS_MPI(MPI_Ibarrier(s->laid, &b->laid));
}

/* All of my host have made it. */
static void add(struct state *s, struct bucket *b)
{
    struct adding j = { .s = s, .first = share(s, b, s->me), .end = share(s, b, s->me + 1) };
    size_t n = j.end - j.first;

    j.work = hps_work_of(n * (size_t)s->k / LINE, s->nthread);
    hps_near_see();
    hps_work_spread(&j.work, add_part, &j);
    s->added++;
    if (s->nhost > 1) {
        assert(n <= INT_MAX);
        HPS_MPI(MPI_Iallreduce(MPI_IN_PLACE, home(s) + j.first, (int)n, MPI_FLOAT, MPI_SUM,
                               s->across, &b->summed));
        return;
    }
    tell_laid(s, b);
    s->summed++;
}

/* My share is summed over all hosts. */
static void give(struct state *s, struct bucket *b)
{
    size_t first = share(s, b, s->me), end = share(s, b, s->me + 1);

    lay_down(s, home(s) + first, first, end - first);
    tell_laid(s, b);
    s->summed++;
}

/* ---- the order of things ---- */

static void start(void *state, float *at, size_t n)
{
    struct state *s = state;
    struct bucket *b = &s->bucket[s->begun];

    assert(s->begun < s->most);
    *b = (struct bucket){ .first = (size_t)(at - home(s)) };
    b->end = b->first + n;
    hps_near_show();
    HPS_MPI(MPI_Ibarrier(s->host, &b->made));
    s->begun++;
}

static bool arrived(MPI_Request *request, bool patient)
{
    int done = 1;

    if (patient)
        hps_wait_all(1, request);
    else
        HPS_MPI(MPI_Test(request, &done, MPI_STATUS_IGNORE));
    return done;
}

/* Every way in the order of the buckets, on all ranks alike; `patient`: the first is waited for. */
static void advance(struct state *s, bool patient)
{
    while (s->added < s->begun && arrived(&s->bucket[s->added].made, patient))
        add(s, &s->bucket[s->added]);
    while (s->summed < s->added && arrived(&s->bucket[s->summed].summed, patient))
        give(s, &s->bucket[s->summed]);
    while (s->laid_down < s->summed && arrived(&s->bucket[s->laid_down].laid, patient))
        s->laid_down++;
}

static void poll(void *state)
{
    advance(state, false);
}

static void wait(void *state)
{
    struct state *s = state;

    advance(s, true);
    hps_near_see();
    s->begun = s->added = s->summed = s->laid_down = 0;
}

const struct hps_reduce_ops hps_reduce_near = {
    .name = "near",
    .open = open_near,
    .close = close_near,
    .home = home,
    .start = start,
    .poll = poll,
    .wait = wait
};
