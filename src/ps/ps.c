/* ps.c - the door of the parameter server: a step's rows and gradients go through the exchanges of
 * its tables, lookups are made here, checkpoints read and write rows through it.
 *
 * Tables are gone through in the order of the net on all ranks: collectives of GPUs must be queued
 * in one order. What is done for a table is counted for the first of my stages that reads it. */
#include "ps/ps.h"

#include <assert.h>

#include "base/mem.h"
#include "hw/count.h"
#include "ps/ps_impl.h"
#include "ps/snapshot.h"

/* ---- a step ---- */

/* The exchange of table i; time is counted for its stage from now on. */
static struct hps_exchange *work_on(struct hps_ps *p, int i)
{
    hps_region_part(hps_team_part(p->team, p->table[i].stage));
    return p->table[i].exchange;
}

/* Room for the lookups of the step's micro-batches, none of them made. */
static void clear_lookups(struct hps_ps *p)
{
    size_t n = (size_t)p->M * (size_t)p->net->L;

    hps_mem_grow(&p->lookup, &p->lookup_cap, n, sizeof *p->lookup);
    for (int i = 0; i < p->ntable; i++)
        p->table[i].next = 0;
}

/* What travels of a row of the group in a step, there and back: its number, values, gradients. */
static double bytes_of_row(const struct hps_ps *p, int g)
{
    double bytes = sizeof(int);

    for (int i = 0; i < p->ntable; i++)
        if (p->table[i].group == g)
            bytes += (double)(p->codec.rows->bytes((size_t)p->table[i].table->dim) +
                              p->codec.gradients->bytes((size_t)p->table[i].table->dim));
    return bytes;
}

static void count_cached(struct hps_ps *p)
{
    for (int g = 0; g < p->ngroup; g++) {
        const struct hps_request_cached *c = p->group[g].step->cached;
        struct hps_ps_cached *sum = &p->group[g].cached;
        if (!c) continue;
        sum->rows += (long long)c->nrow;
        sum->hits += (long long)c->nhit;
        sum->returned += (long long)c->nalone;
        sum->bytes += ((double)c->nhit - (double)c->nalone) * bytes_of_row(p, g);
    }
}

void hps_ps_begin(struct hps_ps *p, struct hps_ps_requests *requests)
{
    p->M = hps_ps_requests_take(requests);
    clear_lookups(p);
    count_cached(p);
    for (int i = 0; i < p->ntable; i++)
        hps_exchange_pull_begin(work_on(p, i), p->group[p->table[i].group].step);
    for (int i = 0; i < p->ntable && p->versioned; i++) {
        const struct hps_request_step *r = p->group[p->table[i].group].asked;
        hps_versions_pull(&p->table[i].versions, &p->table[i].pulled, (size_t)r->nmerge,
                          r->merged_host, (struct hps_versions_held){ r->nheld, r->held });
    }
}

/* What layer l gets for micro-batch m of table t. */
static struct hps_lookup lookup_of(const struct hps_ps *p, const struct hps_ps_table *t, int m,
                                   int l)
{
    const struct hps_ps_group *g = &p->group[t->group];
    struct hps_lookup lookup = g->step->lookup[m * g->nlayer + p->layer_bag[l]];

    hps_exchange_locate(t->exchange, &lookup);
    lookup.grad = hps_exchange_grad(t->exchange, g->step->M == 1 && g->nlayer == 1);
    return lookup;
}

const struct hps_lookup *hps_ps_pull(struct hps_ps *p, int m, int l)
{
    struct hps_lookup *lookup = p->lookup + (size_t)m * (size_t)p->net->L + l;
    struct hps_ps_table *t = p->table + p->layer_table[l];

    if (p->layer_table[l] < 0) return NULL;
    assert(m <= t->next);
    if (m == t->next) hps_exchange_pull_end(t->exchange, t->next++);
    *lookup = lookup_of(p, t, m, l);
    return lookup;
}

void hps_ps_serve(struct hps_ps *p)
{
    for (int i = 0; i < p->ntable; i++)
        for (int m = 0; m < p->M; m++)
            hps_exchange_pull_end(p->table[i].exchange, m);
}

void hps_ps_push_begin(struct hps_ps *p)
{
    for (int i = 0; i < p->ntable; i++)
        hps_exchange_push_begin(work_on(p, i));
}

void hps_ps_push_end(struct hps_ps *p)
{
    for (int i = 0; i < p->ntable; i++)
        hps_exchange_push_end(work_on(p, i));
}

bool hps_ps_flush(struct hps_ps *p, struct hps_ps_requests *requests)
{
    bool dropped = hps_ps_requests_flush(requests);

    hps_ps_begin(p, requests);
    hps_ps_serve(p);
    hps_ps_push_begin(p);
    hps_ps_push_end(p);
    return dropped;
}

