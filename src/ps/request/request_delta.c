/* request_delta.c - requests as delta and varint, to members that do not read them in the memory of
 * the sender. For these the last count of a list, where it begins there, is its bytes instead. */
#include <assert.h>
#include <limits.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "ps/request/request_impl.h"

void hps_request_coded_new(const struct hps_request *r, struct hps_request_coded *c)
{
    size_t parts = (size_t)r->parts;

    c->nout = hps_mem_new(4 * parts, sizeof *c->nout);
    c->out_at = c->nout + parts;
    c->nin = c->out_at + parts;
    c->in_at = c->nin + parts;
}

void hps_request_coded_free(struct hps_request_coded *c)
{
    hps_mem_free(c->nout);
    hps_mem_free(c->out);
    hps_mem_free(c->in);
}

/* Count what is sent to member q, in bytes and as numbers would be. */
static void count(struct hps_request *r, int q, size_t bytes, size_t n)
{
    if (q == r->me) return;
    r->count.bytes += (double)bytes;
    r->count.plain_bytes += (double)n * (double)sizeof(int);
    r->bytes += (double)bytes - (double)n * (double)sizeof(int);
}

void hps_request_encode(struct hps_request *r, struct hps_request_slot *t)
{
    struct hps_request_coded *c = &t->coded;
    size_t at = 0, most = 0;

    for (int q = 0; q < r->parts; q++)
        most += hps_request_is_direct(r, q) ? 0 : (size_t)t->nout[q];
    hps_mem_grow(&c->out, &c->out_cap, HPS_DELTA_MAX * most, sizeof *c->out);
    for (int q = 0; q < r->parts; q++) {
        c->out_at[q] = (int)at;
        for (int m = 0; m < r->M && !hps_request_is_direct(r, q); m++) {
            int *sent = t->nrecv + HPS_REQUEST_NCOUNT * (q * r->M + m), i = m * r->parts + q;
            size_t n = (size_t)t->length[i], bytes = 0;
            if (n > 0)
                bytes = hps_delta_encode(r->list, n, t->outgoing.host + t->at[i], c->out + at);
            sent[3] = (int)bytes;
            at += bytes;
            count(r, q, bytes, n);
        }
        assert(at <= INT_MAX);
        c->nout[q] = (int)at - c->out_at[q];
    }
}

void hps_request_send_coded(struct hps_request *r, struct hps_request_slot *t)
{
    struct hps_request_coded *c = &t->coded;
    size_t at = 0;

    for (int q = 0; q < r->parts; q++) {
        c->in_at[q] = (int)at;
        for (int m = 0; m < r->M && !hps_request_is_direct(r, q); m++)
            at += (size_t)t->nsend[HPS_REQUEST_NCOUNT * (q * r->M + m) + 3];
        assert(at <= INT_MAX);
        c->nin[q] = (int)at - c->in_at[q];
    }
    hps_mem_grow(&c->in, &c->in_cap, at, sizeof *c->in);
    HPS_MPI(MPI_Ialltoallv(c->out, c->nout, c->out_at, MPI_BYTE, c->in, c->nin, c->in_at, MPI_BYTE,
                           r->number_comm, &t->request));
}

void hps_request_decode(struct hps_request *r, struct hps_request_slot *t)
{
    struct hps_request_coded *c = &t->coded;

    for (int q = 0; q < r->parts; q++) {
        size_t at = (size_t)c->in_at[q], to = (size_t)t->in_at[q];
        for (int m = 0; m < r->M && !hps_request_is_direct(r, q); m++) {
            const int *got = t->nsend + HPS_REQUEST_NCOUNT * (q * r->M + m);
            size_t n = (size_t)got[2], bytes = 0;
            if (n > 0) bytes = hps_delta_decode(r->list, n, c->in + at, t->incoming.host + to);
            if (bytes != (size_t)got[3])
                HPS_DIE("member %d requests %zu rows in %d bytes, not %zu", q, n, got[3], bytes);
            at += bytes;
            to += n;
        }
    }
}
