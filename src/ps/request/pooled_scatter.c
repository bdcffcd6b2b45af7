/* pooled_scatter.c - the ids of bags are distributed: to the owners of their rows, and those of hot
 * rows to this rank itself. */
#include <string.h>

#include "base/mem.h"
#include "base/partition.h"
#include "ps/request/pooled_impl.h"

/* With at most FEW receivers the ids are partitioned in one pass, into messages that could each
 * hold all ids; together they have at most MAX_SPACE numbers. Else the ids are counted first. */
enum { FEW = 2 * HPS_PARTITION_WAYS, MAX_SPACE = 1 << 24 };

/* The next chunk, with the numbers of hot rows as those of the last receiver. */
static bool next_chunk(const struct hps_pooled *p, struct hps_csr_walk *w)
{
    const struct hps_csr *k = &p->csr;

    if (!hps_csr_next(k, w)) return false;
    hps_hot_rows_mark(&p->hot[w->slot->q / k->nlayer], w->n, w->key,
                      (uint64_t)k->parts << k->local_bits);
    return true;
}

/* ---- the messages ---- */

/* Sums of receiver q: bags, and its hot rows. */
static int nsum_of(const struct hps_pooled *p, int m, int q)
{
    return p->nsum[m] + (q < p->csr.parts ? hps_pooled_rows(p, m, q) : 0);
}

/* Numbers of a message with nid ids of bags. */
static size_t length_of(const struct hps_pooled *p, int m, int q, size_t nid)
{
    int n = nsum_of(p, m, q);

    return p->nsum[m] > 0 ? (size_t)(n + 1 + n - p->nsum[m]) + nid : 0;
}

/* Numbers of all messages that are for hot rows: where each begins, and the row. */
static size_t hot_numbers(const struct hps_pooled *p)
{
    return 2 * p->front[p->csr.M];
}

/* The max length of a message. */
static size_t max_length(const struct hps_pooled *p)
{
    return p->csr.nid + p->csr.nbag + (size_t)p->csr.M + hot_numbers(p);
}

static struct hps_pooled_message *messages_of(const struct hps_pooled *p, int m)
{
    return p->message + (size_t)m * (size_t)p->receivers;
}

static struct hps_pooled_message *begin_message(struct hps_pooled *p, int m, int q, int *begin)
{
    struct hps_pooled_message *l = &messages_of(p, m)[q];

    *l = (struct hps_pooled_message){ begin, begin + nsum_of(p, m, q) + 1, 0 };
    return l;
}

/* ---- to few receivers: one pass, each task continues where the one before ended ---- */

/* Distribute a chunk to `some` receivers from q on: id number next[k] of message l[k] is written
 * next. `before` bags precede those of the slot. */
static void put_chunk(const struct hps_csr_walk *w, uint64_t q, int some, int bits, int before,
                      const struct hps_pooled_message *l, size_t *next)
{
    int row[HPS_PARTITION_WAYS][HPS_CSR_CHUNK + HPS_PARTITION_SPARE];
    int *const to[HPS_PARTITION_WAYS] = { row[0], row[1], row[2] };
    size_t n[HPS_PARTITION_WAYS] = { 0 }, at = 0;

    for (int b = w->b0; b < w->b1; b++) {
        size_t end = hps_csr_before(w->slot, b) - w->from;
        hps_partition(end - at, w->key + at, q, bits, to, n);
        for (int k = 0; k < some; k++)
            l[k].begin[before + b] = (int)(next[k] + n[k]);
        at = end;
    }
    hps_partition(w->n - at, w->key + at, q, bits, to, n);
    for (int k = 0; k < some; k++) {
        memcpy(l[k].row + next[k], row[k], n[k] * sizeof *row[k]);
        next[k] += n[k];
    }
}

static void put_few(const struct hps_pooled *p, const struct hps_csr_walk *w,
                    const struct hps_pooled_message *l, size_t *next)
{
    int before = hps_pooled_before(&p->csr, w->slot), end = p->receivers;

    for (int q = 0; q < end; q += HPS_PARTITION_WAYS)
        put_chunk(w, (uint64_t)q, end - q < HPS_PARTITION_WAYS ? end - q : HPS_PARTITION_WAYS,
                  p->csr.local_bits, before, l + q, next + q);
}

