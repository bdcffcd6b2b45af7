/* exchange.c - rows to their readers, gradients to their owners. Own rows and gradients never
 * travel. */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "ps/exchange/exchange_impl.h"

static void join(struct hps_exchange *p, MPI_Comm comm)
{
    bool lone;

    HPS_MPI(MPI_Comm_size(comm, &p->parts));
    HPS_MPI(MPI_Comm_rank(comm, &p->me));
    if (p->parts == 1) return;
    HPS_MPI(MPI_Comm_dup(comm, &p->comm));
    p->gpus = hps_gpu_group_new(p->dev, comm, HPS_INFO);
    lone = p->gpus->group != NULL;
    p->rows.lone = p->grad.lone = p->out.lone = lone;
    p->ops = lone ? &hps_exchange_nccl : &hps_exchange_mpi;
}

static bool converts(const struct hps_exchange_opt *opt)
{
    return hps_codec_converts(opt->rows) || hps_codec_converts(opt->gradients);
}

enum hps_status hps_exchange_new(struct hps_exchange **ps, struct hps_table *table,
                                 struct hps_dev *dev, struct hps_shm *shm, int index,
                                 const struct hps_exchange_opt *opt, MPI_Comm comm)
{
    struct hps_exchange *p = hps_mem_new(1, sizeof *p);

    p->comm = MPI_COMM_NULL;
    p->parts = 1;
    p->table = table;
    p->dev = dev;
    p->dim = table->dim;
    p->sum.lone = true;
    p->codec = *opt;
    p->shm = shm;
    p->buffer = index * HPS_EXCHANGE_BUFFERS;
    if (comm != MPI_COMM_NULL) join(p, comm);
    assert(table->part == p->me && table->parts <= p->parts);
    p->sent = hps_mem_new((size_t)p->parts, sizeof *p->sent);
    p->sent_first = hps_mem_new((size_t)p->parts, sizeof *p->sent_first);
    p->remote_first = hps_mem_new((size_t)p->parts, sizeof *p->remote_first);
    if (p->ops) p->context = p->ops->open(p);
    *ps = p;
    return p->ops == &hps_exchange_nccl && converts(opt) ? HPS_DECK : HPS_OK;
}

void hps_exchange_free(struct hps_exchange *p)
{
    if (!p) return;
    if (p->ops) {
        p->ops->close(p);
        HPS_MPI(MPI_Comm_free(&p->comm));
    }
    hps_gpu_group_free(p->gpus);
    hps_mirror_free(&p->rows, p->dev);
    hps_mirror_free(&p->grad, p->dev);
    hps_mirror_free(&p->out, p->dev);
    hps_mirror_free(&p->sum, p->dev);
    hps_mirror_free(&p->all, p->dev);
    hps_mem_free(p->first_of);
    hps_mem_free(p->at);
    hps_mem_free(p->some);
    hps_mem_free(p->some_start);
    hps_mem_free(p->sent);
    hps_mem_free(p->sent_first);
    hps_mem_free(p->remote_first);
    hps_mem_free(p->cache.value);
    hps_mem_free(p->cache.held);
    hps_mem_free(p);
}

/* Where each owner's and each member's rows lie in this step. */
static void lay_out(struct hps_exchange *p, const struct hps_request_step *r)
{
    size_t pairs = (size_t)r->M * (size_t)p->parts;
    int at = 0;

    assert(r->parts == p->parts && !(r->sums && p->in_place));
    p->r = r;
    hps_mem_grow(&p->first_of, &p->first_cap, pairs, sizeof *p->first_of);
    for (size_t i = 0; i < pairs; i++) {
        p->first_of[i] = at;
        at += r->nrecv[i];
    }
    at = 0;
    p->nremote = 0;
    for (int q = 0; q < p->parts; q++) {
        p->sent_first[q] = at;
        for (int m = 0; m < r->M; m++)
            at += r->nsend[m * p->parts + q];
        p->sent[q] = at - p->sent_first[q];
        p->remote_first[q] = p->nremote;
        if (hps_exchange_is_remote(p, q)) p->nremote += (size_t)p->sent[q];
    }
}

/* Which places' rows are mine, and where. */
static void find_mine(struct hps_exchange *p)
{
    const struct hps_request_step *r = p->r;
    const int *row = r->row + p->sent_first[p->me];

    hps_mem_grow(&p->at, &p->at_cap, (size_t)r->nrow, sizeof *p->at);
    for (int m = 0, at = 0; m < r->M; m++) {
        int i = m * p->parts + p->me, first = p->first_of[i], n = r->nrecv[i];
        for (; at < first; at++)
            p->at[at] = -1;
        if (n > 0) memcpy(p->at + first, row, (size_t)n * sizeof *row);
        row += n;
        for (at = first + n; at < r->first[m + 1]; at++)
            p->at[at] = -1;
    }
}

