/* pooled_bags.c - the lookups of partial pooled sums and hot rows, and their transposes. */
#include "ps/request/pooled_impl.h"

/* Partial sums of lookup q at all owners. */
static size_t nsum_of(const struct hps_pooled *p, size_t q)
{
    return (size_t)p->csr.parts * (size_t)p->lookup[q].nslot * (size_t)p->lookup[q].B;
}

/* ---- the arrays ---- */

/* Set the sizes of all lookups and make the arrays large enough. */
static void shape_lookups(struct hps_pooled *p, struct hps_unique_memory *memory)
{
    const struct hps_csr *k = &p->csr;
    size_t nid = 0, nrow = 0, bags = hps_csr_lookups(k);

    for (size_t q = 0; q < bags; q++) {
        struct hps_lookup *lookup = &p->lookup[q];
        size_t m = q / (size_t)k->nlayer, first = m * (size_t)k->nlayer;
        const struct hps_pooled_message *hot = &p->message[(m + 1) * (size_t)p->receivers - 1];
        const int *begin = hot->begin + hps_csr_front(k, q) - hps_csr_front(k, first);
        lookup->single = false;
        lookup->nid = nsum_of(p, q);
        lookup->by_row.n = lookup->nid + (size_t)p->hot[m].n;
        lookup->hot.n = p->hot[m].n;
        lookup->hot.number = hot->row;
        lookup->hot.begin = begin;
        nid += lookup->nid;
        nrow += lookup->by_row.n;
    }
    hps_int_mirror_grow(&memory->index, nid + 1);
    hps_int_mirror_grow(&memory->bag, nid + 1);
    hps_int_mirror_grow(&memory->offset, k->nbag + bags + 1);
    hps_int_mirror_grow(&memory->row_index, nrow + 1);
    hps_int_mirror_grow(&memory->bag_start, nrow + bags + 1);
}

/* Give each lookup its part of the arrays. */
static void assign_arrays(struct hps_pooled *p, struct hps_unique_memory *memory)
{
    size_t nid = 0, nrow = 0, noffset = 0, bags = hps_csr_lookups(&p->csr);

    for (size_t q = 0; q < bags; q++) {
        struct hps_lookup *lookup = &p->lookup[q];
        struct hps_pooled_lists l = { .index = memory->index.host + nid,
                                      .offset = memory->offset.host + noffset,
                                      .row = memory->row_index.host + nrow,
                                      .start = memory->bag_start.host + nrow + q,
                                      .bag = memory->bag.host + nid };
        p->lists[q] = l;
        lookup->form = HPS_POOLED_SUMS;
        lookup->of.index = l.index;
        lookup->offset = l.offset;
        lookup->by_row.row = l.row;
        lookup->by_row.start = l.start;
        lookup->by_row.bag = l.bag;
        nid += lookup->nid;
        nrow += lookup->by_row.n;
        noffset += (size_t)lookup->nslot * (size_t)lookup->B + 1;
    }
}

/* ---- their contents ---- */

/* The hot rows of lookup q, behind its sums, and the ends of its lists. */
static void fill_hot_rows(struct hps_pooled *p, size_t q)
{
    const struct hps_pooled_lists *l = &p->lists[q];
    const struct hps_lookup *lookup = &p->lookup[q];
    const int *index = p->hot_index + p->front[q / (size_t)p->csr.nlayer];

    for (size_t i = lookup->nid; i < lookup->by_row.n; i++) {
        l->row[i] = index[i - lookup->nid];
        l->start[i] = (int)lookup->nid;
    }
    l->start[lookup->by_row.n] = l->offset[lookup->nslot * lookup->B] = (int)lookup->nid;
}

/* For examples b0 .. b1-1 of a slot: the sums of each bag, and the bag of each sum. */
static void fill_bags(const struct hps_pooled *p, const struct hps_csr_slot *s, int b0, int b1)
{
    const struct hps_csr *k = &p->csr;
    const struct hps_pooled_lists l = p->lists[s->q];
    const int m = s->q / k->nlayer, before = hps_pooled_before(k, s), nslot = s->layer->nslot;
    const size_t parts = (size_t)k->parts, n = (size_t)nslot * (size_t)s->B;
    size_t first = (size_t)s->i * (size_t)s->B;

    for (int b = b0; b < b1; b++)
        l.offset[first + (size_t)b] = (int)((first + (size_t)b) * parts);
    for (size_t q = 0; q < parts; q++) {
        int index = hps_pooled_first_index(p, m, (int)q) + before;
        for (int b = b0; b < b1; b++) {
            size_t i = first + (size_t)b, sum = q * n + i;
            l.index[i * parts + q] = l.row[sum] = index + b;
            l.start[sum] = (int)sum;
            l.bag[sum] = b * nslot + s->i;
        }
    }
}

static void fill_part(void *pooled, int t)
{
    const struct hps_pooled *p = pooled;
    const struct hps_csr *k = &p->csr;

    for (const struct hps_csr_slot *s = k->slot; s < k->slot + k->nslot; s++) {
        int b1, b0 = hps_csr_part(k, s, t, &b1);
        if (b0 < b1) fill_bags(p, s, b0, b1);
    }
}

void hps_pooled_bags(struct hps_pooled *p, struct hps_unique_memory *memory)
{
    shape_lookups(p, memory);
    assign_arrays(p, memory);
    for (size_t q = 0; q < hps_csr_lookups(&p->csr); q++)
        fill_hot_rows(p, q);
    hps_parallel_for(&p->csr.work, fill_part, p);
}
