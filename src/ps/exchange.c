/* exchange.c - rows to their readers, gradients to their owners. Own rows and gradients never
 * travel. */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "ps/exchange_impl.h"

static void join(struct hps_exchange *p, MPI_Comm comm)
{
    bool lone;

    HPS_MPI(MPI_Comm_size(comm, &p->parts));
    HPS_MPI(MPI_Comm_rank(comm, &p->me));
    if (p->parts == 1) return;
    HPS_MPI(MPI_Comm_dup(comm, &p->comm));
    p->cards = hps_gpu_group_new(p->dev, comm, HPS_INFO);
    lone = p->cards->group != NULL;
    p->rows.lone = p->grad.lone = p->out.lone = lone;
    p->way = lone ? &hps_exchange_nccl : &hps_exchange_mpi;
}

enum hps_status hps_exchange_new(struct hps_exchange **ps, struct hps_table *table,
                                 struct hps_dev *dev, struct hps_shm *near, int index,
                                 MPI_Comm comm)
{
    struct hps_exchange *p = hps_mem_new(1, sizeof *p);

    p->comm = MPI_COMM_NULL;
    p->parts = 1;
    p->table = table;
    p->dev = dev;
    p->dim = table->dim;
    p->sum.lone = true;
    p->near = near;
    p->buffer = index * HPS_EXCHANGE_BUFFERS;
    if (comm != MPI_COMM_NULL) join(p, comm);
    assert(table->part == p->me && table->parts == p->parts);
    p->given = hps_mem_new((size_t)p->parts, sizeof *p->given);
    p->given_at = hps_mem_new((size_t)p->parts, sizeof *p->given_at);
    p->far_at = hps_mem_new((size_t)p->parts, sizeof *p->far_at);
    if (p->way) p->with = p->way->open(p);
    *ps = p;
    return HPS_OK;
}

void hps_exchange_free(struct hps_exchange *p)
{
    if (!p) return;
    if (p->way) {
        p->way->close(p);
        HPS_MPI(MPI_Comm_free(&p->comm));
    }
    hps_gpu_group_free(p->cards);
    hps_mirror_free(&p->rows, p->dev);
    hps_mirror_free(&p->grad, p->dev);
    hps_mirror_free(&p->out, p->dev);
    hps_mirror_free(&p->sum, p->dev);
    hps_mirror_free(&p->all, p->dev);
    hps_mem_free(p->place);
    hps_mem_free(p->at);
    hps_mem_free(p->given);
    hps_mem_free(p->given_at);
    hps_mem_free(p->far_at);
    hps_mem_free(p);
}

/* Where each owner's and each member's rows lie in this step. */
static void lay_out(struct hps_exchange *p, const struct hps_request_step *r)
{
    size_t pairs = (size_t)r->M * (size_t)p->parts;
    int at = 0;

    assert(r->parts == p->parts && !(r->sums && p->in_place));
    p->r = r;
    hps_mem_grow(&p->place, &p->place_cap, pairs, sizeof *p->place);
    for (size_t i = 0; i < pairs; i++) {
        p->place[i] = at;
        at += r->ask[i];
    }
    at = 0;
    p->nfar = 0;
    for (int q = 0; q < p->parts; q++) {
        p->given_at[q] = at;
        for (int m = 0; m < r->M; m++)
            at += r->give[m * p->parts + q];
        p->given[q] = at - p->given_at[q];
        p->far_at[q] = p->nfar;
        if (hps_exchange_is_far(p, q)) p->nfar += (size_t)p->given[q];
    }
}

/* Which places' rows are mine, and where. */
static void find_mine(struct hps_exchange *p)
{
    const struct hps_request_step *r = p->r;
    const int *row = r->row + p->given_at[p->me];

    hps_mem_grow(&p->at, &p->at_cap, (size_t)r->nplace, sizeof *p->at);
    for (int m = 0, at = 0; m < r->M; m++) {
        int i = m * p->parts + p->me, first = p->place[i], n = r->ask[i];
        for (; at < first; at++)
            p->at[at] = -1;
        if (n > 0) memcpy(p->at + first, row, (size_t)n * sizeof *row);
        row += n;
        for (at = first + n; at < r->first[m + 1]; at++)
            p->at[at] = -1;
    }
}

/* To where a member who is near has them. */
static void gather_near(struct hps_exchange *p, int q)
{
    const struct hps_request_step *r = p->r;
    const int *row = r->row + p->given_at[q];

    for (int m = 0; m < r->M; m++) {
        int n = r->give[m * p->parts + q];
        if (n > 0) hps_table_gather(p->table, (size_t)n, row, hps_exchange_piece(p, q, m, p->turn));
        row += n;
    }
}

/* My rows that the others asked for, by member; of those who are not near as many as possible at
 * once. */
static void gather(struct hps_exchange *p)
{
    const struct hps_request_step *r = p->r;
    size_t dim = (size_t)p->dim;

    for (int q = 0, end; q < p->parts; q = end) {
        end = q + 1;
        if (q == p->me) continue;
        if (!hps_exchange_is_far(p, q)) {
            gather_near(p, q);
            continue;
        }
        while (end < p->parts && hps_exchange_is_far(p, end))
            end++;
        int n = p->given_at[end - 1] + p->given[end - 1] - p->given_at[q];
        if (n)
            hps_table_gather(p->table, (size_t)n, r->row + p->given_at[q],
                             p->out.device + p->far_at[q] * dim);
    }
}

