/* pooled_bags.c - bags of partial sums and hot rows, by bag and by place. */
#include "ps/request/pooled_impl.h"

/* Sums of bag q, at all owners. */
static size_t bag_sums(const struct hps_pooled *p, size_t q)
{
    return (size_t)p->csr.parts * (size_t)p->lookup[q].nslot * (size_t)p->lookup[q].B;
}

/* ---- where the lists are ---- */

/* The bags' shapes, and room for all of their lists. */
static void shape_lookups(struct hps_pooled *p, struct hps_unique_room *room)
{
    const struct hps_csr *k = &p->csr;
    size_t nid = 0, nrow = 0, bags = hps_csr_lookups(k);

    for (size_t q = 0; q < bags; q++) {
        struct hps_lookup *lookup = &p->lookup[q];
        size_t m = q / (size_t)k->nlayer, first = m * (size_t)k->nlayer;
        const struct hps_pooled_message *kept = &p->message[(m + 1) * (size_t)p->receivers - 1];
        const int *begin = kept->begin + hps_csr_front(k, q) - hps_csr_front(k, first);
        lookup->single = false;
        lookup->nid = bag_sums(p, q);
        lookup->by_row.n = lookup->nid + (size_t)p->hot[m].n;
        lookup->hot.n = p->hot[m].n;
        lookup->hot.number = kept->row;
        lookup->hot.begin = begin;
        nid += lookup->nid;
        nrow += lookup->by_row.n;
    }
    hps_int_mirror_grow(&room->index, nid + 1);
    hps_int_mirror_grow(&room->from, nid + 1);
    hps_int_mirror_grow(&room->offset, k->nbag + bags + 1);
    hps_int_mirror_grow(&room->place, nrow + 1);
    hps_int_mirror_grow(&room->start, nrow + bags + 1);
}

/* They lie one behind the other. */
static void part_room(struct hps_pooled *p, struct hps_unique_room *room)
{
    size_t nid = 0, nrow = 0, noffset = 0, bags = hps_csr_lookups(&p->csr);

    for (size_t q = 0; q < bags; q++) {
        struct hps_lookup *lookup = &p->lookup[q];
        struct hps_pooled_lists l = { room->index.host + nid, room->offset.host + noffset,
                                      room->place.host + nrow, room->start.host + nrow + q,
                                      room->from.host + nid };
        p->lists[q] = l;
        lookup->form = HPS_POOLED_SUMS;
        lookup->of.index = l.index;
        lookup->offset = l.offset;
        lookup->by_row.row = l.place;
        lookup->by_row.start = l.start;
        lookup->by_row.bag = l.from;
        nid += lookup->nid;
        nrow += lookup->by_row.n;
        noffset += (size_t)lookup->nslot * (size_t)lookup->B + 1;
    }
}

/* ---- the lists ---- */

/* Of bag q, what lies behind its sums: hot rows, and all ends. */
static void lay_rows(struct hps_pooled *p, size_t q)
{
    const struct hps_pooled_lists *l = &p->lists[q];
    const struct hps_lookup *lookup = &p->lookup[q];
    const int *place = p->place + p->front[q / (size_t)p->csr.nlayer];

    for (size_t i = lookup->nid; i < lookup->by_row.n; i++) {
        l->place[i] = place[i - lookup->nid];
        l->start[i] = (int)lookup->nid;
    }
    l->start[lookup->by_row.n] = l->offset[lookup->nslot * lookup->B] = (int)lookup->nid;
}

/* Examples b0 .. b1-1 of a slot: the sums of each bag, and the bag of each sum. */
static void lay_sacks(const struct hps_pooled *p, const struct hps_csr_slot *s, int b0, int b1)
{
    const struct hps_csr *k = &p->csr;
    const struct hps_pooled_lists l = p->lists[s->q];
    const int m = s->q / k->nlayer, before = hps_pooled_before(k, s), nslot = s->layer->nslot;
    const size_t parts = (size_t)k->parts, n = (size_t)nslot * (size_t)s->B;
    size_t first = (size_t)s->i * (size_t)s->B;

    for (int b = b0; b < b1; b++)
        l.offset[first + (size_t)b] = (int)((first + (size_t)b) * parts);
    for (size_t q = 0; q < parts; q++) {
        int place = hps_pooled_place(p, m, (int)q) + before;
        for (int b = b0; b < b1; b++) {
            size_t bag = first + (size_t)b, sum = q * n + bag;
            l.index[bag * parts + q] = l.place[sum] = place + b;
            l.start[sum] = (int)sum;
            l.from[sum] = b * nslot + s->i;
        }
    }
}

static void lay_part(void *partials, int t)
{
    const struct hps_pooled *p = partials;
    const struct hps_csr *k = &p->csr;

    for (const struct hps_csr_slot *s = k->slot; s < k->slot + k->nslot; s++) {
        int b1, b0 = hps_csr_part(k, s, t, &b1);
        if (b0 < b1) lay_sacks(p, s, b0, b1);
    }
}

void hps_pooled_bags(struct hps_pooled *p, struct hps_unique_room *room)
{
    shape_lookups(p, room);
    part_room(p, room);
    for (size_t q = 0; q < hps_csr_lookups(&p->csr); q++)
        lay_rows(p, q);
    hps_parallel_for(&p->csr.work, lay_part, p);
}
