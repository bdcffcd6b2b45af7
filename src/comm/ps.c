/* ps.c - rows to their readers, gradients to their owners. Own rows and gradients never travel. */
#include "comm/ps.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "comm/team.h"
#include "comm/twin.h"

struct hps_ps {
    MPI_Comm comm;              /* owned; MPI_COMM_NULL when alone                        */
    MPI_Datatype row;           /* dim floats                                            */
    int me, parts, dim;
    struct hps_table *table;
    struct hps_dev *dev;
    const struct hps_route_step *r;
    struct hps_twin rows;       /* (nplace, dim)                                         */
    struct hps_twin grad;       /* (nplace + those of the others, dim): theirs by member */
    struct hps_twin out;        /* rows to the others, by member                         */
    struct hps_twin sum;        /* (nmerge, dim) gradients merged, where their norm is asked */
    bool stay;                  /* my rows are read in the table                         */
    int *at;                    /* (nplace) then: where they lie there, < 0 those of others */
    bool written, pushed, summed;       /* grad, of this step; all there; sum             */
    struct hps_row_sums owed;   /* in place of grad, where row is not NULL                */
    int *place;                 /* (M, parts) first place of each owner's rows            */
    int *given, *given_at;      /* (parts) rows a member asked, and where r->row has them */
    size_t *sent_at;            /* (parts) scratch: the next row of `out` to send         */
    int mine_at, next;          /* my own row and the micro-batch that pull_end takes next */
    int *cut, *cut_at;          /* (M) scratch: a message's pieces                        */
    size_t place_cap, at_cap, cut_cap, cut_at_cap;
    MPI_Request *pull;          /* (npull) receives of rows; micro-batch m's begin at pull_at[m] */
    int *pull_at;               /* (M + 1)                                               */
    MPI_Request *send;          /* (nsend) rows, then gradients                          */
    MPI_Request *push;          /* (parts) receives of gradients                         */
    size_t pull_cap, pull_at_cap, send_cap;
    int npull, nsend;
    double bytes;
};

enum hps_status hps_ps_new(struct hps_ps **ps, struct hps_table *table, struct hps_dev *dev,
                           MPI_Comm comm)
{
    struct hps_ps *p = hps_mem_new(1, sizeof *p);

    p->comm = MPI_COMM_NULL;
    p->parts = 1;
    if (comm != MPI_COMM_NULL) {
        HPS_MPI(MPI_Comm_size(comm, &p->parts));
        HPS_MPI(MPI_Comm_rank(comm, &p->me));
    }
    if (p->parts > 1) {
        HPS_MPI(MPI_Comm_dup(comm, &p->comm));
        HPS_MPI(MPI_Type_contiguous(table->dim, MPI_FLOAT, &p->row));
        HPS_MPI(MPI_Type_commit(&p->row));
    }
    assert(table->part == p->me && table->parts == p->parts);
    p->table = table;
    p->dev = dev;
    p->dim = table->dim;
    p->given = hps_mem_new((size_t)p->parts, sizeof *p->given);
    p->given_at = hps_mem_new((size_t)p->parts, sizeof *p->given_at);
    p->sent_at = hps_mem_new((size_t)p->parts, sizeof *p->sent_at);
    p->push = hps_mem_new((size_t)p->parts, sizeof(MPI_Request));
    for (int q = 0; q < p->parts; q++)
        p->push[q] = MPI_REQUEST_NULL;
    *ps = p;
    return HPS_OK;
}

static void wait_sent(struct hps_ps *p)
{
    if (p->nsend > 0)
        hps_wait_all(p->nsend, p->send);
    p->nsend = 0;
}

