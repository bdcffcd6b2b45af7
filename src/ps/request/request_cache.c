/* request_cache.c - a member that has a cache asks for the rows that it lacks, and for those whose
 * gradients it must return. Unique indices are given anew: those of a micro-batch by owner, hits
 * behind them. */
#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "ps/request/request_impl.h"

enum { HIT_SLOT, PUT, PUT_SLOT, RETURNED, RETURN_SLOT };

/* The rows as they were, and what becomes of them. */
struct split {
    const int *row;                     /* (n) local numbers, by micro-batch and owner      */
    size_t n;
    struct hps_row_cache_use *use;      /* (n)                                              */
    const struct hps_row_cache_held *alone; /* (nalone) asked for to return gradients        */
    size_t nalone, done;
    int at;                             /* the next new index                               */
    int *index;                         /* (n) the new unique index                         */
    int *to;                            /* (n + nalone) rows by new index, as sent          */
};

static uint64_t key_of(int owner, int local)
{
    return (uint64_t)(uint32_t)owner << 32 | (uint32_t)local;
}

/* Ask the cache about each row. */
static void ask(struct hps_request *r, const struct hps_request_slot *t, struct split *s)
{
    size_t i = 0;

    hps_row_cache_begin(r->cache, s->n);
    for (int k = 0; k < r->M * r->parts; k++)
        for (size_t end = i + (size_t)t->step.nrecv[k]; i < end; i++)
            s->use[i] = hps_row_cache_use(r->cache, key_of(k % r->parts, s->row[i]));
    s->alone = hps_row_cache_end(r->cache, &s->nalone);
}

/* Room for as many rows as there may be in each list. */
static void grow(struct hps_request_cache *c, size_t n)
{
    hps_mem_grow(&c->hit, &c->hit_cap, n, sizeof *c->hit);
    hps_mem_grow(&c->adds, &c->adds_cap, n, sizeof *c->adds);
    hps_mem_grow(&c->index, &c->index_cap, n, sizeof *c->index);
    hps_mem_grow(&c->to, &c->to_cap, n, sizeof *c->to);
    for (int i = 0; i < 5; i++)
        hps_mem_grow(&c->list[i], &c->list_cap[i], n, sizeof *c->list[i]);
    c->step = (struct hps_request_cached){ .hit = c->hit, .adds = c->adds,
                                           .hit_slot = c->list[HIT_SLOT], .put = c->list[PUT],
                                           .put_slot = c->list[PUT_SLOT],
                                           .returned = c->list[RETURNED],
                                           .return_slot = c->list[RETURN_SLOT] };
}

/* The row gets the next index and is asked for. */
static void ask_for(struct hps_request_cache *c, struct split *s, int local,
                    struct hps_row_cache_use use)
{
    struct hps_request_cached *step = &c->step;

    if (use.slot >= 0) {
        c->list[PUT][step->nput] = s->at;
        c->list[PUT_SLOT][step->nput++] = use.slot;
    }
    if (use.returns) {
        c->list[RETURNED][step->nreturn] = s->at;
        c->list[RETURN_SLOT][step->nreturn++] = use.slot;
    }
    s->to[s->at++] = use.returns ? ~local : local;
}

/* Those rows of an owner, below `local`, that are asked for only to return gradients. */
static void put_alone(struct hps_request_cache *c, struct split *s, int owner, long long local)
{
    for (; s->done < s->nalone; s->done++) {
        const struct hps_row_cache_held *h = &s->alone[s->done];
        int row = (int)(uint32_t)h->row;
        if ((int)(h->row >> 32) != owner || row >= local) break;
        ask_for(c, s, row, (struct hps_row_cache_use){ .slot = h->slot, .returns = true });
    }
}

/* Of the rows i .. end-1, of one micro-batch and owner, those that are asked for; in the last
 * micro-batch others come between them, in ascending order. */
static void put_asked(struct hps_request_cache *c, struct split *s, size_t i, size_t end, int owner,
                      bool last)
{
    for (; i < end; i++) {
        if (s->use[i].hit) continue;
        if (last) put_alone(c, s, owner, s->row[i]);
        s->index[i] = s->at;
        ask_for(c, s, s->row[i], s->use[i]);
    }
    if (last) put_alone(c, s, owner, LLONG_MAX);
}

