/* places.c - ids and the sacks that they are in become words, words are sorted by row, and rows are
 * numbered in that order. */
#include <string.h>

#include "base/mem.h"
#include "model/places_own.h"
#include "model/table.h"

/* Ids worth a part of their own; parts for each thread, which takes the next when it did one, since
 * the reader wants a core meanwhile; ids of a sack, by thread, that make sums by row cheaper than
 * an index. */
enum { WORTH = 8192, SHARES = 4, FULL = 2 };

struct hps_places_counts hps_places_counts(const struct hps_places *p, int t)
{
    size_t *at = p->count + (size_t)t * hps_places_counters(p);
    return (struct hps_places_counts){ at, at + hps_places_pairs(p),
                                       at + hps_places_pairs(p) + hps_places_bags(p) };
}

/* The quotient of a number below 2^30 by parts <= 2^30: inverse = (2^shift + e) / parts with
 * 0 < e <= parts, and number * e < 2^shift, since 2^shift > 2^30 parts. */
static void find_inverse(struct hps_places *p)
{
    if (p->rows / HPS_TABLE_BLOCK >> 30 > 0)
        return;
    p->part_shift = 30 + hps_radix_bits((uint64_t)p->parts + 1);
    p->part_inverse = (uint32_t)(((uint64_t)1 << p->part_shift) / (uint64_t)p->parts + 1);
}

struct hps_places *hps_places_new(int nlayer, const struct hps_layer *const *layer, long long rows,
                                  int M, int parts, bool index, struct hps_dev *dev)
{
    struct hps_places *p = hps_mem_new(1, sizeof *p);
    size_t nslot = 0;

    *p = (struct hps_places){ .dev = dev, .parts = parts, .M = M, .nlayer = nlayer, .rows = rows,
                              .wanted = index || !dev->host };
    p->lie = parts == 1 && !p->wanted;
    p->layer = hps_mem_new((size_t)nlayer, sizeof(struct hps_layer *));
    for (int j = 0; j < nlayer; j++) {
        p->layer[j] = layer[j];
        nslot += (size_t)layer[j]->nslot;
    }
    p->local_bits = hps_radix_bits((uint64_t)hps_table_nlocal(rows, 0, parts));
    p->key_bits = p->local_bits + hps_radix_bits((uint64_t)parts);
    find_inverse(p);
    p->radix = hps_radix_new();
    p->bag_bits = hps_radix_bits(hps_places_bags(p));
    p->slot = hps_mem_new((size_t)M * nslot, sizeof *p->slot);
    p->end = hps_mem_new(hps_places_bags(p), sizeof *p->end);
    p->pair_at = hps_mem_new(hps_places_bags(p), sizeof *p->pair_at);
    for (size_t q = 0; q < hps_places_bags(p); q++)
        p->pair_at[q] = q / (size_t)nlayer * (size_t)parts;
    return p;
}

void hps_places_free(struct hps_places *p)
{
    if (!p)
        return;
    hps_radix_free(p->radix);
    hps_mem_free(p->layer);
    hps_mem_free(p->slot);
    hps_mem_free(p->end);
    hps_mem_free(p->pair_at);
    hps_mem_free(p->sack);
    hps_mem_free(p->count);
    hps_mem_free(p);
}

void hps_places_room_free(struct hps_places_room *room, struct hps_dev *dev)
{
    hps_ints_free(&room->row, dev);
    hps_ints_free(&room->index, dev);
    hps_ints_free(&room->offset, dev);
    hps_ints_free(&room->place, dev);
    hps_ints_free(&room->start, dev);
    hps_ints_free(&room->from, dev);
    hps_ints_free(&room->lies, dev);
}

/* ---- the shape of a step ---- */

