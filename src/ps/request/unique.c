/* unique.c - each id becomes a word of its row and its bag; the words are sorted by row, and the
 * rows are numbered in that order. */
#include <string.h>

#include "base/mem.h"
#include "ps/table.h"
#include "ps/request/unique_impl.h"

/* With more ids a bag and thread than this, sums by row are cheaper than an index (measured). */
enum { IDS_BY_ROW = 2 };

struct hps_unique_counts hps_unique_counts(const struct hps_unique *p, int t)
{
    size_t *at = p->count + (size_t)t * hps_unique_counters(p);
    return (struct hps_unique_counts){ at, at + hps_unique_pairs(p),
                                       at + hps_unique_pairs(p) + hps_csr_lookups(&p->csr) };
}

struct hps_unique *hps_unique_new(const struct hps_unique_opt *o, struct hps_dev *dev)
{
    struct hps_unique *p = hps_mem_new(1, sizeof *p);

    *p = (struct hps_unique){ .dev = dev, .wanted = o->index || !dev->host };
    p->direct = o->alone && !p->wanted;
    hps_csr_init(&p->csr, o->nlayer, o->layer, o->rows, o->M, o->parts);
    p->radix = hps_radix_new();
    p->lookup_bits = hps_radix_bits(hps_csr_lookups(&p->csr));
    p->pair_at = hps_mem_new(hps_csr_lookups(&p->csr), sizeof *p->pair_at);
    for (size_t q = 0; q < hps_csr_lookups(&p->csr); q++)
        p->pair_at[q] = q / (size_t)o->nlayer * (size_t)o->parts;
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

void hps_unique_memory_free(struct hps_unique_memory *memory, struct hps_dev *dev)
{
    hps_int_mirror_free(&memory->row, dev);
    hps_int_mirror_free(&memory->index, dev);
    hps_int_mirror_free(&memory->offset, dev);
    hps_int_mirror_free(&memory->row_index, dev);
    hps_int_mirror_free(&memory->bag_start, dev);
    hps_int_mirror_free(&memory->bag, dev);
    hps_int_mirror_free(&memory->hot, dev);
    hps_int_mirror_free(&memory->direct, dev);
}

/* ---- the shape of a step ---- */

/* Set where each bag begins; returns the ids of the largest. */
static int find_bags(struct hps_unique *p)
{
    int max = 1;

    hps_mem_grow(&p->bag, &p->bag_cap, p->csr.nbag, sizeof *p->bag);
    for (struct hps_csr_slot *s = p->csr.slot; s < p->csr.slot + p->csr.nslot; s++)
        for (int b = 0; b < s->B; b++) {
            p->bag[s->first + (size_t)b * (size_t)s->layer->nslot] =
                (int)s->at + (s->offset ? s->offset[b] : b);
            if (s->offset && s->offset[b + 1] - s->offset[b] > max)
                max = s->offset[b + 1] - s->offset[b];
        }
    return max;
}

/* Bits that number the bags of any lookup. */
static int bag_bits(const struct hps_unique *p)
{
    size_t max = 1;

    for (size_t q = 0, before = 0; q < hps_csr_lookups(&p->csr); before = p->csr.end[q++])
        if (p->csr.end[q] - before > max) max = p->csr.end[q] - before;
    return hps_radix_bits(max);
}

/* Offsets of a lookup's bags. */
static size_t offsets_of(const struct hps_lookup *lookup)
{
    return lookup->single ? 0 : (size_t)lookup->nslot * (size_t)lookup->B + 1;
}

/* Set form, arrays and offsets of all lookups. */
static void shape_lookups(struct hps_unique *p)
{
    size_t noffset = 0, bag = 0;
    int at = 0, *offset;

    for (size_t q = 0; q < hps_csr_lookups(&p->csr); q++)
        noffset += offsets_of(&p->lookup[q]);
    if (p->index) hps_int_mirror_grow(&p->memory->index, p->csr.nid + 1);    /* never NULL */
    if (p->direct) hps_int_mirror_grow(&p->memory->direct, p->csr.nid + 1);
    hps_int_mirror_grow(&p->memory->offset, noffset + 1);
    offset = p->memory->offset.host;
    for (size_t q = 0; q < hps_csr_lookups(&p->csr); q++) {
        struct hps_lookup *lookup = &p->lookup[q];
        lookup->form = p->index    ? HPS_ROWS_BY_INDEX
                       : p->direct ? HPS_ROWS_IN_TABLE
                                   : HPS_ROWS_IN_ORDER;
        if (p->index) lookup->of.index = p->memory->index.host + at;
        if (p->direct) lookup->of.in_table.row = p->memory->direct.host + at;
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

/* Exclusive prefix sums of the counts give unique indices, by micro-batch and owner. */
static size_t number_rows(struct hps_unique *p, int *first, int *nrecv)
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

/* The same of the rows and ids of each lookup. */
static void number_lookups(struct hps_unique *p)
{
    struct hps_unique_counts c = hps_unique_counts(p, 0);
    size_t row = 0, id = 0, n = hps_csr_lookups(&p->csr), each = hps_unique_counters(p);

    hps_int_mirror_grow(&p->memory->row_index, p->csr.nid + 1); /* never NULL */
    hps_int_mirror_grow(&p->memory->bag_start, p->csr.nid + n);
    hps_int_mirror_grow(&p->memory->bag, p->csr.nid + 1);
    for (size_t q = 0; q < n; q++) {
        struct hps_lookup *lookup = &p->lookup[q];
        size_t before = row;
        row = hps_parallel_number(&p->csr.work, &c.lookup_rows[q], each, row);
        id = hps_parallel_number(&p->csr.work, &c.lookup_ids[q], each, id);
        lookup->by_row.n = row - before;
        lookup->by_row.row = p->memory->row_index.host + before;
        lookup->by_row.start = p->memory->bag_start.host + before + q;
        lookup->by_row.bag = p->memory->bag.host;
        p->memory->bag_start.host[row + q] = (int)id;
    }
}

void hps_unique_find(struct hps_unique *p, const struct hps_batch *batch,
                     struct hps_unique_memory *memory, int *first, int *nrecv,
                     struct hps_lookup *lookup)
{
    size_t ncount;

    p->memory = memory;
    p->lookup = lookup;
    hps_csr_list(&p->csr, batch, p->dev->nthread, lookup);
    ncount = (size_t)p->csr.work.n * hps_unique_counters(p);
    hps_mem_grow(&p->count, &p->count_cap, ncount, sizeof *p->count);
    memset(p->count, 0, ncount * sizeof *p->count);
    if (batch) {
        int max = find_bags(p);
        p->bag_bits = bag_bits(p);
        p->index = p->wanted || (!p->direct && p->dev->nthread > 1 && p->csr.nid > p->csr.nbag &&
                                 p->csr.nid < IDS_BY_ROW * (size_t)p->dev->nthread * p->csr.nbag);
        p->offset_bits = p->index ? hps_radix_bits((uint64_t)max) : 0;
        shape_lookups(p);
        hps_radix_begin(p->radix, p->csr.nid, p->csr.key_bits,
                        p->lookup_bits + p->bag_bits + p->offset_bits, p->csr.work.n);
        hps_parallel_for(&p->csr.work, hps_unique_count_part, p);
        hps_radix_deal(p->radix);
        hps_parallel_for(&p->csr.work, hps_unique_put_part, p);
        hps_parallel_for(&p->csr.work, hps_unique_sort_part, p);
        number_lookups(p);
    }
    hps_int_mirror_grow(&memory->row, number_rows(p, first, nrecv) + 1);
    if (batch) hps_parallel_for(&p->csr.work, hps_unique_number_part, p);
}

void hps_unique_to_device(const struct hps_unique *p, struct hps_unique_memory *memory,
                          struct hps_lookup *lookup)
{
    size_t nid = 0, noffset = 0;

    if (p->dev->host) return;
    for (size_t q = 0; q < hps_csr_lookups(&p->csr); q++) {
        nid += lookup[q].nid;
        noffset += offsets_of(&lookup[q]);
    }
    const int *index = hps_int_mirror_to_device(&memory->index, nid + 1, p->dev);
    const int *offset = hps_int_mirror_to_device(&memory->offset, noffset, p->dev);
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
