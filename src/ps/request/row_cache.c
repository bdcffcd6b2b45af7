/* row_cache.c - entries of the rows that have slots, found by hashing; lists of them by the clock
 * of the pull and by that of the first gradient held, so that nothing is searched. Of other rows,
 * which are many and mostly come once, a mark by hash and clock is all that is kept; another row
 * may overwrite it. */
#include "ps/row_cache.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

enum { NONE = -1 };

struct entry {
    uint64_t row;
    long long pulled, held;     /* clocks: of the last pull; of the first gradient held, NONE   */
    int slot;
    bool used;
};

struct list {
    int *at;
    size_t n, cap;
};

struct hps_row_cache {
    long long H, clock;
    struct entry *entry;
    size_t nentry, entry_cap;
    struct list free_entry, free_slot;
    int nslot;                  /* slots so far                                                 */
    size_t most;                /* slots that may be taken                                      */
    int *table;                 /* (size) entries by hashed row, linear probing; NONE           */
    size_t size, count;         /* a power of two; places that are taken                        */
    struct list *pulled, *held; /* (H + 2) entries by clock                                     */
    struct mark {
        uint16_t row, clock;    /* of both some bits                                            */
    } *mark;                    /* (nmark) rows that were asked for, by hash                    */
    size_t nmark;               /* a power of two                                               */
    struct hps_row_cache_held *out;
    bool *full;                 /* (nslot) at the moment: the slot has gradients ...            */
    uint64_t *of;               /* (nslot) ... of this row                                      */
    size_t out_cap, full_cap, of_cap;
};

struct hps_row_cache *hps_row_cache_new(long long H)
{
    struct hps_row_cache *c = hps_mem_new(1, sizeof *c);

    assert(H >= 1);
    *c = (struct hps_row_cache){ .H = H, .clock = NONE };
    c->pulled = hps_mem_new((size_t)H + 2, sizeof *c->pulled);
    c->held = hps_mem_new((size_t)H + 2, sizeof *c->held);
    return c;
}

void hps_row_cache_free(struct hps_row_cache *c)
{
    if (!c) return;
    for (long long i = 0; i < c->H + 2; i++) {
        hps_mem_free(c->pulled[i].at);
        hps_mem_free(c->held[i].at);
    }
    hps_mem_free(c->pulled);
    hps_mem_free(c->held);
    hps_mem_free(c->entry);
    hps_mem_free(c->free_entry.at);
    hps_mem_free(c->free_slot.at);
    hps_mem_free(c->table);
    hps_mem_free(c->mark);
    hps_mem_free(c->out);
    hps_mem_free(c->of);
    hps_mem_free(c->full);
    hps_mem_free(c);
}

/* ---- lists ---- */

static void push(struct list *s, int x)
{
    hps_mem_grow(&s->at, &s->cap, s->n + 1, sizeof *s->at);
    s->at[s->n++] = x;
}

/* Entries of one clock; some may have moved on. */
static struct list *list_at(const struct hps_row_cache *c, struct list *lists, long long clock)
{
    return &lists[(clock + c->H + 2) % (c->H + 2)];
}

/* ---- rows ---- */

static size_t home_of(const struct hps_row_cache *c, uint64_t row)
{
    return (size_t)hps_rng_mix(row) & (c->size - 1);
}

/* Where the row is in the table, or where it would be. */
static size_t find(const struct hps_row_cache *c, uint64_t row)
{
    size_t i = home_of(c, row);

    while (c->table[i] != NONE && c->entry[c->table[i]].row != row)
        i = (i + 1) & (c->size - 1);
    return i;
}

/* At most half of the table is taken. */
static void make_room(struct hps_row_cache *c, size_t n)
{
    size_t size = c->size > 0 ? c->size : 64;

    while (size < 2 * n)
        size *= 2;
    if (size == c->size) return;
    hps_mem_free(c->table);
    c->table = hps_mem_new(size, sizeof *c->table);
    c->size = size;
    memset(c->table, NONE, size * sizeof *c->table);
    for (size_t e = 0; e < c->nentry; e++)
        if (c->entry[e].used) c->table[find(c, c->entry[e].row)] = (int)e;
}