static void add_slots(struct hps_places *p, const struct hps_layer *l, const struct hps_batch *b,
                      struct hps_bag *bag)
{
    *bag = (struct hps_bag){ .nslot = l->nslot, .B = b->B, .single = true };
    for (int i = 0; i < l->nslot; i++) {
        const int *offset = b->offset[l->slot[i]];
        p->slot[p->nslot++] = (struct hps_places_slot){
            l, i, b->ids[l->slot[i]], offset, b->B, p->nsack + (size_t)i, p->nid + bag->nid,
            (int)(bag - p->bag)
        };
        bag->nid += (size_t)(offset ? offset[b->B] : b->B);
        bag->single &= !offset;
    }
    p->nid += bag->nid;
    p->nsack += (size_t)l->nslot * (size_t)b->B;
}

static void list_slots(struct hps_places *p, const struct hps_batch *batch)
{
    p->nslot = 0;
    p->nid = p->nsack = 0;
    for (int m = 0, q = 0; batch && m < p->M; m++)
        for (int j = 0; j < p->nlayer; j++, q++) {
            add_slots(p, p->layer[j], &batch[m], &p->bag[q]);
            p->end[q] = p->nsack;
        }
    if (p->nid > INT_MAX)
        HPS_DIE("%zu ids on this rank in one step; it can work with %d", p->nid, INT_MAX);
}

/* Where each sack begins, and how many ids the largest has. */
static int fill_sacks(struct hps_places *p)
{
    int most = 1;

    hps_mem_grow(&p->sack, &p->sack_cap, p->nsack, sizeof *p->sack);
    for (struct hps_places_slot *s = p->slot; s < p->slot + p->nslot; s++)
        for (int b = 0; b < s->B; b++) {
            p->sack[s->first + (size_t)b * (size_t)s->layer->nslot] =
                (int)s->at + (s->offset ? s->offset[b] : b);
            if (s->offset && s->offset[b + 1] - s->offset[b] > most)
                most = s->offset[b + 1] - s->offset[b];
        }
    return most;
}

/* Bits that number the sacks of any bag. */
static int sack_bits(const struct hps_places *p)
{
    size_t most = 1;

    for (size_t q = 0, before = 0; q < hps_places_bags(p); before = p->end[q++])
        if (p->end[q] - before > most)
            most = p->end[q] - before;
    return hps_radix_bits(most);
}

/* The bags' own offsets, and room for what they point at. */
static void lay_bags(struct hps_places *p)
{
    size_t noffset = 0, sack = 0;
    int at = 0, *offset;

    for (size_t q = 0; q < hps_places_bags(p); q++)
        noffset += p->bag[q].single ? 0 : (size_t)p->bag[q].nslot * (size_t)p->bag[q].B + 1;
    if (p->index)
        hps_ints_grow(&p->room->index, p->nid + 1); /* there is always somewhere to point at */
    if (p->lie)
        hps_ints_grow(&p->room->lies, p->nid + 1);
    hps_ints_grow(&p->room->offset, noffset + 1);
    offset = p->room->offset.host;
    for (size_t q = 0; q < hps_places_bags(p); q++) {
        struct hps_bag *bag = &p->bag[q];
        bag->index = p->index ? p->room->index.host + at : NULL;
        bag->lies = p->lie ? p->room->lies.host + at : NULL;
        bag->offset = bag->single ? NULL : offset;
        for (int i = 0; i < bag->nslot && !bag->single; i++)
            for (int b = 0; b < bag->B; b++)
                *offset++ = p->sack[sack + (size_t)b * (size_t)bag->nslot + (size_t)i] - at;
        sack = p->end[q];
        at += (int)bag->nid;
        if (!bag->single)
            *offset++ = (int)bag->nid;
    }
}

/* ---- a step ---- */

static int parts_of(size_t nid, int nthread)
{
    size_t worth = nid / WORTH, most = nthread > 1 ? (size_t)nthread * SHARES : 1;

    return worth == 0 ? 1 : worth < most ? (int)worth : (int)most;
}

static void on_threads(struct hps_places *p, void (*part)(struct hps_places *p, int t))
{
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 1) num_threads(p->dev->nthread) if (p->nwork > 1)
#endif
    for (int t = 0; t < p->nwork; t++)
        part(p, t);
}

/* `next` numbers what the parts counted `here`, one by one; answers where it ends. */
static size_t number(struct hps_places *p, size_t *here, size_t next)
{
    size_t each = hps_places_counters(p);

    for (int t = 0; t < p->nwork; t++, here += each) {
        size_t n = *here;
        *here = next;
        next += n;
    }
    return next;
}

