/* request.c - the requests of a step: members exchange counts, then row numbers. Members that share
 * memory read each other's row numbers in place.
 *
 * Counts and row numbers have a communicator each and are sent in the order of the steps, so that
 * the order of collectives does not depend on the progress of a member. */
#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/wait.h"
#include "ps/request/request_impl.h"
#include "ps/table.h"

static int *alloc_shared(void *arg, size_t n)
{
    const struct hps_request_shared *l = arg;

    return hps_shm_ints(l->shm, l->me, l->buffer, n);
}

static void slot_new(struct hps_request *r, struct hps_request_slot *t, int nlayer)
{
    size_t pairs = (size_t)r->M * (size_t)r->parts, parts = (size_t)r->parts;

    t->request = MPI_REQUEST_NULL;
    t->step.M = r->M;
    t->step.parts = r->parts;
    t->step.first = hps_mem_new((size_t)r->M + 1, sizeof(int));
    t->step.nrecv = hps_mem_new(pairs, sizeof(int));
    t->step.nsend = hps_mem_new(2 * pairs, sizeof(int));
    t->step.send_index = t->step.nsend + pairs;
    t->step.lookup = hps_mem_new((size_t)r->M * (size_t)nlayer, sizeof *t->step.lookup);
    t->nrecv = hps_mem_new(HPS_REQUEST_NCOUNT * pairs, sizeof(int));
    t->nsend = hps_mem_new(HPS_REQUEST_NCOUNT * pairs, sizeof(int));
    t->length = hps_mem_new(pairs, sizeof(int));
    t->at = hps_mem_new(pairs, sizeof *t->at);
    t->nout = hps_mem_new(4 * parts, sizeof(int));
    t->out_at = t->nout + parts;
    t->nin = t->out_at + parts;
    t->in_at = t->nin + parts;
    t->received = hps_mem_new(parts, sizeof *t->received);
    t->shared = (struct hps_request_shared){ r->shm, r->me, 0 };
    hps_request_coded_new(r, &t->coded);
    if (r->direct) hps_int_mirror_borrow(&t->outgoing, alloc_shared, &t->shared);
}

static void slot_free(struct hps_request *r, struct hps_request_slot *t)
{
    hps_mem_free(t->step.first);
    hps_mem_free(t->step.nrecv);
    hps_mem_free(t->step.nsend);
    hps_mem_free(t->step.lookup);
    hps_mem_free(t->step.sums);
    hps_mem_free(t->nrecv);
    hps_mem_free(t->nsend);
    hps_mem_free(t->length);
    hps_mem_free(t->at);
    hps_mem_free(t->nout);
    hps_mem_free(t->received);
    hps_mem_free(t->held);
    hps_int_mirror_free(&t->outgoing, r->dev);
    hps_unique_memory_free(&t->memory, r->dev);
    hps_request_cache_free(&t->cache);
    hps_request_coded_free(&t->coded);
    hps_int_mirror_free(&t->incoming, r->dev);
    hps_merged_free(&t->merged, r->dev);
}

/* Do all members share memory with each other? Collective over comm. */
static bool all_share_memory(const struct hps_shm *shm, int parts, MPI_Comm comm)
{
    bool mine = true, all;

    for (int q = 0; q < parts; q++)
        mine &= hps_shm_is(shm, q);
    HPS_MPI(MPI_Allreduce(&mine, &all, 1, MPI_C_BOOL, MPI_LAND, comm));
    return all;
}

enum hps_status hps_request_new(struct hps_request **request, const struct hps_request_opt *use,
                                long long rows, int M, struct hps_dev *dev, struct hps_shm *shm,
                                MPI_Comm comm)
{
    int parts = 1, me = 0;

    if (comm != MPI_COMM_NULL) {
        HPS_MPI(MPI_Comm_size(comm, &parts));
        HPS_MPI(MPI_Comm_rank(comm, &me));
    }
    int owners = use->owners > 0 ? use->owners : parts;
    assert(owners <= parts && hps_cyclic_nlocal(rows, 0, owners) <= INT_MAX);
    assert(!use->sums || (dev->host && !use->holds));
    assert(!use->cache || (use->holds && me >= owners));
    struct hps_request *r = hps_mem_new(1, sizeof *r);
    *request = r;
    r->count_comm = r->number_comm = MPI_COMM_NULL;
    if (parts > 1) {
        HPS_MPI(MPI_Comm_dup(comm, &r->count_comm));
        HPS_MPI(MPI_Comm_dup(comm, &r->number_comm));
    }
    r->dev = dev;
    r->shm = shm;
    r->parts = parts;
    r->owners = owners;
    r->me = me;
    r->M = M;
    r->nlayer = (size_t)use->nlayer;
    r->holds = use->holds;
    r->cache = use->cache;
    r->ops = use->sums ? &hps_request_by_sums : &hps_request_by_rows;
    r->context = r->ops->open(use, rows, r);
    r->direct = shm && use->buffer >= 0;
    r->no_messages = parts > 1 && use->buffer >= 0 && all_share_memory(shm, parts, comm);
    r->buffer = use->buffer;
    r->delta = use->delta && parts > 1;
    r->list = use->sums ? HPS_DELTA_ANY : use->holds ? HPS_DELTA_MARKED : HPS_DELTA_ROWS;
    for (int i = 0; i < HPS_REQUEST_NSLOT; i++)
        slot_new(r, &r->slot[i], use->nlayer);
    return HPS_OK;
}