/* The hits among the rows from i on, of one micro-batch, of which each owner has nrow. */
static void put_hits(struct hps_request_cache *c, struct split *s, const int *nrow, int owners,
                     size_t i)
{
    for (int q = 0; q < owners; q++)
        for (size_t end = i + (size_t)nrow[q]; i < end; i++) {
            struct hps_row_cache_use use = s->use[i];
            size_t k = c->step.nhit;
            if (!use.hit) continue;
            c->hit[k] = (struct hps_row_cache_held){ key_of(q, s->row[i]), use.slot };
            c->list[HIT_SLOT][k] = use.slot;
            c->adds[k] = use.adds;
            c->step.nhit++;
            s->index[i] = s->at;
            s->to[s->at++] = use.slot;
        }
}

/* Number all rows anew; first and nrecv are those of the new numbers. */
static void number(struct hps_request *r, struct hps_request_slot *t, struct split *s)
{
    struct hps_request_cache *c = &t->cache;
    size_t i = 0;

    for (int m = 0; m < r->M; m++) {
        int *nrecv = t->step.nrecv + m * r->parts, *was = t->nrecv;     /* for now */
        size_t first = i;
        t->step.first[m] = s->at;
        memcpy(was, nrecv, (size_t)r->parts * sizeof *nrecv);
        for (int q = 0; q < r->owners; q++) {
            int before = s->at;
            put_asked(c, s, i, i + (size_t)was[q], q, m == r->M - 1);
            i += (size_t)was[q];
            nrecv[q] = s->at - before;
        }
        int before = s->at;
        put_hits(c, s, was, r->owners, first);
        nrecv[r->me] = s->at - before;
    }
    t->step.first[r->M] = s->at;
}

static void renumber(const int *index, size_t n, int *x)
{
    for (size_t i = 0; i < n; i++)
        x[i] = index[x[i]];
}

/* What lookups say of rows by their index, of all lookups. */
static void renumber_lookups(const struct hps_request *r, struct hps_request_slot *t, size_t nlayer,
                             const int *index)
{
    size_t nrow = 0, nid = 0;

    for (size_t q = 0; q < (size_t)r->M * nlayer; q++) {
        const struct hps_lookup *l = &t->step.lookup[q];
        nrow += l->by_row.n;
        if (l->form == HPS_ROWS_BY_INDEX) nid += l->nid;
    }
    renumber(index, nrow, t->memory.row_index.host);
    renumber(index, nid, t->memory.index.host);
}

void hps_request_split(struct hps_request *r, struct hps_request_slot *t)
{
    struct split s = { .n = (size_t)t->step.first[r->M], .row = t->memory.row.host };

    t->step.cached = &t->cache.step;
    if (r->flushes) {
        s.alone = hps_row_cache_clear(r->cache, &s.nalone);
    } else {
        hps_mem_grow(&t->cache.use, &t->cache.use_cap, s.n, sizeof *s.use);
        s.use = t->cache.use;
        ask(r, t, &s);
    }
    grow(&t->cache, s.n + s.nalone);
    s.index = t->cache.index;
    s.to = t->cache.to;
    number(r, t, &s);
    if (s.n > 0) renumber_lookups(r, t, r->nlayer, s.index);
    hps_int_mirror_grow(&t->memory.row, s.n + s.nalone + 1);
    if (s.at > 0) memcpy(t->memory.row.host, s.to, (size_t)s.at * sizeof *s.to);
    t->cache.step.nrow = s.n;
    t->cache.step.nalone = s.nalone;
    t->cache.step.nslot = hps_row_cache_slots(r->cache);
}

void hps_request_cache_free(struct hps_request_cache *c)
{
    hps_mem_free(c->hit);
    hps_mem_free(c->adds);
    hps_mem_free(c->use);
    hps_mem_free(c->index);
    hps_mem_free(c->to);
    for (int i = 0; i < 5; i++)
        hps_mem_free(c->list[i]);
}