/* Take the row at place i out; those behind it close the gap. */
static void take_out(struct hps_row_cache *c, size_t i)
{
    size_t mask = c->size - 1;

    c->count--;
    for (size_t k = (i + 1) & mask; c->table[k] != NONE; k = (k + 1) & mask) {
        size_t home = home_of(c, c->entry[c->table[k]].row);
        if (((k - home) & mask) < ((k - i) & mask)) continue;
        c->table[i] = c->table[k];
        i = k;
    }
    c->table[i] = NONE;
}

static struct entry *add(struct hps_row_cache *c, uint64_t row, int slot)
{
    make_room(c, c->count + 1);
    int e = c->free_entry.n > 0 ? c->free_entry.at[--c->free_entry.n] : (int)c->nentry++;

    hps_mem_grow(&c->entry, &c->entry_cap, c->nentry, sizeof *c->entry);
    c->entry[e] = (struct entry){ .row = row, .held = NONE, .slot = slot, .used = true };
    c->table[find(c, row)] = e;
    c->count++;
    return &c->entry[e];
}

static void drop(struct hps_row_cache *c, struct entry *e)
{
    take_out(c, find(c, e->row));
    e->used = false;
    push(&c->free_entry, (int)(e - c->entry));
    push(&c->free_slot, e->slot);
}

/* A slot, where there may be one more. */
static int new_slot(struct hps_row_cache *c)
{
    size_t taken = (size_t)c->nslot - c->free_slot.n;

    if (taken >= c->most) return NONE;
    return c->free_slot.n > 0 ? c->free_slot.at[--c->free_slot.n] : c->nslot++;
}

/* Twice as many as there are rows in the clocks that count, up to 16 of these. */
static void make_marks(struct hps_row_cache *c, size_t nrow)
{
    size_t n = c->nmark > 0 ? c->nmark : 64, clocks = c->H < 16 ? (size_t)c->H + 1 : 16;

    while (n < 2 * nrow * clocks)
        n *= 2;
    if (n == c->nmark) return;
    hps_mem_free(c->mark);
    c->mark = hps_mem_new(n, sizeof *c->mark);
    c->nmark = n;
}

/* Has the row been asked for in the last H + 1 clocks? It is now. */
static bool asked_again(struct hps_row_cache *c, uint64_t row)
{
    uint64_t hash = hps_rng_mix(row);
    struct mark *m = &c->mark[hash & (c->nmark - 1)];
    struct mark now = { (uint16_t)(hash >> 48), (uint16_t)(c->clock + 1) };
    bool again = m->row == now.row && m->clock > 0 &&
                 (uint16_t)(now.clock - m->clock) <= (uint16_t)(c->H + 1);

    *m = now;
    return again;
}

/* ---- a clock, as it is requested ---- */

void hps_row_cache_begin(struct hps_row_cache *c, size_t nrow)
{
    c->clock++;
    c->most = HPS_ROW_CACHE_SHARE * nrow;
    make_room(c, c->count + 1);
    make_marks(c, nrow);
}

static void pull(struct hps_row_cache *c, struct entry *e)
{
    e->pulled = c->clock;
    e->held = NONE;
    push(list_at(c, c->pulled, c->clock), (int)(e - c->entry));
}

static struct hps_row_cache_use hit(struct hps_row_cache *c, struct entry *e)
{
    struct hps_row_cache_use use = { .slot = e->slot, .hit = true, .adds = e->held != NONE };

    if (use.adds) return use;
    e->held = c->clock;
    push(list_at(c, c->held, c->clock), (int)(e - c->entry));
    return use;
}

