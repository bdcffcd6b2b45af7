/* unique.c - ids and the bags that they are in become words, words are sorted by row, and rows are
 * numbered in that order. */
#include <string.h>

#include "base/mem.h"
#include "ps/table.h"
#include "ps/request/unique_impl.h"

/* Ids of a bag, by thread, that make sums by row cheaper than an index. */
enum { FULL = 2 };

struct hps_unique_counts hps_unique_counts(const struct hps_unique *p, int t)
{
    size_t *at = p->count + (size_t)t * hps_unique_counters(p);
    return (struct hps_unique_counts){ at, at + hps_unique_pairs(p),
                                       at + hps_unique_pairs(p) + hps_csr_lookups(&p->csr) };
}

struct hps_unique *hps_unique_new(int nlayer, const struct hps_layer *const *layer, long long rows,
                                  int M, int parts, bool index, struct hps_dev *dev)
{
    struct hps_unique *p = hps_mem_new(1, sizeof *p);

    *p = (struct hps_unique){ .dev = dev, .wanted = index || !dev->host };
    p->direct = parts == 1 && !p->wanted;
    hps_csr_init(&p->csr, nlayer, layer, rows, M, parts);
    p->radix = hps_radix_new();
    p->lookup_bits = hps_radix_bits(hps_csr_lookups(&p->csr));
    p->pair_at = hps_mem_new(hps_csr_lookups(&p->csr), sizeof *p->pair_at);
    for (size_t q = 0; q < hps_csr_lookups(&p->csr); q++)
        p->pair_at[q] = q / (size_t)nlayer * (size_t)parts;
    return p;
}

void hps_unique_free(struct hps_unique *p)
{
    if (!p) return;
    hps_radix_free(p->radix);
    hps_csr_done(&p->csr);
    hps_mem_free(p->pair_at);
    hps_mem_free(p->bag);
    hps_mem_free(p->count);
    hps_mem_free(p);
}

void hps_unique_room_free(struct hps_unique_room *room, struct hps_dev *dev)
{
    hps_int_mirror_free(&room->row, dev);
    hps_int_mirror_free(&room->index, dev);
    hps_int_mirror_free(&room->offset, dev);
    hps_int_mirror_free(&room->place, dev);
    hps_int_mirror_free(&room->start, dev);
    hps_int_mirror_free(&room->from, dev);
    hps_int_mirror_free(&room->name, dev);
    hps_int_mirror_free(&room->direct, dev);
}

/* ---- the shape of a step ---- */

/* Where each bag begins, and how many ids the largest has. */
static int fill_bags(struct hps_unique *p)
{
    int most = 1;

    hps_mem_grow(&p->bag, &p->bag_cap, p->csr.nbag, sizeof *p->bag);
    for (struct hps_csr_slot *s = p->csr.slot; s < p->csr.slot + p->csr.nslot; s++)
        for (int b = 0; b < s->B; b++) {
            p->bag[s->first + (size_t)b * (size_t)s->layer->nslot] =
                (int)s->at + (s->offset ? s->offset[b] : b);
            if (s->offset && s->offset[b + 1] - s->offset[b] > most)
                most = s->offset[b + 1] - s->offset[b];
        }
    return most;
}

/* Bits that number the bags of any bag. */
static int bag_bits(const struct hps_unique *p)
{
    size_t most = 1;

    for (size_t q = 0, before = 0; q < hps_csr_lookups(&p->csr); before = p->csr.end[q++])
        if (p->csr.end[q] - before > most) most = p->csr.end[q] - before;
    return hps_radix_bits(most);
}

/* Offsets of a lookup's bags. */
static size_t offsets_of(const struct hps_lookup *lookup)
{
    return lookup->single ? 0 : (size_t)lookup->nslot * (size_t)lookup->B + 1;
}

/* The bags' own offsets, and room for what they point at. */
static void lay_lookups(struct hps_unique *p)
{
    size_t noffset = 0, bag = 0;
    int at = 0, *offset;

    for (size_t q = 0; q < hps_csr_lookups(&p->csr); q++)
        noffset += offsets_of(&p->lookup[q]);
    if (p->index)
        hps_int_mirror_grow(&p->room->index, p->csr.nid + 1); /* always somewhere to point at */
    if (p->direct) hps_int_mirror_grow(&p->room->direct, p->csr.nid + 1);
    hps_int_mirror_grow(&p->room->offset, noffset + 1);
    offset = p->room->offset.host;
    for (size_t q = 0; q < hps_csr_lookups(&p->csr); q++) {
        struct hps_lookup *lookup = &p->lookup[q];
        lookup->form = p->index    ? HPS_ROWS_BY_INDEX
                       : p->direct ? HPS_ROWS_IN_TABLE
                                   : HPS_ROWS_IN_ORDER;
        if (p->index) lookup->of.index = p->room->index.host + at;
        if (p->direct) lookup->of.in_table.row = p->room->direct.host + at;
        lookup->offset = lookup->single ? NULL : offset;
        for (int i = 0; i < lookup->nslot && !lookup->single; i++)
            for (int b = 0; b < lookup->B; b++)
                *offset++ = p->bag[bag + (size_t)b * (size_t)lookup->nslot + (size_t)i] - at;
        bag = p->csr.end[q];
        at += (int)lookup->nid;
        if (!lookup->single) *offset++ = (int)lookup->nid;
    }
}