/* Counts become numbers: of places, by micro-batch and owner ... */
static size_t number_places(struct hps_places *p, int *first, int *ask)
{
    struct hps_places_counts c = hps_places_counts(p, 0);
    size_t at = 0;

    for (int m = 0, k = 0; m < p->M; m++) {
        first[m] = (int)at;
        for (int o = 0; o < p->parts; o++, k++) {
            size_t before = at;
            at = number(p, &c.rows[k], at);
            ask[k] = (int)(at - before);
        }
    }
    first[p->M] = (int)at;
    return at;
}

/* ... and of rows and ids, by bag. */
static void number_bags(struct hps_places *p)
{
    struct hps_places_counts c = hps_places_counts(p, 0);
    size_t row = 0, id = 0, n = hps_places_bags(p);

    hps_ints_grow(&p->room->place, p->nid + 1);         /* as with an index */
    hps_ints_grow(&p->room->start, p->nid + n);
    hps_ints_grow(&p->room->from, p->nid + 1);
    for (size_t q = 0; q < n; q++) {
        struct hps_bag *bag = &p->bag[q];
        size_t before = row;
        row = number(p, &c.bag_rows[q], row);
        id = number(p, &c.bag_ids[q], id);
        bag->nplace = row - before;
        bag->place = p->room->place.host + before;
        bag->start = p->room->start.host + before + q;
        bag->from = p->room->from.host;
        p->room->start.host[row + q] = (int)id;
    }
}

void hps_places_find(struct hps_places *p, const struct hps_batch *batch,
                     struct hps_places_room *room, int *first, int *ask, struct hps_bag *bag)
{
    size_t ncount;

    p->room = room;
    p->bag = bag;
    list_slots(p, batch);
    p->nwork = parts_of(p->nid, p->dev->nthread);
    ncount = (size_t)p->nwork * hps_places_counters(p);
    hps_mem_grow(&p->count, &p->count_cap, ncount, sizeof *p->count);
    memset(p->count, 0, ncount * sizeof *p->count);
    if (batch) {
        int most = fill_sacks(p);
        p->sack_bits = sack_bits(p);
        p->index = p->wanted || (!p->lie && p->dev->nthread > 1 && p->nid > p->nsack &&
                                 p->nid < FULL * (size_t)p->dev->nthread * p->nsack);
        p->place_bits = p->index ? hps_radix_bits((uint64_t)most) : 0;
        lay_bags(p);
        hps_radix_begin(p->radix, p->nid, p->key_bits,
                        p->bag_bits + p->sack_bits + p->place_bits, p->nwork);
        on_threads(p, hps_places_count_part);
        hps_radix_deal(p->radix);
        on_threads(p, hps_places_put_part);
        on_threads(p, hps_places_sort_part);
        number_bags(p);
    }
    hps_ints_grow(&room->row, number_places(p, first, ask) + 1);
    if (batch)
        on_threads(p, hps_places_place_part);
}

void hps_places_show(const struct hps_places *p, struct hps_places_room *room,
                     struct hps_bag *bag)
{
    size_t nid = 0, noffset = 0;

    if (p->dev->host)
        return;
    for (size_t q = 0; q < hps_places_bags(p); q++) {
        nid += bag[q].nid;
        noffset += bag[q].single ? 0 : (size_t)bag[q].nslot * (size_t)bag[q].B + 1;
    }
    const int *index = hps_ints_show(&room->index, nid + 1, p->dev);
    const int *offset = hps_ints_show(&room->offset, noffset, p->dev);
    for (size_t q = 0; q < hps_places_bags(p); q++) {
        bag[q].index = index;
        index += bag[q].nid;
        if (!bag[q].single) {
            bag[q].offset = offset;
            offset += (size_t)bag[q].nslot * (size_t)bag[q].B + 1;
        }
        bag[q].place = bag[q].start = bag[q].from = bag[q].lies = NULL;
        bag[q].nplace = 0;
    }
}