struct hps_row_cache_use hps_row_cache_use(struct hps_row_cache *c, uint64_t row)
{
    size_t at = find(c, row);
    struct entry *e = c->table[at] == NONE ? NULL : &c->entry[c->table[at]];

    if (e && e->pulled >= c->clock - c->H) return hit(c, e);
    if (!e) {
        int slot = asked_again(c, row) ? new_slot(c) : NONE;
        if (slot == NONE) return (struct hps_row_cache_use){ .slot = NONE };
        e = add(c, row, slot);
    }
    struct hps_row_cache_use use = { .slot = e->slot, .returns = e->held != NONE };
    pull(c, e);
    return use;
}

static int ascending(const void *a, const void *b)
{
    const struct hps_row_cache_held *x = a, *y = b;

    return (x->row > y->row) - (x->row < y->row);
}

static const struct hps_row_cache_held *sorted(struct hps_row_cache *c, size_t n)
{
    if (n > 0) qsort(c->out, n, sizeof *c->out, ascending);
    return c->out;
}

/* What has been held since H clocks ago leaves; then rows that can serve no more do. */
const struct hps_row_cache_held *hps_row_cache_end(struct hps_row_cache *c, size_t *n)
{
    struct list *due = list_at(c, c->held, c->clock - c->H);
    struct list *old = list_at(c, c->pulled, c->clock - c->H - 1);

    *n = 0;
    hps_mem_grow(&c->out, &c->out_cap, due->n + 1, sizeof *c->out);
    for (size_t i = 0; i < due->n; i++) {
        struct entry *e = &c->entry[due->at[i]];
        if (!e->used || e->held != c->clock - c->H) continue;
        c->out[(*n)++] = (struct hps_row_cache_held){ e->row, e->slot };
        pull(c, e);
    }
    due->n = 0;
    for (size_t i = 0; i < old->n; i++) {
        struct entry *e = &c->entry[old->at[i]];
        if (e->used && e->pulled == c->clock - c->H - 1 && e->held == NONE) drop(c, e);
    }
    old->n = 0;
    return sorted(c, *n);
}

int hps_row_cache_slots(const struct hps_row_cache *c)
{
    return c->nslot;
}

/* ---- the same clock, when it is used ---- */

void hps_row_cache_hold(struct hps_row_cache *c, size_t n, const struct hps_row_cache_held *hit)
{
    hps_mem_grow(&c->of, &c->of_cap, (size_t)c->nslot, sizeof *c->of);
    hps_mem_grow(&c->full, &c->full_cap, (size_t)c->nslot, sizeof *c->full);
    for (size_t i = 0; i < n; i++) {
        c->of[hit[i].slot] = hit[i].row;
        c->full[hit[i].slot] = true;
    }
}

void hps_row_cache_return(struct hps_row_cache *c, size_t n, const int *slot)
{
    for (size_t i = 0; i < n; i++)
        c->full[slot[i]] = false;
}

static void empty(struct hps_row_cache *c)
{
    for (long long i = 0; i < c->H + 2; i++)
        c->pulled[i].n = c->held[i].n = 0;
    c->nentry = c->count = c->free_entry.n = c->free_slot.n = 0;
    c->nslot = 0;
    if (c->size > 0) memset(c->table, NONE, c->size * sizeof *c->table);
    if (c->nmark > 0) memset(c->mark, 0, c->nmark * sizeof *c->mark);
}

const struct hps_row_cache_held *hps_row_cache_clear(struct hps_row_cache *c, size_t *n)
{
    *n = 0;
    hps_mem_grow(&c->out, &c->out_cap, c->full_cap + 1, sizeof *c->out);
    for (size_t s = 0; s < c->full_cap; s++) {
        if (!c->full[s]) continue;
        c->out[(*n)++] = (struct hps_row_cache_held){ c->of[s], (int)s };
        c->full[s] = false;
    }
    empty(c);
    return sorted(c, *n);
}
