/* partials.c - the ids of bags are dealt to the owners of their rows: counted, then put. */
#include "model/partials.h"

#include <limits.h>
#include <string.h>

#include "base/clones.h"
#include "base/mem.h"
#include "base/pick.h"
#include "model/sacks.h"

/* Owners so few that each may have room for all ids, and is looked for by itself; counters of a
 * pair of cache lines, which are fetched at once. */
enum { FEW = 4, LINES = 128 / sizeof(size_t) };

struct hps_partials {
    struct hps_dev *dev;
    struct hps_sacks sacks;
    int *nsum;                  /* (M) sums of a micro-batch, at each owner                    */
    size_t *next;               /* (nwork, each) ids of a part by micro-batch and owner, then the
                                   number of its next one */
    size_t each;                /* M * parts, and up to another part's cache line              */
    size_t next_cap;
    const size_t *at;           /* of put: where a micro-batch's numbers for an owner begin    */
    int *to;
};

struct hps_partials *hps_partials_new(int nlayer, const struct hps_layer *const *layer,
                                      long long rows, int M, int parts, struct hps_dev *dev)
{
    struct hps_partials *p = hps_mem_new(1, sizeof *p);

    p->dev = dev;
    hps_sacks_init(&p->sacks, nlayer, layer, rows, M, parts);
    p->nsum = hps_mem_new((size_t)M, sizeof *p->nsum);
    p->each = ((size_t)M * (size_t)parts + LINES - 1) / LINES * LINES;
    return p;
}

void hps_partials_free(struct hps_partials *p)
{
    if (!p)
        return;
    hps_sacks_done(&p->sacks);
    hps_mem_free(p->nsum);
    hps_mem_free(p->next);
    hps_mem_free(p);
}

/* ---- what there is ---- */

static void count_sums(struct hps_partials *p)
{
    const struct hps_sacks *k = &p->sacks;
    size_t n = (size_t)k->parts * (k->nsack + (size_t)k->M);

    if (n + k->nid > INT_MAX)
        HPS_DIE("%zu ids and %zu partial sums of bags on this rank in one step; it can work with "
                "%d", k->nid, n, INT_MAX);
    memset(p->nsum, 0, (size_t)k->M * sizeof *p->nsum);
    for (const struct hps_sacks_slot *s = k->slot; s < k->slot + k->nslot; s++)
        p->nsum[s->q / k->nlayer] += s->B;
}

/* ---- bags of partial sums ---- */

static void grow_room(const struct hps_partials *p, struct hps_places_room *room)
{
    size_t n = p->sacks.nsack, all = n * (size_t)p->sacks.parts, bags = hps_sacks_bags(&p->sacks);

    hps_ints_grow(&room->index, all + 1);
    hps_ints_grow(&room->offset, n + bags + 1);
    hps_ints_grow(&room->place, all + 1);
    hps_ints_grow(&room->start, all + bags + 1);
    hps_ints_grow(&room->from, all + 1);
}

/* A bag of n = B * nslot sums, the first of them at `place`, those of the next owner `apart` behind
 * it: its sums by bag and by owner. */
static void lay_bag(const struct hps_bag *bag, int parts, int place, int apart, int *index,
                    int *offset, int *places, int *start, int *from)
{
    int n = bag->nslot * bag->B;

    for (int i = 0; i < n; i++) {
        offset[i] = i * parts;
        for (int q = 0; q < parts; q++)
            *index++ = place + q * apart + i;
    }
    offset[n] = n * parts;
    for (int q = 0; q < parts; q++)
        for (int s = 0, i = 0; s < bag->nslot; s++)
            for (int b = 0; b < bag->B; b++, i++) {
                *start++ = q * n + i;
                *places++ = place + q * apart + i;
                *from++ = b * bag->nslot + s;
            }
    *start = n * parts;
}

static void lay_bags(const struct hps_partials *p, struct hps_places_room *room, const int *first,
                     struct hps_bag *bag)
{
    const struct hps_sacks *k = &p->sacks;
    size_t at = 0;

    grow_room(p, room);
    for (int m = 0, q = 0; m < k->M; m++)
        for (int j = 0, sum = 0; j < k->nlayer; j++, q++, bag++) {
            size_t n = (size_t)bag->nslot * (size_t)bag->B, nid = n * (size_t)k->parts;
            size_t one = (size_t)k->parts * at;
            int *offset = room->offset.host + at + q, *start = room->start.host + one + q;
            bag->single = false;
            bag->nid = bag->nplace = nid;
            bag->index = room->index.host + one;
            bag->offset = offset;
            bag->place = room->place.host + one;
            bag->start = start;
            bag->from = room->from.host + one;
            lay_bag(bag, k->parts, first[m] + sum, p->nsum[m], room->index.host + one, offset,
                    room->place.host + one, start, room->from.host + one);
            sum += (int)n;
            at += n;
        }
}

