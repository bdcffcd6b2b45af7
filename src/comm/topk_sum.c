/* topk_sum.c - an all-gather of messages that are as long on all ranks. */
#include "comm/topk_sum.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/multiversion.h"
#include "base/wait.h"
#include "comm/topk.h"

enum { BLOCK = 1024 };          /* numbers whose error is measured at a time */

struct one {
    float *to;
    size_t n, k, words;         /* numbers, of which k travel, in a message of so many words */
    uint32_t *sent;             /* (words)       */
    uint32_t *got;              /* (rank, words) */
    size_t sent_cap, got_cap;
    MPI_Request travel;
};

struct hps_topk_sum {
    MPI_Comm comm;
    int nrank, max, begun, done;
    double share;
    struct hps_message_count *count;
    struct one *one;            /* (max) */
};

struct hps_topk_sum *hps_topk_sum_new(MPI_Comm comm, int nsum, double share,
                                      struct hps_message_count *count)
{
    struct hps_topk_sum *s = hps_mem_new(1, sizeof *s);

    HPS_MPI(MPI_Comm_dup(comm, &s->comm));
    HPS_MPI(MPI_Comm_size(comm, &s->nrank));
    s->max = nsum;
    s->share = share;
    s->count = count;
    s->one = hps_mem_new((size_t)nsum, sizeof *s->one);
    return s;
}

void hps_topk_sum_free(struct hps_topk_sum *s)
{
    if (!s) return;
    for (int i = 0; i < s->max; i++) {
        hps_mem_free(s->one[i].sent);
        hps_mem_free(s->one[i].got);
    }
    HPS_MPI(MPI_Comm_free(&s->comm));
    hps_mem_free(s->one);
    hps_mem_free(s);
}

HPS_MULTIVERSION static void add_summands(size_t n, const float *restrict x,
                                          float *restrict residual)
{
    for (size_t i = 0; i < n; i++)
        residual[i] += x[i];
}

/* What is not sent is the error of what is. */
static void measure_left(size_t n, const float *residual, struct hps_message_count *count)
{
    static const float zero[BLOCK];

    for (size_t at = 0; at < n; at += BLOCK)
        hps_message_compare(n - at < BLOCK ? n - at : BLOCK, zero, residual + at, count);
}

/* Take the largest numbers out of the residual. */
static void take(const struct hps_topk_sum *s, const struct one *o, float *residual)
{
    bool measures = hps_message_measures(s->count);

    if (measures) hps_message_compare(o->n, residual, residual, s->count);
    hps_topk_take(o->n, residual, o->k, o->sent);
    if (measures) measure_left(o->n, residual, s->count);
}

void hps_topk_sum_start(struct hps_topk_sum *s, const float *x, float *to, size_t n,
                        float *residual)
{
    struct one *o = &s->one[s->begun++];
    double others = s->nrank - 1, bytes = (double)n * sizeof(float);

    assert(s->begun <= s->max);
    o->to = to;
    o->n = n;
    o->k = hps_topk_count(n, s->share);
    o->words = hps_topk_words(n, o->k);
    assert(o->words <= INT_MAX);
    hps_mem_grow(&o->sent, &o->sent_cap, o->words, sizeof *o->sent);
    hps_mem_grow(&o->got, &o->got_cap, (size_t)s->nrank * o->words, sizeof *o->got);
    add_summands(n, x, residual);
    if (n > 0) take(s, o, residual);
    s->count->bytes += others * (double)o->words * sizeof *o->sent;
    s->count->plain_bytes += 2 * others / s->nrank * bytes;
    HPS_MPI(MPI_Iallgather(o->sent, (int)o->words, MPI_UINT32_T, o->got, (int)o->words,
                           MPI_UINT32_T, s->comm, &o->travel));
}

static void add(const struct hps_topk_sum *s, const struct one *o)
{
    if (o->n == 0) return;
    memset(o->to, 0, o->n * sizeof *o->to);
    for (int q = 0; q < s->nrank; q++)
        hps_topk_add(o->n, o->k, o->got + (size_t)q * o->words, o->to);
}

bool hps_topk_sum_done(struct hps_topk_sum *s, int n, bool blocking)
{
    assert(n <= s->begun);
    while (s->done < s->begun &&
           hps_wait_arrived(1, &s->one[s->done].travel, blocking && s->done < n))
        add(s, &s->one[s->done++]);
    return s->done >= n;
}

void hps_topk_sum_reset(struct hps_topk_sum *s)
{
    assert(s->done == s->begun);
    s->begun = s->done = 0;
}