/* What the others asked for leaves, theirs is awaited. */
static void pull(struct hps_exchange *p)
{
    hps_mirror_grow(&p->out, p->dev, p->nfar * (size_t)p->dim);
    if (p->r->sums)
        hps_exchange_give_others(p);
    else
        gather(p);
    p->bytes += (double)hps_exchange_others(p) * (double)p->dim * (double)sizeof(float);
    p->way->pull(p);
}

/* Room for n rows where members who are near see them, or for myself. */
static void grow(struct hps_exchange *p, struct hps_mirror *twin, int buffer, size_t n)
{
    if (p->near)
        hps_mirror_lend(twin, hps_shm_at(p->near, p->me, p->buffer + buffer, n));
    else
        hps_mirror_grow(twin, p->dev, n * (size_t)p->dim);
}

void hps_exchange_pull_begin(struct hps_exchange *p, const struct hps_request_step *r)
{
    if (p->way) p->way->settle(p);
    lay_out(p, r);
    p->read = (struct hps_row_grad){ .nrow = (size_t)r->nplace };
    p->pushed = p->summed = false;
    p->turn = p->turn == HPS_EXCHANGE_ROWS ? HPS_EXCHANGE_ROWS_TOO : HPS_EXCHANGE_ROWS;
    if (!p->in_place || p->parts > 1) grow(p, &p->rows, p->turn, (size_t)r->nplace);
    if (p->parts > 1) {
        if (p->in_place) find_mine(p);
        pull(p);
    }
    p->mine_at = p->given_at[p->me];
    p->next = 0;
}

/* Mine are read when they are needed: nothing changes them before apply. */
void hps_exchange_pull_end(struct hps_exchange *p, int m)
{
    const struct hps_request_step *r = p->r;
    int i = m * p->parts + p->me, n = r->ask[i];

    assert(m == p->next);
    if (r->sums && m == 0)
        hps_exchange_give_mine(p);
    else if (n > 0 && !p->in_place && !r->sums)
        hps_table_gather(p->table, (size_t)n, r->row + p->mine_at,
                         p->rows.device + (size_t)p->place[i] * (size_t)p->dim);
    p->mine_at += n;
    p->next++;
    if (p->way) p->way->pulled(p, m);
}

void hps_exchange_read_in_place(struct hps_exchange *p)
{
    p->in_place = p->dev->host;
}

void hps_exchange_locate(const struct hps_exchange *p, struct hps_lookup *lookup)
{
    lookup->rows = (struct hps_rows){ .gathered = p->rows.device };
    if (p->in_place) {
        lookup->rows.table = p->table->row;
        lookup->rows.stride = p->table->stride;
        lookup->rows.at = p->parts > 1 ? p->at : p->r->row;
    } else if (lookup->form == HPS_ROWS_IN_TABLE) {
        lookup->form = HPS_ROWS_IN_ORDER; /* they were gathered in that order */
    }
}

struct hps_row_grad *hps_exchange_grad(struct hps_exchange *p, bool alone)
{
    grow(p, &p->grad, HPS_EXCHANGE_GRAD, (size_t)p->r->nplace + p->nfar);
    p->read.row = p->grad.device;
    p->read.may_defer = alone && p->parts == 1 && p->dev->host && !p->r->sums;
    return &p->read;
}

void hps_exchange_push_begin(struct hps_exchange *p)
{
    const struct hps_request_step *r = p->r;
    size_t dim = (size_t)p->dim, n = (size_t)r->nplace;

    hps_exchange_grad(p, false);
    assert(!p->read.deferred.row || r->nmerge == r->nplace);
    if (!p->read.written && n > 0) /* nobody had anything to add */
        p->dev->ops->zero(p->dev, p->grad.device, n * dim * sizeof(float));
    if (!p->way) return;
    p->way->push(p);
    for (int m = 0; m < r->M; m++)
        n -= (size_t)r->ask[m * p->parts + p->me];
    p->bytes += (double)n * (double)dim * (double)sizeof(float);
}

void hps_exchange_push_end(struct hps_exchange *p)
{
    if (p->way) p->way->pushed(p);
    if (p->r->sums && p->parts > 1) hps_exchange_take_sums(p);
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

double hps_exchange_norm2(struct hps_exchange *p)
{
    size_t n = (size_t)p->r->nmerge * (size_t)p->dim;
    double sum = 0;

    assert(p->pushed || n == 0);
    if (n == 0) return 0;
    struct hps_row_sums g = sums_of(p);
    if (g.start) {
        hps_mirror_grow(&p->sum, p->dev, n);
        p->dev->ops->rows->sum(p->dev, p->dim, (size_t)p->r->nmerge, &g, p->sum.device);
        p->summed = true;
    }
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

void hps_exchange_poll(struct hps_exchange *p)
{
    if (p->way) p->way->poll(p);
}

double hps_exchange_bytes(const struct hps_exchange *p)
{
    return p->bytes;
}
