/* partials_deal.c - the ids of bags are dealt: to the owners of their rows and, those of popular
 * rows, to this rank itself. */
#include <limits.h>
#include <string.h>

#include "base/clones.h"
#include "base/mem.h"
#include "base/pick.h"
#include "model/partials_own.h"

/* Receivers so few that each may have room for all ids, and is looked for by itself. */
enum { FEW = 2 * HPS_PICKS };

/* The next chunk, with the numbers of popular rows as those of the last receiver. */
static bool next_chunk(const struct hps_partials *p, struct hps_sacks_walk *w)
{
    const struct hps_sacks *k = &p->sacks;

    if (!hps_sacks_next(k, w))
        return false;
    hps_popular_mark(&p->popular[w->slot->q / k->nlayer], w->n, w->key,
                     (uint64_t)k->parts << k->local_bits);
    return true;
}

/* ---- counted ---- */

/* How many of n keys each receiver has. */
HPS_CLONES static void count_few(const struct hps_partials *p, size_t n, const uint64_t *key,
                                 size_t *count)
{
    const int bits = p->sacks.local_bits;

    for (uint64_t q = 0; q < (uint64_t)p->receivers; q++) {
        size_t its = 0;
        for (size_t i = 0; i < n; i++)
            its += key[i] >> bits == q;
        count[q] += its;
    }
}

static void count_chunk(const struct hps_partials *p, size_t n, const uint64_t *key, size_t *count)
{
    if (p->receivers <= FEW)
        count_few(p, n, key, count);
    else
        for (size_t i = 0; i < n; i++)
            count[key[i] >> p->sacks.local_bits]++;
}

static void count_part(void *partials, int t)
{
    struct hps_partials *p = partials;
    const struct hps_sacks *k = &p->sacks;
    size_t *count = p->next + (size_t)t * p->each;
    struct hps_sacks_walk w;

    hps_sacks_walk(k, &w, 0, k->M, t);
    while (next_chunk(p, &w))
        count_chunk(p, w.n, w.key, count + (size_t)(w.slot->q / k->nlayer * p->receivers));
}

/* ---- put ---- */

/* A chunk to `some` receivers from q on, whose messages are l and which get next ids; `before` bags
 * are in front of the slot's. */
static void put_chunk(const struct hps_sacks_walk *w, uint64_t q, int some, int bits, int before,
                      const struct hps_partials_message *l, size_t *next)
{
    int row[HPS_PICKS][HPS_SACKS_CHUNK + HPS_PICK_SPARE];
    int *const to[HPS_PICKS] = { row[0], row[1], row[2] };
    size_t n[HPS_PICKS] = { 0 }, at = 0;

    for (int b = w->b0; b < w->b1; b++) {
        size_t end = hps_sacks_before(w->slot, b) - w->from;
        hps_pick(end - at, w->key + at, q, bits, to, n);
        for (int k = 0; k < some; k++)
            l[k].begin[before + b] = (int)(next[k] + n[k]);
        at = end;
    }
    hps_pick(w->n - at, w->key + at, q, bits, to, n);
    for (int k = 0; k < some; k++) {
        memcpy(l[k].row + next[k], row[k], n[k] * sizeof *row[k]);
        next[k] += n[k];
    }
}

/* A chunk to few. */
static void put_few(const struct hps_partials *p, const struct hps_sacks_walk *w,
                    const struct hps_partials_message *l, size_t *next)
{
    int before = hps_partials_before(&p->sacks, w->slot), end = p->receivers;

    for (int q = 0; q < end; q += HPS_PICKS)
        put_chunk(w, (uint64_t)q, end - q < HPS_PICKS ? end - q : HPS_PICKS, p->sacks.local_bits,
                  before, l + q, next + q);
}

/* The same to many: each id to its receiver. */
static void put_many(const struct hps_partials *p, const struct hps_sacks_walk *w,
                     const struct hps_partials_message *l, size_t *next)
{
    const int bits = p->sacks.local_bits, before = hps_partials_before(&p->sacks, w->slot);
    const uint64_t local = ((uint64_t)1 << bits) - 1;
    size_t i = 0;

    for (int b = w->b0; b <= w->b1; b++) {
        size_t end = b < w->b1 ? hps_sacks_before(w->slot, b) - w->from : w->n;
        for (; i < end; i++) {
            size_t q = w->key[i] >> bits;
            l[q].row[next[q]++] = (int)(w->key[i] & local);
        }
        for (int q = 0; b < w->b1 && q < p->receivers; q++)
            l[q].begin[before + b] = (int)next[q];
    }
}

static void put_micro_batch(struct hps_partials *p, int m, int t)
{
    const struct hps_partials_message *l = p->message + (size_t)m * (size_t)p->receivers;
    size_t *next = p->next + (size_t)t * p->each + (size_t)m * (size_t)p->receivers;
    struct hps_sacks_walk w;

    hps_sacks_walk(&p->sacks, &w, m, m + 1, t);
    while (next_chunk(p, &w))
        if (p->receivers <= FEW)
            put_few(p, &w, l, next);
        else
            put_many(p, &w, l, next);
}