void hps_ps_free(struct hps_ps *p)
{
    if (!p)
        return;
    wait_sent(p);
    hps_twin_free(&p->rows, p->dev);
    hps_twin_free(&p->grad, p->dev);
    hps_twin_free(&p->out, p->dev);
    hps_twin_free(&p->sum, p->dev);
    hps_mem_free(p->place);
    hps_mem_free(p->at);
    hps_mem_free(p->given);
    hps_mem_free(p->given_at);
    hps_mem_free(p->sent_at);
    hps_mem_free(p->cut);
    hps_mem_free(p->cut_at);
    hps_mem_free(p->pull);
    hps_mem_free(p->pull_at);
    hps_mem_free(p->send);
    hps_mem_free(p->push);
    if (p->parts > 1) {
        HPS_MPI(MPI_Type_free(&p->row));
        HPS_MPI(MPI_Comm_free(&p->comm));
    }
    hps_mem_free(p);
}

/* Where each owner's and each member's rows lie in this step. */
static void lay_out(struct hps_ps *p, const struct hps_route_step *r)
{
    size_t M = (size_t)r->M, pairs = M * (size_t)p->parts;
    int at = 0;

    assert(r->parts == p->parts);
    p->r = r;
    hps_mem_grow(&p->place, &p->place_cap, pairs, sizeof *p->place);
    hps_mem_grow(&p->pull, &p->pull_cap, pairs, sizeof *p->pull);
    hps_mem_grow(&p->send, &p->send_cap, pairs + (size_t)p->parts, sizeof *p->send);
    hps_mem_grow(&p->pull_at, &p->pull_at_cap, M + 1, sizeof *p->pull_at);
    hps_mem_grow(&p->cut, &p->cut_cap, M, sizeof *p->cut);
    hps_mem_grow(&p->cut_at, &p->cut_at_cap, M, sizeof *p->cut_at);
    for (size_t i = 0; i < pairs; i++) {
        p->place[i] = at;
        at += r->ask[i];
    }
    at = 0;
    for (int q = 0; q < p->parts; q++) {
        p->given_at[q] = at;
        for (int m = 0; m < r->M; m++)
            at += r->give[m * p->parts + q];
        p->given[q] = at - p->given_at[q];
    }
}

/* Which places' rows are mine, and where. */
static void find_mine(struct hps_ps *p)
{
    const struct hps_route_step *r = p->r;
    const int *row = r->row + p->given_at[p->me];

    hps_mem_grow(&p->at, &p->at_cap, (size_t)r->nplace, sizeof *p->at);
    for (int m = 0, at = 0; m < r->M; m++) {
        int i = m * p->parts + p->me, first = p->place[i], n = r->ask[i];
        for (; at < first; at++)
            p->at[at] = -1;
        if (n > 0)
            memcpy(p->at + first, row, (size_t)n * sizeof *row);
        row += n;
        for (at = first + n; at < r->first[m + 1]; at++)
            p->at[at] = -1;
    }
}

/* Where `out` and the others' part of `grad` have member q's rows: they leave mine out. */
static size_t other_at(const struct hps_ps *p, int q)
{
    return (size_t)(p->given_at[q] - (q > p->me ? p->given[p->me] : 0));
}

/* Rows that the others asked of me. */
static size_t others(const struct hps_ps *p)
{
    return p->r->ngive - (size_t)p->given[p->me];
}

static void post_rows(struct hps_ps *p)
{
    const struct hps_route_step *r = p->r;

    p->npull = 0;
    for (int m = 0; m < r->M; m++) {
        p->pull_at[m] = p->npull;
        for (int q = 0; q < p->parts; q++) {
            int i = m * p->parts + q;
            if (q == p->me || r->ask[i] == 0)
                continue;
            HPS_MPI(MPI_Irecv(p->rows.host + (size_t)p->place[i] * (size_t)p->dim, r->ask[i],
                              p->row, q, HPS_TAG_ROWS + m % HPS_TAG_SPAN, p->comm,
                              &p->pull[p->npull++]));
        }
    }
    p->pull_at[r->M] = p->npull;
}

