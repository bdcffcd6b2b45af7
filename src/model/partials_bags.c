/* partials_bags.c - bags of partial sums and popular rows, by bag and by place. */
#include <string.h>

#include "base/clones.h"
#include "base/mem.h"
#include "model/partials_own.h"

/* Sums of bag q, at all owners. */
static size_t bag_sums(const struct hps_partials *p, size_t q)
{
    return (size_t)p->sacks.parts * (size_t)p->bag[q].nslot * (size_t)p->bag[q].B;
}

/* The ids of popular rows of micro-batch m. */
static const struct hps_partials_message *kept(const struct hps_partials *p, int m)
{
    return &p->message[m * p->receivers + p->sacks.parts];
}

/* ---- how often a bag names a popular row ---- */

/* What part t counts of bag q. */
static int *count_of(const struct hps_partials *p, int t, int q)
{
    return p->count + (size_t)(t + q) * p->stride;
}

/* Which parts have ids of which bags, as sacks have told their number; no count but 0. */
static void make_counts(struct hps_partials *p)
{
    const struct hps_sacks *k = &p->sacks;
    const int last = k->work.n - 1;
    size_t begin = 0, bags = hps_sacks_bags(k), all;

    p->stride = 0;
    for (int m = 0; m < k->M; m++)
        if ((size_t)p->popular[m].n > p->stride)
            p->stride = (size_t)p->popular[m].n;
    p->stride = hps_work_apart(p->stride + 1, sizeof *p->count);   /* never none */
    for (size_t q = 0, t = 0; q < bags; q++) {
        size_t end = begin + p->bag[q].nid;
        while ((int)t < last && hps_work_cut(&k->work, k->nid, (int)t + 1) <= begin)
            t++;
        p->part[2 * q] = (int)t;
        while ((int)t < last && hps_work_cut(&k->work, k->nid, (int)t + 1) < end)
            t++;
        p->part[2 * q + 1] = (int)t;
        begin = end;
    }
    all = (bags + (size_t)k->work.n) * p->stride;
    hps_mem_grow(&p->count, &p->count_cap, all, sizeof *p->count);
    memset(p->count, 0, all * sizeof *p->count);
}

static void count_part(void *partials, int t)
{
    struct hps_partials *p = partials;
    const struct hps_sacks *k = &p->sacks;

    for (const struct hps_sacks_slot *s = k->slot; s < k->slot + k->nslot; s++) {
        int b1, b0 = hps_sacks_part(k, s, t, &b1), before = hps_partials_before(k, s);
        const struct hps_partials_message *l = kept(p, s->q / k->nlayer);
        int *count = count_of(p, t, s->q);
        if (b0 >= b1)
            continue;
        for (int i = l->begin[before + b0]; i < l->begin[before + b1]; i++)
            count[l->row[i]]++;
    }
}

/* Of the bags of a micro-batch, ids of popular rows in front of bag q's. */
static int named_before(const struct hps_partials *p, size_t q)
{
    const struct hps_sacks *k = &p->sacks;
    size_t m = q / (size_t)k->nlayer, front = hps_sacks_front(k, m * (size_t)k->nlayer);

    return kept(p, (int)m)->begin[hps_sacks_front(k, q) - front];
}

/* ---- where the lists are ---- */

/* The bags' shapes, and room for all of their lists. */
static void shape_bags(struct hps_partials *p, struct hps_places_room *room)
{
    const struct hps_sacks *k = &p->sacks;
    size_t nid = 0, nplace = 0, bags = hps_sacks_bags(k);

    for (size_t q = 0; q < bags; q++) {
        struct hps_bag *bag = &p->bag[q];
        size_t m = q / (size_t)k->nlayer, front = hps_sacks_front(k, m * (size_t)k->nlayer);
        int named = kept(p, (int)m)->begin[k->end[q] - front] - named_before(p, q);
        bag->single = false;
        bag->nid = bag_sums(p, q) + (size_t)named;
        bag->nplace = bag_sums(p, q) + (size_t)p->popular[m].n;
        nid += bag->nid;
        nplace += bag->nplace;
    }
    hps_ints_grow(&room->index, nid + 1);
    hps_ints_grow(&room->from, nid + 1);
    hps_ints_grow(&room->offset, k->nsack + bags + 1);
    hps_ints_grow(&room->place, nplace + 1);
    hps_ints_grow(&room->start, nplace + bags + 1);
}

