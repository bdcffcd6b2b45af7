/* request_rows.c - a member requests each unique row that it needs once, from its owner. */
#include <assert.h>
#include <string.h>

#include "base/kway_merge.h"
#include "base/mem.h"
#include "base/radix.h"
#include "ps/request/request_impl.h"

struct rows {
    struct hps_unique *unique;
    uint64_t *sent, *spare;             /* scratch: rows that I send                */
    size_t *run;                        /* (M * parts + 1) scratch: their sorted runs */
    size_t sent_cap, spare_cap;
};

static void *open_rows(const struct hps_request_opt *use, long long rows, struct hps_request *r)
{
    struct rows *w = hps_mem_new(1, sizeof *w);

    struct hps_unique_opt opt = { use->nlayer, use->layer, rows, r->owners, r->M, use->index,
                                  r->parts == 1 };
    w->unique = hps_unique_new(&opt, r->dev);
    w->run = hps_mem_new((size_t)r->M * (size_t)r->parts + 1, sizeof *w->run);
    return w;
}

static void close_rows(void *context)
{
    struct rows *w = context;

    hps_unique_free(w->unique);
    hps_mem_free(w->sent);
    hps_mem_free(w->spare);
    hps_mem_free(w->run);
    hps_mem_free(w);
}

/* Reorder row numbers from unique index order to owner, then micro-batch. */
static void fill_outgoing(struct hps_request *r, struct hps_request_slot *t)
{
    const int *from = t->memory.row.host;
    size_t at = 0;

    for (int i = 0; i < r->M * r->parts; i++)
        t->length[i] = hps_request_asked(r, t, i);
    for (int q = 0; q < r->parts; q++)
        for (int i = q; i < r->M * r->parts; i += r->parts) {
            t->at[i] = at;
            at += (size_t)t->length[i];
        }
    hps_int_mirror_grow(&t->outgoing, at + 1);
    for (int i = 0; i < r->M * r->parts; i++) {
        size_t n = (size_t)t->length[i];
        if (n > 0) memcpy(t->outgoing.host + t->at[i], from, n * sizeof *from);
        from += t->step.nrecv[i];
    }
}

static void find(struct hps_request *r, struct hps_request_slot *t, const struct hps_batch *batch)
{
    struct rows *w = r->context;

    hps_unique_find(w->unique, batch, &t->memory, t->step.first, t->step.nrecv, t->step.lookup);
    hps_request_spread(r, t->step.nrecv, sizeof *t->step.nrecv);
    if (r->cache) hps_request_split(r, t);
    if (batch) hps_unique_to_device(w->unique, &t->memory, t->step.lookup);
    if (r->parts > 1) fill_outgoing(r, t);
}

/* Copy the row numbers that are read in place behind those of messages. */
static void collect_incoming(struct hps_request *r, struct hps_request_slot *t)
{
    hps_int_mirror_grow(&t->incoming, t->step.nsend_all + 1);
    for (int q = 0; q < r->parts; q++) {
        int *to = t->incoming.host + t->in_at[q];
        size_t n = 0;
        for (int m = 0; m < r->M; m++)
            n += (size_t)t->step.nsend[m * r->parts + q];
        if (n > 0 && t->received[q] != to) memcpy(to, t->received[q], n * sizeof *to);
    }
}

/* Read off the received numbers which rows' gradients are held. */
static void list_held(struct hps_request_slot *t)
{
    int *row = t->incoming.host;

    hps_mem_grow(&t->held, &t->held_cap, t->step.nsend_all, sizeof *t->held);
    t->step.nheld = 0;
    for (size_t i = 0; i < t->step.nsend_all; i++) {
        if (row[i] >= 0) continue;
        row[i] = ~row[i];
        t->held[t->step.nheld++] = row[i];
    }
    t->step.held = t->held;
}

/* The number of the first gradient that member q will send for rows of micro-batch m; *other: the
 * next free number for gradients that arrive in messages. */