static void send_rows(struct hps_ps *p)
{
    const struct hps_route_step *r = p->r;
    size_t before = (size_t)p->given_at[p->me], mine = (size_t)p->given[p->me];
    size_t n = others(p), dim = (size_t)p->dim;

    hps_twin_grow(&p->out, p->dev, n * dim);
    if (before > 0)
        hps_table_gather(p->table, before, r->row, p->out.device);
    if (n > before)
        hps_table_gather(p->table, n - before, r->row + before + mine,
                         p->out.device + before * dim);
    hps_twin_fetch(&p->out, p->dev, n * dim);
    size_t *at = p->sent_at;
    for (int q = 0; q < p->parts; q++)
        at[q] = other_at(p, q);
    for (int m = 0; m < r->M; m++)
        for (int q = 0; q < p->parts; q++) {
            int k = r->give[m * p->parts + q];
            if (q == p->me || k == 0)
                continue;
            HPS_MPI(MPI_Isend(p->out.host + at[q] * dim, k, p->row, q,
                              HPS_TAG_ROWS + m % HPS_TAG_SPAN, p->comm, &p->send[p->nsend++]));
            at[q] += (size_t)k;
        }
    p->bytes += (double)n * (double)dim * (double)sizeof(float);
}

void hps_ps_pull_begin(struct hps_ps *p, const struct hps_route_step *r)
{
    wait_sent(p);
    lay_out(p, r);
    p->written = p->pushed = p->summed = false;
    p->owed = (struct hps_row_sums){ 0 };
    if (!p->stay || p->parts > 1)
        hps_twin_grow(&p->rows, p->dev, (size_t)r->nplace * (size_t)p->dim);
    if (p->parts > 1) {
        if (p->stay)
            find_mine(p);
        post_rows(p);
        send_rows(p);
    }
    p->mine_at = p->given_at[p->me];
    p->next = 0;
}

static void bring_rows(struct hps_ps *p, int first, int end)
{
    size_t dim = (size_t)p->dim;
    hps_twin_bring(&p->rows, p->dev, (size_t)first * dim, (size_t)(end - first) * dim);
}

/* Mine are read when they are needed: nothing changes them before apply. */
void hps_ps_pull_end(struct hps_ps *p, int m)
{
    const struct hps_route_step *r = p->r;
    int i = m * p->parts + p->me, n = r->ask[i];

    assert(m == p->next);
    if (n > 0 && !p->stay)
        hps_table_gather(p->table, (size_t)n, r->row + p->mine_at,
                         p->rows.device + (size_t)p->place[i] * (size_t)p->dim);
    p->mine_at += n;
    p->next++;
    if (p->parts == 1)
        return;
    hps_wait_all(p->pull_at[m + 1] - p->pull_at[m], p->pull + p->pull_at[m]);
    bring_rows(p, r->first[m], p->place[i]);
    bring_rows(p, p->place[i] + n, r->first[m + 1]);
}

const float *hps_ps_rows(const struct hps_ps *p)
{
    return p->stay ? p->table->row : p->rows.device;
}

void hps_ps_stay(struct hps_ps *p)
{
    p->stay = p->dev->host;
}

void hps_ps_place(const struct hps_ps *p, struct hps_bag *bag)
{
    if (!p->stay)
        return;
    bag->at = p->parts > 1 ? p->at : p->r->row;
    bag->stride = p->table->stride;
    bag->far = p->rows.device;
}

float *hps_ps_grad(struct hps_ps *p)
{
    hps_twin_grow(&p->grad, p->dev, ((size_t)p->r->nplace + others(p)) * (size_t)p->dim);
    return p->grad.device;
}

bool *hps_ps_written(struct hps_ps *p)
{
    return &p->written;
}

struct hps_row_sums *hps_ps_owed(struct hps_ps *p)
{
    return p->parts == 1 && p->dev->host ? &p->owed : NULL;
}