/* Add `by` to where the bags of task t begin. */
static void move_begins(const struct hps_pooled *p, int t, int *begin, int by)
{
    const struct hps_csr *k = &p->csr;
    const struct hps_csr_slot *s = k->slot + (size_t)p->now * (size_t)(k->nslot / k->M);

    for (const struct hps_csr_slot *last = s + k->nslot / k->M; s < last; s++) {
        int before = hps_pooled_before(k, s), end, b = hps_csr_part(k, s, t, &end);
        for (; b < end; b++)
            begin[before + b] += by;
    }
}

/* Task t distributes its ids to a staging area in its cache, since only the task before knows where
 * they go, then copies them. A lone task needs no staging. */
static void distribute_task(void *pooled, int t)
{
    struct hps_pooled *p = pooled;
    const struct hps_pooled_message *to = messages_of(p, p->now);
    const bool lone = p->csr.work.n == 1;
    bool any = false;
    struct hps_pooled_message l[FEW];
    size_t n[FEW] = { 0 }, at[FEW];
    struct hps_csr_walk w;
    int *aside = p->aside + (size_t)hps_parallel_me() * (size_t)p->receivers * p->aside_each;

    for (int q = 0; q < p->receivers; q++, aside += p->aside_each)
        l[q] = (struct hps_pooled_message){ to[q].begin, lone ? to[q].row : aside, 0 };
    hps_csr_walk(&p->csr, &w, p->now, p->now + 1, t);
    while (next_chunk(p, &w)) {
        any = true;
        put_few(p, &w, l, n);
    }
    hps_parallel_take(&p->order, t);
    for (int q = 0; q < p->receivers; q++) {
        at[q] = p->next[q];
        p->next[q] += n[q];
    }
    hps_parallel_pass(&p->order, t);
    for (int q = 0; q < p->receivers && any && !lone; q++) {
        memcpy(to[q].row + at[q], l[q].row, n[q] * sizeof *to[q].row);
        move_begins(p, t, to[q].begin, (int)at[q]);
    }
}

/* An upper bound of the ids of a task: its share, and the rest of its last bag. */
static size_t max_ids(const struct hps_pooled *p)
{
    const struct hps_csr *k = &p->csr;
    int bag = 1;

    for (const struct hps_csr_slot *s = k->slot; s < k->slot + k->nslot; s++)
        for (int b = 0; s->offset && b < s->B; b++)
            bag = s->offset[b + 1] - s->offset[b] > bag ? s->offset[b + 1] - s->offset[b] : bag;
    return k->nid / (size_t)k->work.n + 1 + (size_t)bag;
}

/* Each message has space for all ids. */
static void distribute_to_few(struct hps_pooled *p, int *to, int *hot)
{
    const struct hps_csr *k = &p->csr;
    size_t threads = (size_t)k->work.nthread;

    p->aside_each = k->work.n > 1 ? hps_parallel_apart(max_ids(p), sizeof *p->aside) : 0;
    hps_mem_grow(&p->aside, &p->aside_cap, threads * (size_t)p->receivers * p->aside_each + 1,
                 sizeof *p->aside);
    for (int q = 0; q < p->receivers; q++)
        begin_message(p, 0, q, q < k->parts ? to + (size_t)q * max_length(p) : hot);
    for (p->now = 0; p->now < k->M; p->now++) {
        struct hps_pooled_message *l = messages_of(p, p->now);
        memset(p->next, 0, (size_t)p->receivers * sizeof *p->next);
        atomic_init(&p->order.next, 0);
        hps_parallel_for(&k->work, distribute_task, p);
        for (int q = 0; q < p->receivers; q++) {
            l[q].nid = p->next[q];
            if (p->now + 1 < k->M)
                begin_message(p, p->now + 1, q,
                              l[q].begin + length_of(p, p->now, q, l[q].nid));
        }
    }
}

/* ---- to many receivers: the ids are counted first ---- */

/* (receivers) ids of task t in micro-batch m, then where the next one goes. */
static size_t *counts_of(const struct hps_pooled *p, int t, int m)
{
    return p->next + (size_t)t * p->each + (size_t)m * (size_t)p->receivers;
}

static void count_part(void *pooled, int t)
{
    struct hps_pooled *p = pooled;
    const struct hps_csr *k = &p->csr;
    struct hps_csr_walk w;

    hps_csr_walk(k, &w, 0, k->M, t);
    while (next_chunk(p, &w)) {
        size_t *count = counts_of(p, t, w.slot->q / k->nlayer);
        for (size_t i = 0; i < w.n; i++)
            count[w.key[i] >> k->local_bits]++;
    }
}