void hps_request_free(struct hps_request *r)
{
    if (!r) return;
    while (r->taken < r->begun)                 /* a run that stops has begun one step more */
        hps_request_take(r);
    for (int i = 0; i < HPS_REQUEST_NSLOT; i++)
        slot_free(r, &r->slot[i]);
    r->ops->close(r->context);
    if (r->count_comm != MPI_COMM_NULL) HPS_MPI(MPI_Comm_free(&r->count_comm));
    if (r->number_comm != MPI_COMM_NULL) HPS_MPI(MPI_Comm_free(&r->number_comm));
    hps_mem_free(r);
}

/* ---- to owners ---- */

/* The last ones first: each moves to a place behind its own, or stays. */
void hps_request_spread(const struct hps_request *r, void *x, size_t size)
{
    size_t from = (size_t)r->owners * size, to = (size_t)r->parts * size;

    for (size_t m = (size_t)r->M; m-- > 0 && from < to;) {
        memmove((char *)x + m * to, (char *)x + m * from, from);
        memset((char *)x + m * to + from, 0, to - from);
    }
}

/* Transpose the counts from (micro-batch, owner) to (owner, micro-batch). Returns how many numbers
 * are for other members. */
static size_t fill_counts(const struct hps_request *r, struct hps_request_slot *t)
{
    size_t all = 0;

    for (int q = 0; q < r->parts; q++) {
        t->nout[q] = 0;
        t->out_at[q] = (int)t->at[q];
        for (int m = 0; m < r->M; m++)
            t->nout[q] += t->length[m * r->parts + q];
        all += q == r->me ? 0 : (size_t)t->nout[q];
    }
    for (int m = 0, i = 0, index = 0; m < r->M; m++)
        for (int q = 0; q < r->parts; q++, i++) {
            int *count = t->nrecv + HPS_REQUEST_NCOUNT * (q * r->M + m);
            count[0] = hps_request_asked(r, t, i);
            count[1] = index;
            count[2] = t->length[i];
            count[3] = (int)t->at[i];
            index += t->step.nrecv[i];
        }
    return all;
}

static void send_counts(struct hps_request *r, struct hps_request_slot *t)
{
    size_t n = fill_counts(r, t);

    if (r->delta) hps_request_encode(r, t);
    hps_shm_release();
    HPS_MPI(MPI_Ialltoall(t->nrecv, HPS_REQUEST_NCOUNT * r->M, MPI_INT, t->nsend,
                          HPS_REQUEST_NCOUNT * r->M, MPI_INT, r->count_comm, &t->request));
    r->bytes +=
        ((double)(r->parts - 1) * HPS_REQUEST_NCOUNT * r->M + (double)n) * (double)sizeof(int);
    t->state = HPS_REQUEST_COUNTS;
}

static const int *received_from(struct hps_request *r, struct hps_request_slot *t, int q)
{
    size_t at = (size_t)t->nsend[HPS_REQUEST_NCOUNT * q * r->M + 3], n = (size_t)t->nin[q];

    if (!hps_request_is_direct(r, q)) return t->incoming.host + t->in_at[q];
    return hps_shm_ints(r->shm, q, t->shared.buffer, at + n) + at;
}

/* The counts have been received; exchange the row numbers. */
static void send_numbers(struct hps_request *r, struct hps_request_slot *t)
{
    size_t n = 0, nsend_all = 0;

    hps_shm_acquire();
    for (int q = 0; q < r->parts; q++) {
        t->in_at[q] = (int)n;
        for (int m = 0; m < r->M; m++) {
            const int *count = t->nsend + HPS_REQUEST_NCOUNT * (q * r->M + m);
            t->step.nsend[m * r->parts + q] = count[0];
            t->step.send_index[m * r->parts + q] = count[1];
            nsend_all += (size_t)count[0];
            n += (size_t)count[2];
        }
        if (n + (size_t)t->step.nrow > INT_MAX)
            HPS_DIE("%d ranks request more than %d rows of this one in one step", r->parts,
                    INT_MAX);
        t->nin[q] = (int)n - t->in_at[q];
    }
    t->step.nsend_all = nsend_all;
    if (!r->no_messages) hps_int_mirror_grow(&t->incoming, n + 1);
    for (int q = 0; q < r->parts; q++) {
        t->received[q] = received_from(r, t, q);
        if (hps_request_is_direct(r, q)) t->nout[q] = t->nin[q] = 0;
    }
    if (!r->no_messages && r->delta)
        hps_request_send_coded(r, t);
    else if (!r->no_messages)
        HPS_MPI(MPI_Ialltoallv(t->outgoing.host, t->nout, t->out_at, MPI_INT, t->incoming.host,
                               t->nin, t->in_at, MPI_INT, r->number_comm, &t->request));
    t->state = HPS_REQUEST_NUMBERS;
}