double hps_ps_norm2(struct hps_ps *p)
{
    double sum = 0;

    for (int i = 0; i < p->ntable; i++)
        sum += hps_exchange_norm2(p->table[i].exchange);
    return sum;
}

static void apply_all(const struct hps_ps *p, const struct hps_ps_table *t,
                      struct hps_update update, float scale)
{
    struct hps_rule rule = hps_opt_rule(p->train, &t->table->shape->override, update);

    rule.scale = scale;
    hps_exchange_apply(t->exchange, &rule);
}

/* Rows whose gradients are as stale have one rate. */
static void apply_stale(struct hps_ps *p, struct hps_ps_table *t, struct hps_update update,
                        float scale)
{
    const struct hps_pulled *k = &t->pulled;

    hps_pulled_sort(&t->pulled);
    for (size_t i = 0, end; i < k->n; i = end) {
        end = i + 1;
        while (end < k->n && k->staleness[k->order[end]] == k->staleness[k->order[i]])
            end++;
        update.staleness = k->staleness[k->order[i]];
        struct hps_rule rule = hps_opt_rule(p->train, &t->table->shape->override, update);
        rule.scale = scale;
        hps_exchange_apply_some(t->exchange, &rule, end - i, k->order + i);
    }
}

/* The gradients are of workers that do not wait for each other: versions count them. */
static void apply_versioned(struct hps_ps *p, struct hps_ps_table *t, struct hps_update update,
                            float scale)
{
    const struct hps_request_step *r = p->group[t->group].asked;

    hps_versions_push(&t->versions, &t->pulled, r->merged_host, &p->staleness);
    if (hps_train_slows_stale(p->train))
        apply_stale(p, t, update, scale);
    else
        apply_all(p, t, update, scale);
    hps_versions_apply(&t->versions, (size_t)r->nmerge, r->merged_host, NULL);
}

bool hps_ps_bring_again(struct hps_ps *p, bool may_begin)
{
    bool all = true;

    for (struct hps_ps_group *g = p->group; g < p->group + p->ngroup; g++)
        if (g->paged) all &= hps_paging_bring_again(g->paged, may_begin);
    return all;
}

void hps_ps_apply(struct hps_ps *p, int stage, struct hps_update update, float scale)
{
    for (struct hps_ps_group *g = p->group; g < p->group + p->ngroup; g++)
        if (g->paged) hps_paging_change(g->paged);
    for (int i = 0; i < p->ntable; i++) {
        struct hps_ps_table *t = &p->table[i];
        if (t->stage != stage) continue;
        if (p->versioned)
            apply_versioned(p, t, update, scale);
        else
            apply_all(p, t, update, scale);
    }
}

/* ---- gradients of several steps together ---- */

void hps_ps_hold(struct hps_ps *p, float scale)
{
    for (int i = 0; i < p->ntable; i++) {
        struct hps_ps_table *t = &p->table[i];
        const struct hps_request_step *r = p->group[t->group].asked;
        hps_versions_push(&t->versions, &t->pulled, r->merged_host, &p->staleness);
        hps_aggregate_add(t->held, (size_t)r->nmerge, r->merged_host,
                          hps_exchange_merged(t->exchange), scale);
    }
}

/* Those of some rows of a table: n of them from `first` on. */
static void apply_sums(struct hps_ps *p, struct hps_ps_table *t, const struct hps_rule *rule,
                       size_t first, size_t n)
{
    struct hps_paging *paging = p->group[t->group].paging;
    const struct hps_aggregate *a = t->held;
    const int *row = a->row + first;
    struct hps_row_sums sums = { .row = a->sum + first * (size_t)a->dim };

    if (paging) row = hps_paging_lend(paging, n, row);
    hps_table_apply(t->table, rule, n, row, &sums);
    if (paging) hps_paging_give_back(paging);
}

void hps_ps_apply_held(struct hps_ps *p, struct hps_update update)
{
    for (int i = 0; i < p->ntable; i++) {
        struct hps_ps_table *t = &p->table[i];
        struct hps_aggregate *a = t->held;
        struct hps_rule rule = hps_opt_rule(p->train, &t->table->shape->override, update);
        const struct hps_ps_group *g = &p->group[t->group];
        size_t some = g->paging ? hps_paging_slots(g->paging) : a->n;
        for (size_t first = 0; first < a->n; first += some)
            apply_sums(p, t, &rule, first, a->n - first < some ? a->n - first : some);
        p->dev->ops->sync(p->dev);
        hps_versions_apply(&t->versions, a->n, a->row, a->count);
        hps_aggregate_clear(a);
    }
}

struct hps_staleness hps_ps_staleness(const struct hps_ps *p)
{
    return p->staleness;
}

