/* rounded_sum.c - an all-to-all of summands, an all-gather of sums, both encoded. */
#include "comm/rounded_sum.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/multiversion.h"
#include "base/wait.h"

enum { BLOCK = 1024 };          /* numbers that are added at a time, in the L1 cache */

/* A sum: first its summands travel, then the sums. */
struct one {
    float *to;
    size_t n, piece;            /* of all numbers; of a rank's piece, padded at the end */
    unsigned char *sent;        /* (k, piece) encoded: my summands, then all sums       */
    unsigned char *got;         /* (k, piece) the summands of my piece, then its sum    */
    size_t sent_cap, got_cap;
    MPI_Request travel;
};

struct hps_rounded_sum {
    /* Ranks go on from summands to sums at different times: each kind has its own order. */
    MPI_Comm summands, sums;
    int k, max, begun, added, done;
    const struct hps_codec_ops *codec;
    struct hps_message_count *count;
    struct one *one;            /* (max) */
};

struct hps_rounded_sum *hps_rounded_sum_new(MPI_Comm comm, int nsum,
                                            const struct hps_codec_ops *codec,
                                            struct hps_message_count *count)
{
    struct hps_rounded_sum *s = hps_mem_new(1, sizeof *s);

    HPS_MPI(MPI_Comm_dup(comm, &s->summands));
    HPS_MPI(MPI_Comm_dup(comm, &s->sums));
    HPS_MPI(MPI_Comm_size(comm, &s->k));
    s->max = nsum;
    s->codec = codec;
    s->count = count;
    s->one = hps_mem_new((size_t)nsum, sizeof *s->one);
    return s;
}

void hps_rounded_sum_free(struct hps_rounded_sum *s)
{
    if (!s) return;
    for (int i = 0; i < s->max; i++) {
        hps_mem_free(s->one[i].sent);
        hps_mem_free(s->one[i].got);
    }
    HPS_MPI(MPI_Comm_free(&s->summands));
    HPS_MPI(MPI_Comm_free(&s->sums));
    hps_mem_free(s->one);
    hps_mem_free(s);
}

void hps_rounded_sum_start(struct hps_rounded_sum *s, const float *x, float *to, size_t n)
{
    struct one *o = &s->one[s->begun++];
    size_t k = (size_t)s->k;

    assert(s->begun <= s->max);
    o->to = to;
    o->n = n;
    o->piece = (n + k - 1) / k;
    size_t bytes = s->codec->bytes(o->piece), used = s->codec->bytes(n);
    assert(bytes <= INT_MAX);
    hps_mem_grow(&o->sent, &o->sent_cap, k * bytes, sizeof *o->sent);
    hps_mem_grow(&o->got, &o->got_cap, k * bytes, sizeof *o->got);
    hps_message_encode(s->codec, 1, n, x, o->sent, s->count);
    if (n > 0) memset(o->sent + used, 0, k * bytes - used);
    HPS_MPI(MPI_Ialltoall(o->sent, (int)bytes, MPI_BYTE, o->got, (int)bytes, MPI_BYTE, s->summands,
                          &o->travel));
}

HPS_MULTIVERSION static void add_block(size_t n, const float *restrict y, float *restrict x)
{
    for (size_t i = 0; i < n; i++)
        x[i] += y[i];
}

/* The summands of my piece are here: their sum is stored over the first ones. */
static void add_piece(const struct hps_rounded_sum *s, struct one *o)
{
    size_t bytes = s->codec->bytes(o->piece);
    float sum[BLOCK], more[BLOCK];

    for (size_t at = 0; at < o->piece; at += BLOCK) {
        size_t n = o->piece - at < BLOCK ? o->piece - at : BLOCK;
        unsigned char *got = o->got + s->codec->bytes(at);
        s->codec->decode(1, n, got, sum);
        for (int q = 1; q < s->k; q++) {
            s->codec->decode(1, n, got + (size_t)q * bytes, more);
            add_block(n, more, sum);
        }
        hps_message_encode(s->codec, 1, n, sum, got, s->count);
    }
    HPS_MPI(MPI_Iallgather(o->got, (int)bytes, MPI_BYTE, o->sent, (int)bytes, MPI_BYTE, s->sums,
                           &o->travel));
}

bool hps_rounded_sum_done(struct hps_rounded_sum *s, int n, bool blocking)
{
    assert(n <= s->begun);
    while (s->added < s->begun &&
           hps_wait_arrived(1, &s->one[s->added].travel, blocking && s->added < n))
        add_piece(s, &s->one[s->added++]);
    while (s->done < s->added &&
           hps_wait_arrived(1, &s->one[s->done].travel, blocking && s->done < n)) {
        const struct one *o = &s->one[s->done++];
        if (o->n > 0) s->codec->decode(1, o->n, o->sent, o->to);
    }
    return s->done >= n;
}

void hps_rounded_sum_reset(struct hps_rounded_sum *s)
{
    assert(s->done == s->begun);
    s->begun = s->added = s->done = 0;
}