/* To the buffer of a member that shares memory with me. */
static void gather_to_peer(struct hps_exchange *p, int q)
{
    const struct hps_request_step *r = p->r;
    const int *row = r->row + p->sent_first[q];

    for (int m = 0; m < r->M; m++) {
        int n = r->nsend[m * p->parts + q];
        if (n > 0) hps_table_gather(p->table, (size_t)n, row, hps_exchange_piece(p, q, m, p->slot));
        row += n;
    }
}

/* My rows that the others need, by member; those that leave in messages, as many as possible at
 * once. */
static void gather(struct hps_exchange *p)
{
    const struct hps_request_step *r = p->r;
    size_t dim = (size_t)p->dim;

    for (int q = 0, end; q < p->parts; q = end) {
        end = q + 1;
        if (q == p->me) continue;
        if (!hps_exchange_is_remote(p, q)) {
            gather_to_peer(p, q);
            continue;
        }
        while (end < p->parts && hps_exchange_is_remote(p, end))
            end++;
        int n = p->sent_first[end - 1] + p->sent[end - 1] - p->sent_first[q];
        if (n)
            hps_table_gather(p->table, (size_t)n, r->row + p->sent_first[q],
                             p->out.device + p->remote_first[q] * dim);
    }
}

/* So many rows leave, some of them in messages; what members read in shared memory is fp32. */
static void count(struct hps_exchange *p, enum hps_message kind, const struct hps_codec_ops *codec,
                  size_t all, size_t remote)
{
    size_t dim = (size_t)p->dim;

    p->bytes += (double)(all - remote) * (double)hps_codec_fp32.bytes(dim) +
                (double)remote * (double)codec->bytes(dim);
    hps_message_sent(codec, (double)remote, dim, &p->count[kind]);
}

/* The rows that others need of me leave, and receives for theirs are posted. */
static void pull(struct hps_exchange *p)
{
    hps_mirror_grow(&p->out, p->dev, p->nremote * (size_t)p->dim);
    if (p->r->sums)
        hps_exchange_sum_others(p);
    else
        gather(p);
    count(p, HPS_MESSAGE_ROWS, p->codec.rows, hps_exchange_others(p), p->nremote);
    p->ops->pull(p);
}

/* Memory for n rows: shared, or my own. */
static void grow(struct hps_exchange *p, struct hps_mirror *mirror, int buffer, size_t n)
{
    if (p->shm)
        hps_mirror_lend(mirror, hps_shm_at(p->shm, p->me, p->buffer + buffer, n));
    else
        hps_mirror_grow(mirror, p->dev, n * (size_t)p->dim);
}

void hps_exchange_pull_begin(struct hps_exchange *p, const struct hps_request_step *r)
{
    if (p->ops) p->ops->settle(p);
    lay_out(p, r);
    p->read = (struct hps_row_grad){ .nrow = (size_t)r->nrow };
    p->pushed = p->summed = false;
    p->slot = p->slot == HPS_EXCHANGE_ROWS ? HPS_EXCHANGE_ROWS_TOO : HPS_EXCHANGE_ROWS;
    if (!p->in_place || p->parts > 1) grow(p, &p->rows, p->slot, (size_t)r->nrow);
    if (p->parts > 1) {
        if (p->in_place) find_mine(p);
        pull(p);
    }
    p->mine_at = p->sent_first[p->me];
    p->next = 0;
    if (r->cached) hps_exchange_cache_begin(p);
}

/* Mine are read when they are needed: nothing changes them before apply. */
void hps_exchange_pull_end(struct hps_exchange *p, int m)
{
    const struct hps_request_step *r = p->r;
    int i = m * p->parts + p->me, n = r->nrecv[i];

    assert(m == p->next);
    if (r->sums && m == 0)
        hps_exchange_sum_mine(p);
    else if (n > 0 && !p->in_place && !r->sums && !r->cached)
        hps_table_gather(p->table, (size_t)n, r->row + p->mine_at,
                         p->rows.device + (size_t)p->first_of[i] * (size_t)p->dim);
    p->mine_at += n;
    p->next++;
    if (p->ops) p->ops->pulled(p, m);
    if (r->cached) hps_exchange_cache_pulled(p, m);
}

void hps_exchange_read_in_place(struct hps_exchange *p)
{
    p->in_place = p->dev->host;
}

void hps_exchange_locate(const struct hps_exchange *p, struct hps_lookup *lookup)
{
    lookup->rows = (struct hps_rows){ .gathered = p->rows.device };
    if (p->in_place) {
        lookup->rows = hps_table_rows(p->table);
        lookup->rows.gathered = p->rows.device;
        lookup->rows.at = p->parts > 1 ? p->at : p->r->row;
    } else if (lookup->form == HPS_ROWS_IN_TABLE) {
        lookup->form = HPS_ROWS_IN_ORDER; /* they were gathered in that order */
    }
}

