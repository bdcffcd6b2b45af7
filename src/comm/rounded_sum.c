/* rounded_sum.c - an all-to-all of summands, an all-gather of sums, both of bf16. */
#include "comm/rounded_sum.h"

#include <assert.h>
#include <limits.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/multiversion.h"
#include "base/wait.h"
#include "hw/bf16.h"

enum { BLOCK = 1024 };          /* numbers that are added at a time, in the L1 cache */

/* A sum: first its summands travel, then the sums. */
struct one {
    float *to;
    size_t n, piece;            /* of all numbers; of a rank's piece, padded at the end */
    uint16_t *sent;             /* (k, piece) my summands, then all sums                */
    uint16_t *got;              /* (k, piece) the summands of my piece, then its sum    */
    size_t sent_cap, got_cap;
    MPI_Request travel;
};

struct hps_rounded_sum {
    /* Ranks go on from summands to sums at different times: each kind has its own order. */
    MPI_Comm summands, sums;
    int k, max, begun, added, done;
    struct one *one;            /* (max) */
};

struct hps_rounded_sum *hps_rounded_sum_new(MPI_Comm comm, int nsum)
{
    struct hps_rounded_sum *s = hps_mem_new(1, sizeof *s);

    HPS_MPI(MPI_Comm_dup(comm, &s->summands));
    HPS_MPI(MPI_Comm_dup(comm, &s->sums));
    HPS_MPI(MPI_Comm_size(comm, &s->k));
    s->max = nsum;
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
    assert(o->piece <= INT_MAX);
    hps_mem_grow(&o->sent, &o->sent_cap, k * o->piece, sizeof *o->sent);
    hps_mem_grow(&o->got, &o->got_cap, k * o->piece, sizeof *o->got);
    if (n > 0) hps_bf16_round(1, n, x, n, o->sent, n);
    for (size_t i = n; i < k * o->piece; i++)
        o->sent[i] = 0;
    HPS_MPI(MPI_Ialltoall(o->sent, (int)o->piece, MPI_UINT16_T, o->got, (int)o->piece,
                          MPI_UINT16_T, s->summands, &o->travel));
}

/* x (n) += y (n) */
HPS_MULTIVERSION static void add_rounded(size_t n, const uint16_t *y, float *restrict x)
{
    for (size_t i = 0; i < n; i++) {
        union { uint32_t bits; float x; } u = { .bits = (uint32_t)y[i] << 16 };
        x[i] += u.x;
    }
}

HPS_MULTIVERSION static void widen_rounded(size_t n, const uint16_t *y, float *restrict x)
{
    for (size_t i = 0; i < n; i++) {
        union { uint32_t bits; float x; } u = { .bits = (uint32_t)y[i] << 16 };
        x[i] = u.x;
    }
}

/* The summands of my piece are here: their sum is stored over the first ones. */
static void add_piece(const struct hps_rounded_sum *s, struct one *o)
{
    float sum[BLOCK];

    for (size_t at = 0; at < o->piece; at += BLOCK) {
        size_t n = o->piece - at < BLOCK ? o->piece - at : BLOCK;
        widen_rounded(n, o->got + at, sum);
        for (int q = 1; q < s->k; q++)
            add_rounded(n, o->got + (size_t)q * o->piece + at, sum);
        hps_bf16_round(1, n, sum, n, o->got + at, n);
    }
    HPS_MPI(MPI_Iallgather(o->got, (int)o->piece, MPI_UINT16_T, o->sent, (int)o->piece,
                           MPI_UINT16_T, s->sums, &o->travel));
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
        widen_rounded(o->n, o->sent, o->to);
    }
    return s->done >= n;
}

void hps_rounded_sum_reset(struct hps_rounded_sum *s)
{
    assert(s->done == s->begun);
    s->begun = s->added = s->done = 0;
}