/* ---- a step ---- */

/* Counts become numbers: of places, by micro-batch and owner ... */
static size_t number_places(struct hps_unique *p, int *first, int *nrecv)
{
    struct hps_unique_counts c = hps_unique_counts(p, 0);
    size_t at = 0, each = hps_unique_counters(p);

    for (int m = 0, k = 0; m < p->csr.M; m++) {
        first[m] = (int)at;
        for (int o = 0; o < p->csr.parts; o++, k++) {
            size_t before = at;
            at = hps_parallel_number(&p->csr.work, &c.rows[k], each, at);
            nrecv[k] = (int)(at - before);
        }
    }
    first[p->csr.M] = (int)at;
    return at;
}

/* ... and of rows and ids, by bag. */
static void number_lookups(struct hps_unique *p)
{
    struct hps_unique_counts c = hps_unique_counts(p, 0);
    size_t row = 0, id = 0, n = hps_csr_lookups(&p->csr), each = hps_unique_counters(p);

    hps_int_mirror_grow(&p->room->place, p->csr.nid + 1); /* as with an index */
    hps_int_mirror_grow(&p->room->start, p->csr.nid + n);
    hps_int_mirror_grow(&p->room->from, p->csr.nid + 1);
    for (size_t q = 0; q < n; q++) {
        struct hps_lookup *lookup = &p->lookup[q];
        size_t before = row;
        row = hps_parallel_number(&p->csr.work, &c.lookup_rows[q], each, row);
        id = hps_parallel_number(&p->csr.work, &c.lookup_ids[q], each, id);
        lookup->by_row.n = row - before;
        lookup->by_row.row = p->room->place.host + before;
        lookup->by_row.start = p->room->start.host + before + q;
        lookup->by_row.bag = p->room->from.host;
        p->room->start.host[row + q] = (int)id;
    }
}

void hps_unique_find(struct hps_unique *p, const struct hps_batch *batch,
                     struct hps_unique_room *room, int *first, int *nrecv,
                     struct hps_lookup *lookup)
{
    size_t ncount;

    p->room = room;
    p->lookup = lookup;
    hps_csr_list(&p->csr, batch, p->dev->nthread, lookup);
    ncount = (size_t)p->csr.work.n * hps_unique_counters(p);
    hps_mem_grow(&p->count, &p->count_cap, ncount, sizeof *p->count);
    memset(p->count, 0, ncount * sizeof *p->count);
    if (batch) {
        int most = fill_bags(p);
        p->bag_bits = bag_bits(p);
        p->index = p->wanted || (!p->direct && p->dev->nthread > 1 && p->csr.nid > p->csr.nbag &&
                                 p->csr.nid < FULL * (size_t)p->dev->nthread * p->csr.nbag);
        p->place_bits = p->index ? hps_radix_bits((uint64_t)most) : 0;
        lay_lookups(p);
        hps_radix_begin(p->radix, p->csr.nid, p->csr.key_bits,
                        p->lookup_bits + p->bag_bits + p->place_bits, p->csr.work.n);
        hps_parallel_for(&p->csr.work, hps_unique_count_part, p);
        hps_radix_deal(p->radix);
        hps_parallel_for(&p->csr.work, hps_unique_put_part, p);
        hps_parallel_for(&p->csr.work, hps_unique_sort_part, p);
        number_lookups(p);
    }
    hps_int_mirror_grow(&room->row, number_places(p, first, nrecv) + 1);
    if (batch) hps_parallel_for(&p->csr.work, hps_unique_place_part, p);
}

void hps_unique_show(const struct hps_unique *p, struct hps_unique_room *room,
                     struct hps_lookup *lookup)
{
    size_t nid = 0, noffset = 0;

    if (p->dev->host) return;
    for (size_t q = 0; q < hps_csr_lookups(&p->csr); q++) {
        nid += lookup[q].nid;
        noffset += offsets_of(&lookup[q]);
    }
    const int *index = hps_int_mirror_to_device(&room->index, nid + 1, p->dev);
    const int *offset = hps_int_mirror_to_device(&room->offset, noffset, p->dev);
    for (size_t q = 0; q < hps_csr_lookups(&p->csr); q++) {
        lookup[q].of.index = index;
        index += lookup[q].nid;
        if (!lookup[q].single) {
            lookup[q].offset = offset;
            offset += offsets_of(&lookup[q]);
        }
        lookup[q].by_row = (struct hps_row_bags){ 0 };
    }
}