struct hps_row_grad *hps_exchange_grad(struct hps_exchange *p, bool alone)
{
    grow(p, &p->grad, HPS_EXCHANGE_GRAD, (size_t)p->r->nrow + p->nremote);
    p->read.row = p->grad.device;
    p->read.may_defer = alone && p->parts == 1 && p->dev->host && !p->r->sums;
    return &p->read;
}

void hps_exchange_push_begin(struct hps_exchange *p)
{
    const struct hps_request_step *r = p->r;
    size_t dim = (size_t)p->dim, n = (size_t)r->nrow;

    hps_exchange_grad(p, false);
    assert(!p->read.deferred.row || r->nmerge == r->nrow);
    if (!p->read.written && n > 0) /* nobody had anything to add */
        p->dev->ops->zero(p->dev, p->grad.device, n * dim * sizeof(float));
    if (r->cached) hps_exchange_cache_push(p);
    if (!p->ops) return;
    p->ops->push(p);
    for (int i = 0; i < r->M * p->parts; i++) {
        size_t nrow = (size_t)r->nrecv[i];
        int q = i % p->parts;
        if (q != p->me)
            count(p, HPS_MESSAGE_GRADIENTS, p->codec.gradients, nrow,
                  hps_exchange_is_remote(p, q) ? nrow : 0);
    }
}

void hps_exchange_push_end(struct hps_exchange *p)
{
    if (p->ops) p->ops->pushed(p);
    if (p->r->sums && p->parts > 1) hps_exchange_merge_sums(p);
    p->pushed = true;
}

/* What the gradients of my rows, in the order of r->merged, are sums of. */
static struct hps_row_sums sums_of(const struct hps_exchange *p)
{
    const struct hps_request_step *r = p->r;

    if (p->summed) return (struct hps_row_sums){ p->sum.device, NULL, NULL };
    if (p->read.deferred.row) return p->read.deferred;
    if (r->sums && p->parts > 1)
        return (struct hps_row_sums){ p->all.device, r->merge_start, r->merge_from };
    return (struct hps_row_sums){ p->grad.device, r->merge_start, r->merge_from };
}

/* Sum up the gradients of each row, unless they are summed. */
static void sum_up(struct hps_exchange *p)
{
    struct hps_row_sums g = sums_of(p);

    if (!g.start) return;
    hps_mirror_grow(&p->sum, p->dev, (size_t)p->r->nmerge * (size_t)p->dim);
    p->dev->ops->rows->sum(p->dev, p->dim, (size_t)p->r->nmerge, &g, p->sum.device);
    p->summed = true;
}

double hps_exchange_norm2(struct hps_exchange *p)
{
    size_t n = (size_t)p->r->nmerge * (size_t)p->dim;
    double sum = 0;

    assert(p->pushed || n == 0);
    if (n == 0) return 0;
    sum_up(p);
    p->dev->ops->dense->norm2(p->dev, n, sums_of(p).row, &sum);
    return sum;
}

void hps_exchange_apply(struct hps_exchange *p, const struct hps_rule *rule)
{
    const struct hps_request_step *r = p->r;
    struct hps_row_sums g = sums_of(p);

    assert(p->pushed || r->nmerge == 0);
    if (r->nmerge > 0) hps_table_apply(p->table, rule, (size_t)r->nmerge, r->merged, &g);
}

void hps_exchange_apply_some(struct hps_exchange *p, const struct hps_rule *rule, size_t n,
                             const int *number)
{
    hps_mem_grow(&p->some, &p->some_cap, n, sizeof *p->some);
    hps_mem_grow(&p->some_start, &p->some_start_cap, n + 1, sizeof *p->some_start);
    sum_up(p);
    for (size_t i = 0; i < n; i++) {
        p->some[i] = p->r->merged_host[number[i]];
        p->some_start[i] = (int)i;
    }
    p->some_start[n] = (int)n;
    struct hps_row_sums g = { sums_of(p).row, p->some_start, number };
    if (n > 0) hps_table_apply(p->table, rule, n, p->some, &g);
    p->dev->ops->sync(p->dev);                  /* what it reads is the caller's, or scratch */
}

const float *hps_exchange_merged(struct hps_exchange *p)
{
    assert(p->pushed || p->r->nmerge == 0);
    sum_up(p);
    p->dev->ops->sync(p->dev);
    return sums_of(p).row;
}

bool hps_exchange_arrived(struct hps_exchange *p)
{
    return !p->ops || p->ops->arrived(p);
}

void hps_exchange_poll(struct hps_exchange *p)
{
    if (p->ops) p->ops->poll(p);
}

double hps_exchange_bytes(const struct hps_exchange *p)
{
    return p->bytes;
}

void hps_exchange_count(const struct hps_exchange *p, struct hps_message_count count[HPS_MESSAGES])
{
    for (int kind = 0; kind < HPS_MESSAGES; kind++)
        hps_message_count_add(&count[kind], &p->count[kind], 1);
}