static void put_many(const struct hps_pooled *p, const struct hps_csr_walk *w,
                     const struct hps_pooled_message *l, size_t *next)
{
    const int bits = p->csr.local_bits, before = hps_pooled_before(&p->csr, w->slot);
    const uint64_t local = ((uint64_t)1 << bits) - 1;
    size_t i = 0;

    for (int b = w->b0; b <= w->b1; b++) {
        size_t end = b < w->b1 ? hps_csr_before(w->slot, b) - w->from : w->n;
        for (; i < end; i++) {
            size_t q = w->key[i] >> bits;
            l[q].row[next[q]++] = (int)(w->key[i] & local);
        }
        for (int q = 0; b < w->b1 && q < p->receivers; q++)
            l[q].begin[before + b] = (int)next[q];
    }
}

static void put_part(void *pooled, int t)
{
    struct hps_pooled *p = pooled;
    struct hps_csr_walk w;

    hps_csr_walk(&p->csr, &w, 0, p->csr.M, t);
    while (next_chunk(p, &w)) {
        int m = w.slot->q / p->csr.nlayer;
        put_many(p, &w, messages_of(p, m), counts_of(p, t, m));
    }
}

static void distribute_to_many(struct hps_pooled *p, int *to, int *hot)
{
    const struct hps_csr *k = &p->csr;
    size_t next = 0;

    memset(p->next, 0, p->each * (size_t)k->work.n * sizeof *p->next);
    hps_parallel_for(&k->work, count_part, p);
    for (int q = 0; q < p->receivers; q++) {
        if (q == k->parts) {
            to = hot;
            next = 0;
        }
        for (int m = 0; m < k->M; m++) {
            struct hps_pooled_message *l = begin_message(p, m, q, to + next);
            l->nid = hps_parallel_number(&k->work, counts_of(p, 0, m) + q, p->each, 0);
            next += length_of(p, m, q, l->nid);
        }
    }
    hps_parallel_for(&k->work, put_part, p);
}

/* ---- the ends of messages ---- */

/* Append the hot rows of owner q, a sum each, and the end. */
static void end_message(const struct hps_pooled *p, int m, int q)
{
    const struct hps_hot_rows *hot = &p->hot[m];
    const struct hps_pooled_message *l = &messages_of(p, m)[q];
    const uint64_t local = ((uint64_t)1 << p->csr.local_bits) - 1;
    int n = nsum_of(p, m, q), at = (int)l->nid;

    for (int i = p->nsum[m]; i < n; i++) {
        l->begin[i] = at;
        l->row[at++] = (int)(hot->key[hot->first[q] + i - p->nsum[m]] & local);
    }
    l->begin[n] = at;
}

static void end_messages(const struct hps_pooled *p, int *length, size_t *at, const int *to)
{
    for (int m = 0, i = 0; m < p->csr.M; m++)
        for (int q = 0; q < p->receivers; q++, i++) {
            size_t n = length_of(p, m, q, p->message[i].nid);
            if (n > 0) end_message(p, m, q);
            if (q < p->csr.parts) {
                *length++ = (int)n;
                *at++ = (size_t)(p->message[i].begin - to);
            }
        }
}

void hps_pooled_distribute(struct hps_pooled *p, const struct hps_pooled_request *request,
                           struct hps_int_mirror *hot)
{
    const struct hps_csr *k = &p->csr;
    size_t parts = (size_t)k->parts, max = max_length(p);
    /* one pass only where each micro-batch has tasks for all threads */
    bool few = p->receivers <= FEW && parts * max <= MAX_SPACE &&
                  (k->work.n == 1 || k->work.n >= k->M * k->work.nthread);

    hps_mem_grow(&p->next, &p->next_cap, p->each * (size_t)k->work.n, sizeof *p->next);
    hps_int_mirror_grow(hot, max + 1);
    hps_int_mirror_grow(
        request->to,
        1 + (few ? parts * max : parts * (k->nbag + (size_t)k->M) + k->nid + hot_numbers(p)));
    if (few)
        distribute_to_few(p, request->to->host, hot->host);
    else
        distribute_to_many(p, request->to->host, hot->host);
    end_messages(p, request->length, request->at, request->to->host);
}