void hps_partials_find(struct hps_partials *p, const struct hps_batch *batch,
                       struct hps_places_room *room, int *first, int *ask, struct hps_bag *bag)
{
    const struct hps_sacks *k = &p->sacks;

    hps_sacks_list(&p->sacks, batch, p->dev->nthread, bag);
    count_sums(p);
    first[0] = 0;
    for (int m = 0; m < k->M; m++) {
        first[m + 1] = first[m] + k->parts * p->nsum[m];
        for (int q = 0; q < k->parts; q++)
            *ask++ = p->nsum[m];
    }
    if (batch)
        lay_bags(p, room, first, bag);
}

/* ---- what owners are told ---- */

/* How many of n keys each owner has. */
HPS_CLONES static void count_few(const struct hps_sacks *k, size_t n, const uint64_t *key,
                                 size_t *count)
{
    const int bits = k->local_bits;

    for (uint64_t q = 0; q < (uint64_t)k->parts; q++) {
        size_t its = 0;
        for (size_t i = 0; i < n; i++)
            its += key[i] >> bits == q;
        count[q] += its;
    }
}

static void count_owners(const struct hps_sacks *k, size_t n, const uint64_t *key, size_t *count)
{
    if (k->parts <= FEW)
        count_few(k, n, key, count);
    else
        for (size_t i = 0; i < n; i++)
            count[key[i] >> k->local_bits]++;
}

static void count_part(void *partials, int t)
{
    struct hps_partials *p = partials;
    const struct hps_sacks *k = &p->sacks;
    size_t *count = p->next + (size_t)t * p->each;
    struct hps_sacks_walk w;

    hps_sacks_walk(k, &w, 0, k->M, t);
    while (hps_sacks_next(k, &w))
        count_owners(k, w.n, w.key, count + (size_t)(w.slot->q / k->nlayer * k->parts));
}

/* What an owner is told of a slot of a micro-batch: begin (B) where the rows of each example begin
 * among those of the micro-batch, from row[*next] on. */
struct message {
    int *begin, *row;
    size_t *next;
};

static struct message message_to(const struct hps_partials *p, int q, int m, int sum, size_t *next)
{
    int i = m * p->sacks.parts + q, *begin = p->to + p->at[i];

    return (struct message){ begin + sum, begin + p->nsum[m] + 1, &next[i] };
}

/* A chunk to owner q and, where `two`, to the next one. */
static void put_chunk(const struct hps_sacks_walk *w, uint64_t q, int bits, bool two,
                      struct message to_q, struct message to_r)
{
    int row_q[HPS_SACKS_CHUNK + HPS_PICK_SPARE], row_r[HPS_SACKS_CHUNK + HPS_PICK_SPARE];
    size_t nq = 0, nr = 0, at = 0;

    for (int b = w->b0; b < w->b1; b++) {
        size_t end = hps_sacks_before(w->slot, b) - w->from;
        hps_pick_two(end - at, w->key + at, q, bits, row_q, row_r, &nq, &nr);
        to_q.begin[b] = (int)(*to_q.next + nq);
        if (two)
            to_r.begin[b] = (int)(*to_r.next + nr);
        at = end;
    }
    hps_pick_two(w->n - at, w->key + at, q, bits, row_q, row_r, &nq, &nr);
    memcpy(to_q.row + *to_q.next, row_q, nq * sizeof *row_q);
    *to_q.next += nq;
    if (!two)
        return;
    memcpy(to_r.row + *to_r.next, row_r, nr * sizeof *row_r);
    *to_r.next += nr;
}

/* A chunk to few owners, of the slot whose sums begin at number `sum` of micro-batch m. */
static void put_few(const struct hps_partials *p, const struct hps_sacks_walk *w, int sum, int m,
                    size_t *next)
{
    const struct hps_sacks *k = &p->sacks;

    for (int q = 0; q < k->parts; q += 2) {
        bool two = q + 1 < k->parts;
        put_chunk(w, (uint64_t)q, k->local_bits, two, message_to(p, q, m, sum, next),
                  message_to(p, two ? q + 1 : q, m, sum, next));
    }
}