/* One message to an owner: its rows of all micro-batches, in place. Returns how many. */
static size_t send_grad(struct hps_ps *p, int q)
{
    const struct hps_route_step *r = p->r;
    MPI_Datatype pieces;
    size_t rows = 0;
    int n = 0;

    for (int m = 0; m < r->M; m++) {
        int i = m * p->parts + q;
        if (r->ask[i] == 0)
            continue;
        p->cut[n] = r->ask[i];
        p->cut_at[n++] = p->place[i];
        rows += (size_t)r->ask[i];
    }
    if (n == 0)
        return 0;
    HPS_MPI(MPI_Type_indexed(n, p->cut, p->cut_at, p->row, &pieces));
    HPS_MPI(MPI_Type_commit(&pieces));
    HPS_MPI(MPI_Isend(p->grad.host, 1, pieces, q, HPS_TAG_PUSH, p->comm, &p->send[p->nsend++]));
    HPS_MPI(MPI_Type_free(&pieces));
    return rows;
}

void hps_ps_push_begin(struct hps_ps *p)
{
    const struct hps_route_step *r = p->r;
    size_t dim = (size_t)p->dim, mine = (size_t)r->nplace, sent = 0;

    hps_ps_grad(p);
    assert(!p->owed.row || r->nmerge == r->nplace);
    if (!p->owed.row && !p->written && mine > 0)        /* nobody had anything to add */
        p->dev->ops->zero(p->dev, p->grad.device, mine * dim * sizeof(float));
    if (p->parts == 1)
        return;
    for (int q = 0; q < p->parts; q++)
        if (q != p->me && p->given[q] > 0)
            HPS_MPI(MPI_Irecv(p->grad.host + (mine + other_at(p, q)) * dim, p->given[q], p->row, q,
                              HPS_TAG_PUSH, p->comm, &p->push[q]));
    hps_twin_fetch(&p->grad, p->dev, mine * dim);
    for (int q = 0; q < p->parts; q++)
        if (q != p->me)
            sent += send_grad(p, q);
    p->bytes += (double)sent * (double)dim * (double)sizeof(float);
}

void hps_ps_push_end(struct hps_ps *p)
{
    size_t dim = (size_t)p->dim;

    if (p->parts > 1) {
        hps_wait_all(p->parts, p->push);
        hps_twin_bring(&p->grad, p->dev, (size_t)p->r->nplace * dim, others(p) * dim);
        wait_sent(p);
    }
    p->pushed = true;
}

/* What the gradients of my rows, in the order of r->merged, are sums of. */
static struct hps_row_sums sums_of(const struct hps_ps *p)
{
    const struct hps_route_step *r = p->r;

    if (p->summed)
        return (struct hps_row_sums){ p->sum.device, NULL, NULL };
    if (p->owed.row)
        return p->owed;
    return (struct hps_row_sums){ p->grad.device, r->merge_start, r->merge_from };
}

double hps_ps_norm2(struct hps_ps *p)
{
    size_t n = (size_t)p->r->nmerge * (size_t)p->dim;
    double sum = 0;

    assert(p->pushed || n == 0);
    if (n == 0)
        return 0;
    struct hps_row_sums g = sums_of(p);
    if (g.start) {
        hps_twin_grow(&p->sum, p->dev, n);
        p->dev->ops->rows_sum(p->dev, p->dim, (size_t)p->r->nmerge, &g, p->sum.device);
        p->summed = true;
    }
    p->dev->ops->norm2(p->dev, n, sums_of(p).row, &sum);
    return sum;
}

void hps_ps_apply(struct hps_ps *p, const struct hps_rule *rule)
{
    const struct hps_route_step *r = p->r;
    struct hps_row_sums g = sums_of(p);

    assert(p->pushed || r->nmerge == 0);
    if (r->nmerge > 0)
        hps_table_apply(p->table, rule, (size_t)r->nmerge, r->merged, &g);
}

void hps_ps_poll(struct hps_ps *p)
{
    int done;

    if (p->parts == 1)
        return;
    HPS_MPI(MPI_Testall(p->npull, p->pull, &done, MPI_STATUSES_IGNORE));
    HPS_MPI(MPI_Testall(p->nsend, p->send, &done, MPI_STATUSES_IGNORE));
    HPS_MPI(MPI_Testall(p->parts, p->push, &done, MPI_STATUSES_IGNORE));
}

double hps_ps_bytes(const struct hps_ps *p)
{
    return p->bytes;
}