static uint64_t gradients_at(const struct hps_request *r, const struct hps_request_slot *t, int q,
                             int m, uint64_t *other)
{
    int i = m * r->parts + q;
    uint64_t at = *other;

    if (q == r->me) return (uint64_t)t->step.send_index[i];
    if (hps_shm_is(r->shm, q))
        return (uint64_t)hps_shm_first(r->shm, q) + (uint64_t)t->step.send_index[i];
    *other += (uint64_t)t->step.nsend[i];
    return at;
}

/* The words of n ascending rows, whose gradients have the numbers from `at` on. */
static void fill_words(const int *row, size_t n, uint64_t at, int tail_bits, uint64_t *word)
{
    for (size_t i = 0; i < n; i++) {
        assert(i == 0 || row[i - 1] < row[i]);
        word[i] = (uint64_t)(uint32_t)row[i] << tail_bits | (at + i);
    }
}

/* All rows that I send, with the numbers of their gradients: a sorted run for each member and
 * micro-batch. */
static void list_sent(struct hps_request *r, const struct hps_request_slot *t, int tail_bits)
{
    struct rows *w = r->context;
    uint64_t other = (uint64_t)t->step.nrow;
    size_t at = 0, *run = w->run;

    for (int q = 0; q < r->parts; q++)
        for (int m = 0; m < r->M; m++) {
            size_t n = (size_t)t->step.nsend[m * r->parts + q];
            fill_words(t->incoming.host + at, n, gradients_at(r, t, q, m, &other), tail_bits,
                     w->sent + at);
            *run++ = at;
            at += n;
        }
    *run = at;
}

/* The unique rows and, in CSR form, the numbers of their gradients, from the sorted words. */
static void list_rows(struct hps_request_slot *t, const uint64_t *word, size_t n, int tail_bits)
{
    const uint64_t tail = ((uint64_t)1 << tail_bits) - 1;
    int *restrict start = t->merged.start.host, *restrict sum = t->merged.sum.host;
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        sum[i] = (int)(word[i] & tail);
    for (size_t i = 0; i < n; i++) {            /* overwritten unless it begins a row */
        start[k] = (int)i;
        k += i == 0 || (word[i] ^ word[i - 1]) > tail;
    }
    start[k] = (int)n;
    for (size_t i = 0; i < k; i++)
        t->merged.row.host[i] = (int)(word[start[i]] >> tail_bits);
    t->merged.n = (int)k;
    t->merged.nid = n;
}

/* A lone member requests each row once: nothing is to be merged. */
static void merge_alone(struct hps_request *r, struct hps_request_slot *t)
{
    t->step.nmerge = t->step.nrow;
    t->step.row = hps_int_mirror_to_device(&t->memory.row, (size_t)t->step.nrow, r->dev);
    t->step.merged = t->step.row;
    t->step.row_host = t->step.merged_host = t->memory.row.host;
}

/* Merge the requests of all members by row. */
static void merge(struct hps_request *r, struct hps_request_slot *t)
{
    struct rows *w = r->context;
    size_t n = t->step.nsend_all;
    int tail_bits = hps_radix_bits(r->shm ? HPS_SHM_MAX_ROWS : (uint64_t)t->step.nrow + n);

    if (r->parts == 1) {
        merge_alone(r, t);
        return;
    }
    hps_merged_grow(&t->merged, n);
    hps_mem_grow(&w->sent, &w->sent_cap, n + 1, sizeof *w->sent);
    hps_mem_grow(&w->spare, &w->spare_cap, n + 1, sizeof *w->spare);
    collect_incoming(r, t);
    if (r->holds) list_held(t);
    list_sent(r, t, tail_bits);
    list_rows(t, hps_kway_merge(w->sent, w->spare, r->parts * r->M, w->run, tail_bits), n,
              tail_bits);
    hps_request_to_device(r, t);
    t->step.row = hps_int_mirror_to_device(&t->incoming, n, r->dev);
    t->step.row_host = t->incoming.host;
}

const struct hps_request_ops hps_request_by_rows = {
    .open = open_rows, .close = close_rows, .find = find, .merge = merge
};