/* The same to many: each id to its owner. */
static void put_many(const struct hps_partials *p, const struct hps_sacks_walk *w, int sum, int m,
                     size_t *next)
{
    const struct hps_sacks *k = &p->sacks;
    const uint64_t local = ((uint64_t)1 << k->local_bits) - 1;
    const size_t *at = p->at + m * k->parts, rows = (size_t)p->nsum[m] + 1;
    size_t *mine = next + m * k->parts, i = 0;

    for (int b = w->b0; b <= w->b1; b++) {
        size_t end = b < w->b1 ? hps_sacks_before(w->slot, b) - w->from : w->n;
        for (; i < end; i++) {
            size_t q = w->key[i] >> k->local_bits;
            p->to[at[q] + rows + mine[q]++] = (int)(w->key[i] & local);
        }
        for (int q = 0; b < w->b1 && q < k->parts; q++)
            p->to[at[q] + (size_t)(sum + b)] = (int)mine[q];
    }
}

/* The number in its micro-batch of the sum of a slot's first example. */
static int first_sum(const struct hps_sacks *k, const struct hps_sacks_slot *s)
{
    size_t before = s->q < k->nlayer ? 0 : k->end[s->q / k->nlayer * k->nlayer - 1];

    return (int)(s->first - (size_t)s->i - before) + s->i * s->B;
}

static void put_micro_batch(struct hps_partials *p, int m, int t)
{
    const struct hps_sacks *k = &p->sacks;
    size_t *next = p->next + (size_t)t * p->each;
    struct hps_sacks_walk w;

    hps_sacks_walk(k, &w, m, m + 1, t);
    while (hps_sacks_next(k, &w))
        if (k->parts <= FEW)
            put_few(p, &w, first_sum(k, w.slot), m, next);
        else
            put_many(p, &w, first_sum(k, w.slot), m, next);
}

static void put_part(void *partials, int t)
{
    struct hps_partials *p = partials;

    for (int m = 0; m < p->sacks.M; m++)
        put_micro_batch(p, m, t);
}

/* Numbers of a message with so many ids. */
static int length_of(const struct hps_partials *p, int m, size_t nid)
{
    return p->nsum[m] > 0 ? p->nsum[m] + 1 + (int)nid : 0;
}

/* By several threads: what each puts where is counted first. */
static void put_counted(struct hps_partials *p, size_t *at)
{
    const struct hps_sacks *k = &p->sacks;
    size_t next = 0;

    hps_work_spread(&k->work, count_part, p);
    for (int q = 0; q < k->parts; q++)
        for (int m = 0, i = q; m < k->M; m++, i += k->parts) {
            at[i] = next;
            next += (size_t)length_of(p, m, hps_work_number(&k->work, p->next + i, p->each, 0));
        }
    hps_work_spread(&k->work, put_part, p);
}

/* The most that an owner is told. */
static size_t most_of(const struct hps_partials *p)
{
    return p->sacks.nid + p->sacks.nsack + (size_t)p->sacks.M;
}

/* By one, for few owners: each has room for the most that there can be. */
static void put_freely(struct hps_partials *p, size_t *at)
{
    const struct hps_sacks *k = &p->sacks;
    size_t each = most_of(p);

    for (int m = 0, i = 0; m < k->M; m++) {
        for (int q = 0; q < k->parts; q++, i++)
            at[i] = m == 0 ? (size_t)q * each
                           : at[i - k->parts] +
                                 (size_t)length_of(p, m - 1, p->next[i - k->parts]);
        put_micro_batch(p, m, 0);
    }
}

void hps_partials_put(struct hps_partials *p, int *length, size_t *at, struct hps_ints *to)
{
    const struct hps_sacks *k = &p->sacks;
    size_t all = p->each * (size_t)k->work.n, parts = (size_t)k->parts, *last;
    bool freely = k->work.n == 1 && k->parts <= FEW && parts * most_of(p) <= INT_MAX;

    hps_mem_grow(&p->next, &p->next_cap, all, sizeof *p->next);
    memset(p->next, 0, all * sizeof *p->next);
    hps_ints_grow(to, 1 + (freely ? parts * most_of(p)
                                  : parts * (k->nsack + (size_t)k->M) + k->nid));
    p->at = at;
    p->to = to->host;
    if (freely)
        put_freely(p, at);
    else
        put_counted(p, at);
    last = p->next + (size_t)(k->work.n - 1) * p->each;
    for (int m = 0, i = 0; m < k->M; m++)
        for (int q = 0; q < k->parts; q++, i++) {
            length[i] = length_of(p, m, last[i]);
            if (length[i] > 0)
                to->host[at[i] + (size_t)p->nsum[m]] = (int)last[i];
        }
}
