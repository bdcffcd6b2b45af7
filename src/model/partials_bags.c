/* partials_bags.c - bags of partial sums and popular rows, by bag and by place. */
#include "model/partials_own.h"

/* Sums of bag q, at all owners. */
static size_t bag_sums(const struct hps_partials *p, size_t q)
{
    return (size_t)p->sacks.parts * (size_t)p->bag[q].nslot * (size_t)p->bag[q].B;
}

/* ---- where the lists are ---- */

/* The bags' shapes, and room for all of their lists. */
static void shape_bags(struct hps_partials *p, struct hps_places_room *room)
{
    const struct hps_sacks *k = &p->sacks;
    size_t nid = 0, nsum = 0, nplace = 0, bags = hps_sacks_bags(k);

    for (size_t q = 0; q < bags; q++) {
        struct hps_bag *bag = &p->bag[q];
        size_t m = q / (size_t)k->nlayer, first = m * (size_t)k->nlayer;
        const struct hps_partials_message *kept = &p->message[(m + 1) * (size_t)p->receivers - 1];
        const int *begin = kept->begin + hps_sacks_front(k, q) - hps_sacks_front(k, first);
        int named = begin[k->end[q] - hps_sacks_front(k, q)] - begin[0];
        bag->single = false;
        bag->nid = bag_sums(p, q) + (size_t)named;
        bag->nplace = bag_sums(p, q) + (size_t)p->popular[m].n;
        bag->npopular = p->popular[m].n;
        bag->name = kept->row;
        bag->name_begin = begin;
        nid += bag->nid;
        nsum += bag_sums(p, q);
        nplace += bag->nplace;
    }
    hps_ints_grow(&room->index, nid + 1);
    hps_ints_grow(&room->from, nsum + 1);
    hps_ints_grow(&room->offset, k->nsack + bags + 1);
    hps_ints_grow(&room->place, nplace + 1);
    hps_ints_grow(&room->start, nplace + bags + 1);
}

/* They lie one behind the other. */
static void part_room(struct hps_partials *p, struct hps_places_room *room)
{
    size_t nid = 0, nsum = 0, nplace = 0, noffset = 0, bags = hps_sacks_bags(&p->sacks);

    for (size_t q = 0; q < bags; q++) {
        struct hps_bag *bag = &p->bag[q];
        struct hps_partials_lists l = { room->index.host + nid, room->offset.host + noffset,
                                        room->place.host + nplace,
                                        room->start.host + nplace + q, room->from.host + nsum };
        p->lists[q] = l;
        bag->index = l.index;
        bag->offset = l.offset;
        bag->place = l.place;
        bag->start = l.start;
        bag->from = l.from;
        nid += bag->nid;
        nsum += bag_sums(p, q);
        nplace += bag->nplace;
        noffset += (size_t)bag->nslot * (size_t)bag->B + 1;
    }
}

/* ---- the lists ---- */

/* Of bag q, what lies behind its sums: popular rows, and all ends. */
static void lay_rows(struct hps_partials *p, size_t q)
{
    const struct hps_partials_lists *l = &p->lists[q];
    const struct hps_bag *bag = &p->bag[q];
    const int *place = p->place + q / (size_t)p->sacks.nlayer * HPS_POPULAR_MOST;
    const size_t nsum = bag_sums(p, q);

    for (size_t i = nsum; i < bag->nplace; i++) {
        l->place[i] = place[i - nsum];
        l->start[i] = (int)nsum;
    }
    l->start[bag->nplace] = (int)nsum;
    l->offset[bag->nslot * bag->B] = (int)bag->nid;
}

/* Examples b0 .. b1-1 of a slot: sums and popular rows of each bag, and the bag of each sum. */
static void lay_sacks(const struct hps_partials *p, const struct hps_sacks_slot *s, int b0, int b1)
{
    const struct hps_sacks *k = &p->sacks;
    const struct hps_partials_lists l = p->lists[s->q];
    const int m = s->q / k->nlayer, before = hps_partials_before(k, s), nslot = s->layer->nslot;
    const struct hps_bag *bag = &p->bag[s->q];
    const int *place = p->place + (size_t)m * HPS_POPULAR_MOST;
    const size_t parts = (size_t)k->parts, n = (size_t)nslot * (size_t)s->B;
    size_t first = (size_t)s->i * (size_t)s->B, at = (first + (size_t)b0) * parts;
    const int *begin = bag->name_begin + first;

    at += (size_t)(begin[b0] - bag->name_begin[0]);
    for (int b = b0; b < b1; b++) {
        size_t sum = first + (size_t)b;
        l.offset[sum] = (int)at;
        for (size_t q = 0; q < parts; q++, sum += n) {
            l.index[at++] = l.place[sum] = hps_partials_place(p, m, (int)q) + before + b;
            l.start[sum] = (int)sum;
            l.from[sum] = b * nslot + s->i;
        }
        for (int i = begin[b]; i < begin[b + 1]; i++)
            l.index[at++] = place[bag->name[i]];
    }
}

static void lay_part(void *partials, int t)
{
    const struct hps_partials *p = partials;
    const struct hps_sacks *k = &p->sacks;

    for (const struct hps_sacks_slot *s = k->slot; s < k->slot + k->nslot; s++) {
        int b1, b0 = hps_sacks_part(k, s, t, &b1);
        if (b0 < b1)
            lay_sacks(p, s, b0, b1);
    }
}

void hps_partials_bags(struct hps_partials *p, struct hps_places_room *room)
{
    shape_bags(p, room);
    part_room(p, room);
    for (size_t q = 0; q < hps_sacks_bags(&p->sacks); q++)
        lay_rows(p, q);
    hps_work_spread(&p->sacks.work, lay_part, p);
}