struct hps_ps_rows hps_ps_rows(const struct hps_ps *p)
{
    struct hps_ps_rows rows = { 0, 0 };

    for (int i = 0; i < p->ntable; i++) {
        const struct hps_request_step *r = p->group[p->table[i].group].step;
        rows.pulled += (long long)r->nsend_all;
        rows.pushed += r->nmerge;
    }
    return rows;
}

bool hps_ps_arrived(struct hps_ps *p)
{
    bool all = true;

    for (int i = 0; i < p->ntable; i++)
        all &= hps_exchange_arrived(p->table[i].exchange);
    return all;
}

void hps_ps_poll(struct hps_ps *p)
{
    for (int i = 0; i < p->ntable; i++)
        hps_exchange_poll(p->table[i].exchange);
}

double hps_ps_bytes(const struct hps_ps *p)
{
    double bytes = 0;

    for (int i = 0; i < p->ntable; i++)
        bytes += hps_exchange_bytes(p->table[i].exchange);
    return bytes;
}

void hps_ps_count(const struct hps_ps *p, struct hps_message_count count[HPS_MESSAGES])
{
    for (int i = 0; i < p->ntable; i++)
        hps_exchange_count(p->table[i].exchange, count);
}

struct hps_message_count hps_ps_encoded(const struct hps_ps *p)
{
    struct hps_message_count sum = { 0 };

    for (int i = 0; i < p->ntable; i++) {
        const struct hps_table *t = p->table[i].table;
        if (!t->encoded) continue;
        sum.bytes += (double)t->nrow * (double)t->format.bytes;
        sum.plain_bytes += (double)t->nrow * (double)t->stride * sizeof(float);
        hps_message_count_add(&sum, &t->rounding, 1);
    }
    return sum;
}

static struct hps_tier_count tier_of(const struct hps_ps_group *g)
{
    if (g->store) {
        struct hps_tier_count c = hps_row_store_counted(g->store);
        c.waited_s += hps_paging_waited_s(g->paging);
        return c;
    }
    return (struct hps_tier_count){ .slots = hps_slots_count(g->slots),
                                    .asked = hps_slots_asked(g->slots),
                                    .hits = hps_slots_hits(g->slots),
                                    .bytes = hps_staging_bytes(g->staging) };
}

void hps_ps_tiers(const struct hps_ps *p, struct hps_tier_count *count)
{
    for (int g = 0; g < p->ngroup; g++) {
        int i = 0;
        while (p->table[i].group != g)
            i++;
        if (!p->group[g].slots) continue;
        count[p->table[i].index] = tier_of(&p->group[g]);
        count[p->table[i].index].rows = (double)p->table[i].table->nrow;
    }
}

enum hps_status hps_ps_status(const struct hps_ps *p)
{
    enum hps_status st = HPS_OK;

    for (const struct hps_ps_group *g = p->group; !st && g < p->group + p->ngroup; g++)
        if (g->paging) st = hps_paging_status(g->paging);
    return st;
}

void hps_ps_cached_add(struct hps_ps_cached *to, const struct hps_ps_cached *more)
{
    to->rows += more->rows;
    to->hits += more->hits;
    to->returned += more->returned;
    to->bytes += more->bytes;
}

struct hps_ps_cached hps_ps_cached(const struct hps_ps *p)
{
    struct hps_ps_cached sum = { 0, 0, 0, 0 };

    for (const struct hps_ps_group *g = p->group; g < p->group + p->ngroup; g++)
        hps_ps_cached_add(&sum, &g->cached);
    return sum;
}

/* ---- checkpoints ---- */

/* My part of table t of the net, or NULL. */
static const struct hps_ps_table *part_of(const struct hps_ps *p, int t)
{
    for (int i = 0; i < p->ntable; i++)
        if (p->table[i].index == t) return &p->table[i];
    return NULL;
}

bool hps_ps_shard(const struct hps_ps *p, int t, struct hps_shard *shard)
{
    const struct hps_ps_table *mine = part_of(p, t);

    if (mine) *shard = hps_table_shard(mine->table);
    return mine && shard->part < shard->parts;
}

MPI_Comm hps_ps_owners(const struct hps_ps *p, int t)
{
    return p->servers != MPI_COMM_NULL ? p->servers : p->group[part_of(p, t)->group].comm;
}

MPI_Comm hps_ps_servers(const struct hps_ps *p)
{
    return p->servers;
}

struct hps_snapshot *hps_ps_save(struct hps_ps *p, int t, double share)
{
    return hps_snapshot_new(part_of(p, t)->table, share);
}

void hps_ps_load(struct hps_ps *p, int t, long long first, long long n, const float *x)
{
    struct hps_table *table = part_of(p, t)->table;

    table->tier->set(table, first, n, x);
}