/* ---- at owners ---- */

void hps_request_to_device(struct hps_request *r, struct hps_request_slot *t)
{
    struct hps_merged *m = &t->merged;
    size_t n = (size_t)m->n;

    t->step.nmerge = m->n;
    t->step.merged = hps_int_mirror_to_device(&m->row, n, r->dev);
    t->step.merge_start = hps_int_mirror_to_device(&m->start, n + 1, r->dev);
    t->step.merge_from = hps_int_mirror_to_device(&m->sum, m->nid, r->dev);
    t->step.merged_host = m->row.host;
}

/* A lone member receives what it sends. */
static void send_to_self(struct hps_request *r, struct hps_request_slot *t)
{
    memcpy(t->step.nsend, t->step.nrecv, (size_t)r->M * sizeof(int));
    memcpy(t->step.send_index, t->step.first, (size_t)r->M * sizeof(int));
    t->step.nsend_all = (size_t)t->step.nrow;
    t->received[0] = t->outgoing.host;
    t->state = HPS_REQUEST_NUMBERS;
}

/* ---- progress ---- */

/* Make progress on the messages of a step; `block`: until all are received. Are they? */
static bool advance(struct hps_request *r, struct hps_request_slot *t, bool block)
{
    if (t->state == HPS_REQUEST_COUNTS) {
        if (!hps_wait_arrived(1, &t->request, block)) return false;
        send_numbers(r, t);
    }
    return t->state == HPS_REQUEST_READY || hps_wait_arrived(1, &t->request, block);
}

/* All messages are received: merge them. */
static void finish(struct hps_request *r, struct hps_request_slot *t)
{
    if (t->state == HPS_REQUEST_NUMBERS && r->delta && !r->no_messages) hps_request_decode(r, t);
    if (t->state == HPS_REQUEST_NUMBERS) r->ops->merge(r, t);
    t->state = HPS_REQUEST_READY;
}

static void begin(struct hps_request *r, const struct hps_batch *batch)
{
    struct hps_request_slot *t = &r->slot[r->begun % HPS_REQUEST_NSLOT];

    assert(r->begun - r->taken < 2);
    t->shared.buffer = r->buffer + (int)(r->begun % HPS_REQUEST_BUFFERS);
    r->ops->find(r, t, batch);
    t->step.nrow = t->step.first[r->M];
    if (r->parts == 1) {
        send_to_self(r, t);
        finish(r, t);
    } else {
        send_counts(r, t);
    }
    r->begun++;
}

void hps_request_poll(struct hps_request *r, bool time)
{
    for (long long s = r->taken; s < r->begun; s++) {
        struct hps_request_slot *t = &r->slot[s % HPS_REQUEST_NSLOT];
        if (!advance(r, t, false)) break; /* numbers travel in the order of the steps */
        if (time) finish(r, t);
    }
}

const struct hps_request_step *hps_request_next(const struct hps_request *r)
{
    const struct hps_request_slot *t = &r->slot[r->taken % HPS_REQUEST_NSLOT];

    return r->taken < r->begun && t->state == HPS_REQUEST_READY ? &t->step : NULL;
}

bool hps_request_arrived(struct hps_request *r)
{
    return advance(r, &r->slot[r->taken % HPS_REQUEST_NSLOT], false);
}

static struct hps_request_slot *next(struct hps_request *r)
{
    struct hps_request_slot *t = &r->slot[r->taken % HPS_REQUEST_NSLOT];

    assert(r->taken < r->begun);
    advance(r, t, true);
    finish(r, t);
    r->taken++;
    return t;
}

const struct hps_request_step *hps_request_take(struct hps_request *r)
{
    struct hps_request_slot *t = next(r);
    const struct hps_request_cached *c = t->step.cached;

    if (c) hps_row_cache_hold(r->cache, c->nhit, c->hit);
    if (c) hps_row_cache_return(r->cache, c->nreturn, c->return_slot);
    return &t->step;
}

void hps_request_begin(struct hps_request *r, const struct hps_batch *batch)
{
    r->flushes = false;
    begin(r, batch);
}

bool hps_request_flush(struct hps_request *r)
{
    bool dropped = r->taken < r->begun;

    if (dropped) next(r);
    assert(r->taken == r->begun);
    r->flushes = true;
    begin(r, NULL);
    return dropped;
}

double hps_request_bytes(const struct hps_request *r)
{
    return r->bytes;
}

const struct hps_message_count *hps_request_count(const struct hps_request *r)
{
    return &r->count;
}