/* They lie one behind the other. */
static void part_room(struct hps_partials *p, struct hps_places_room *room)
{
    size_t nid = 0, nplace = 0, noffset = 0, bags = hps_sacks_bags(&p->sacks);

    for (size_t q = 0; q < bags; q++) {
        struct hps_bag *bag = &p->bag[q];
        struct hps_partials_lists l = { room->index.host + nid, room->offset.host + noffset,
                                        room->place.host + nplace,
                                        room->start.host + nplace + q, room->from.host + nid };
        p->lists[q] = l;
        bag->index = l.index;
        bag->offset = l.offset;
        bag->place = l.place;
        bag->start = l.start;
        bag->from = l.from;
        nid += bag->nid;
        nplace += bag->nplace;
        noffset += (size_t)bag->nslot * (size_t)bag->B + 1;
    }
}

/* ---- the lists ---- */

/* Of bag q, what lies behind its sums: popular rows, and all ends. Counts become numbers. */
static void lay_rows(void *partials, int q)
{
    struct hps_partials *p = partials;
    const struct hps_partials_lists *l = &p->lists[q];
    const struct hps_bag *bag = &p->bag[q];
    const int *place = p->place + (size_t)(q / p->sacks.nlayer) * HPS_POPULAR_MOST;
    const size_t nsum = bag_sums(p, (size_t)q);
    int at = (int)nsum;

    for (size_t i = 0; nsum + i < bag->nplace; i++) {
        l->place[nsum + i] = place[i];
        l->start[nsum + i] = at;
        for (int t = p->part[2 * q]; t <= p->part[2 * q + 1]; t++) {
            int n = count_of(p, t, q)[i];
            count_of(p, t, q)[i] = at;
            at += n;
        }
    }
    l->start[bag->nplace] = at;
    l->offset[bag->nslot * bag->B] = at;
}

/* n mentions of popular rows in bag number `bag`, and the bag at each of them. */
HPS_INLINE void lay_named(const int *restrict row, size_t n, const int *restrict place,
                          int *restrict next, int bag, int *restrict index, int *restrict from)
{
    for (size_t i = 0; i < n; i++) {
        index[i] = place[row[i]];
        from[next[row[i]]++] = bag;
    }
}

/* Examples b0 .. b1-1 of a slot: sums and popular rows of each bag, and the bag of each. */
static void lay_sacks(const struct hps_partials *p, const struct hps_sacks_slot *s, int b0, int b1,
                      int *next)
{
    const struct hps_sacks *k = &p->sacks;
    const struct hps_partials_lists l = p->lists[s->q];
    const int m = s->q / k->nlayer, before = hps_partials_before(k, s), nslot = s->layer->nslot;
    const int *begin = kept(p, m)->begin + before, *row = kept(p, m)->row;
    const int *place = p->place + (size_t)m * HPS_POPULAR_MOST;
    const size_t parts = (size_t)k->parts, n = (size_t)nslot * (size_t)s->B;
    size_t first = (size_t)s->i * (size_t)s->B, at = (first + (size_t)b0) * parts;

    at += (size_t)(begin[b0] - named_before(p, (size_t)s->q));
    for (int b = b0; b < b1; b++) {
        size_t sum = first + (size_t)b, named = (size_t)(begin[b + 1] - begin[b]);
        int bag = b * nslot + s->i;
        l.offset[sum] = (int)at;
        for (size_t q = 0; q < parts; q++, sum += n) {
            l.index[at++] = l.place[sum] = hps_partials_place(p, m, (int)q) + before + b;
            l.start[sum] = (int)sum;
            l.from[sum] = bag;
        }
        lay_named(row + begin[b], named, place, next, bag, l.index + at, l.from);
        at += named;
    }
}

static void lay_part(void *partials, int t)
{
    const struct hps_partials *p = partials;
    const struct hps_sacks *k = &p->sacks;

    for (const struct hps_sacks_slot *s = k->slot; s < k->slot + k->nslot; s++) {
        int b1, b0 = hps_sacks_part(k, s, t, &b1);
        if (b0 < b1)
            lay_sacks(p, s, b0, b1, count_of(p, t, s->q));
    }
}

void hps_partials_bags(struct hps_partials *p, struct hps_places_room *room)
{
    const struct hps_work *work = &p->sacks.work;
    struct hps_work each = { (int)hps_sacks_bags(&p->sacks), work->nthread };

    make_counts(p);
    hps_work_spread(work, count_part, p);
    shape_bags(p, room);
    part_room(p, room);
    hps_work_spread(&each, lay_rows, p);
    hps_work_spread(work, lay_part, p);
}