static void put_part(void *partials, int t)
{
    struct hps_partials *p = partials;

    for (int m = 0; m < p->sacks.M; m++)
        put_micro_batch(p, m, t);
}

/* ---- the messages ---- */

/* Sums that receiver q is asked for: bags, and popular rows of its own. */
static int asked_of(const struct hps_partials *p, int m, int q)
{
    return p->nsum[m] + (q < p->sacks.parts ? hps_partials_rows(p, m, q) : 0);
}

/* Numbers of a message with so many ids of bags. */
static size_t length_of(const struct hps_partials *p, int m, int q, size_t nid)
{
    int n = asked_of(p, m, q);

    return p->nsum[m] > 0 ? (size_t)(n + 1 + n - p->nsum[m]) + nid : 0;
}

/* Begins a message at `begin`. */
static void begin_message(struct hps_partials *p, int m, int q, int *begin)
{
    p->message[m * p->receivers + q] =
        (struct hps_partials_message){ begin, begin + asked_of(p, m, q) + 1 };
}

/* By several threads: what each puts where is counted first. */
static void put_counted(struct hps_partials *p, int *to, int *mine)
{
    const struct hps_sacks *k = &p->sacks;
    size_t next = 0;

    hps_work_spread(&k->work, count_part, p);
    for (int q = 0; q < p->receivers; q++) {
        if (q == k->parts) {
            to = mine;
            next = 0;
        }
        for (int m = 0; m < k->M; m++) {
            size_t *count = p->next + m * p->receivers + q;
            begin_message(p, m, q, to + next);
            next += length_of(p, m, q, hps_work_number(&k->work, count, p->each, 0));
        }
    }
    hps_work_spread(&k->work, put_part, p);
}

/* Numbers of the messages for all popular rows: where each begins, and it. */
static size_t all_popular(const struct hps_partials *p)
{
    size_t n = 0;

    for (int m = 0; m < p->sacks.M; m++)
        n += 2 * (size_t)p->popular[m].n;
    return n;
}

/* The most that a receiver gets. */
static size_t most_of(const struct hps_partials *p)
{
    return p->sacks.nid + p->sacks.nsack + (size_t)p->sacks.M + all_popular(p);
}

/* By one, for few: each has room for the most that there can be. */
static void put_freely(struct hps_partials *p, int *to, int *mine)
{
    const struct hps_sacks *k = &p->sacks;
    const size_t *last = p->next;

    for (int m = 0; m < k->M; m++) {
        for (int q = 0; q < p->receivers; q++) {
            int *begin = q < k->parts ? to + (size_t)q * most_of(p) : mine;
            if (m > 0) {
                int i = (m - 1) * p->receivers + q;
                begin = p->message[i].begin + length_of(p, m - 1, q, last[i]);
            }
            begin_message(p, m, q, begin);
        }
        put_micro_batch(p, m, 0);
    }
}

/* What lies behind the nid ids of bags: the popular rows of owner q, a sum each, and the end. */
static void end_message(const struct hps_partials *p, int m, int q, size_t nid)
{
    const struct hps_popular *popular = &p->popular[m];
    const struct hps_partials_message *l = &p->message[m * p->receivers + q];
    const uint64_t local = ((uint64_t)1 << p->sacks.local_bits) - 1;
    int n = asked_of(p, m, q), at = (int)nid;

    for (int i = p->nsum[m]; i < n; i++) {
        l->begin[i] = at;
        l->row[at++] = (int)(popular->key[popular->first[q] + i - p->nsum[m]] & local);
    }
    l->begin[n] = at;
}

static void end_messages(const struct hps_partials *p, int *length, size_t *at, const int *to)
{
    const struct hps_sacks *k = &p->sacks;
    const size_t *last = p->next + (size_t)(k->work.n - 1) * p->each;

    for (int m = 0, i = 0; m < k->M; m++)
        for (int q = 0; q < p->receivers; q++, i++) {
            size_t n = length_of(p, m, q, last[i]);
            if (n > 0)
                end_message(p, m, q, last[i]);
            if (q < k->parts) {
                *length++ = (int)n;
                *at++ = (size_t)(p->message[i].begin - to);
            }
        }
}

void hps_partials_deal(struct hps_partials *p, int *length, size_t *at, struct hps_ints *to,
                       struct hps_ints *mine)
{
    const struct hps_sacks *k = &p->sacks;
    size_t all = p->each * (size_t)k->work.n, parts = (size_t)k->parts;
    bool freely = k->work.n == 1 && p->receivers <= FEW && parts * most_of(p) <= INT_MAX;

    hps_mem_grow(&p->next, &p->next_cap, all, sizeof *p->next);
    memset(p->next, 0, all * sizeof *p->next);
    hps_ints_grow(mine, most_of(p) + 1);
    hps_ints_grow(to, 1 + (freely ? parts * most_of(p)
                                  : parts * (k->nsack + (size_t)k->M) + k->nid + all_popular(p)));
    if (freely)
        put_freely(p, to->host, mine->host);
    else
        put_counted(p, to->host, mine->host);
    end_messages(p, length, at, to->host);
}
