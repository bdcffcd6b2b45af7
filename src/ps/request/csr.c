/* csr.c - ids as keys: the owner of a row and its number there in one word. */
#include "ps/csr.h"

#include <assert.h>
#include <limits.h>

#include "base/mem.h"
#include "base/multiversion.h"
#include "base/quit.h"
#include "base/radix.h"
#include "ps/table.h"

/* The quotient of a number below 2^30 by parts <= 2^30: inverse = (2^shift + e) / parts with
 * 0 < e <= parts, and number * e < 2^shift, since 2^shift > 2^30 parts. */
static void find_inverse(struct hps_csr *s)
{
    if (s->rows / HPS_CYCLIC_BLOCK >> 30 > 0) return;
    s->part_shift = 30 + hps_radix_bits((uint64_t)s->parts + 1);
    s->part_inverse = (uint32_t)(((uint64_t)1 << s->part_shift) / (uint64_t)s->parts + 1);
}

void hps_csr_init(struct hps_csr *s, int nlayer, const struct hps_layer *const *layer,
                  long long rows, int M, int parts)
{
    size_t nslot = 0;

    *s = (struct hps_csr){ .parts = parts, .M = M, .nlayer = nlayer, .rows = rows };
    s->layer = hps_mem_new((size_t)nlayer, sizeof(struct hps_layer *));
    for (int j = 0; j < nlayer; j++) {
        s->layer[j] = layer[j];
        nslot += (size_t)layer[j]->nslot;
    }
    s->local_bits = hps_radix_bits((uint64_t)hps_cyclic_nlocal(rows, 0, parts));
    s->key_bits = s->local_bits + hps_radix_bits((uint64_t)parts);
    find_inverse(s);
    s->slot = hps_mem_new((size_t)M * nslot, sizeof *s->slot);
    s->end = hps_mem_new(hps_csr_lookups(s), sizeof *s->end);
}

void hps_csr_done(struct hps_csr *s)
{
    hps_mem_free(s->layer);
    hps_mem_free(s->slot);
    hps_mem_free(s->end);
}

/* ---- the shape of a step ---- */

static void add_slots(struct hps_csr *s, const struct hps_layer *l, const struct hps_batch *b,
                      int q, struct hps_lookup *lookup)
{
    *lookup = (struct hps_lookup){ .nslot = l->nslot, .B = b->B, .single = true };
    for (int i = 0; i < l->nslot; i++) {
        const int *offset = b->offset[l->slot[i]];
        s->slot[s->nslot++] = (struct hps_csr_slot){
            l, i, b->ids[l->slot[i]], offset, b->B, s->nbag + (size_t)i, s->nid + lookup->nid, q
        };
        lookup->nid += (size_t)(offset ? offset[b->B] : b->B);
        lookup->single &= !offset;
    }
    s->nid += lookup->nid;
    s->nbag += (size_t)l->nslot * (size_t)b->B;
    s->end[q] = s->nbag;
}

void hps_csr_list(struct hps_csr *s, const struct hps_batch *batch, int nthread,
                  struct hps_lookup *lookup)
{
    s->nslot = 0;
    s->nid = s->nbag = 0;
    for (int m = 0, q = 0; batch && m < s->M; m++)
        for (int j = 0; j < s->nlayer; j++, q++)
            add_slots(s, s->layer[j], &batch[m], q, &lookup[q]);
    if (s->nid > INT_MAX)
        HPS_DIE("%zu ids on this rank in one step; it can work with %d", s->nid, INT_MAX);
    s->work = hps_parallel_of(s->nid, nthread);
}

/* The first example of a slot whose ids begin at id number `at` of the step or behind it. */
static int example_at(const struct hps_csr_slot *s, size_t at)
{
    int low = 0, high = s->B;

    while (low < high) {
        int middle = low + (high - low) / 2;
        if (s->at + hps_csr_before(s, middle) < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- keys ---- */

/* Owners as many as a power of two. */
HPS_INLINE void part_keys_evenly(const struct hps_csr *s, size_t n, uint64_t *key)
{
    const int local_bits = s->local_bits, bits = hps_radix_bits((uint64_t)s->parts);
    const uint64_t last = (uint64_t)s->parts - 1;

    for (size_t c = 0; c < n; c++) {
        uint64_t block = key[c] / HPS_CYCLIC_BLOCK;
        key[c] = (block & last) << local_bits | (block >> bits) * HPS_CYCLIC_BLOCK |
                 key[c] % HPS_CYCLIC_BLOCK;
    }
}

/* The owner of a row and its number there in one word, of n rows. */
HPS_INLINE void part_keys(const struct hps_csr *s, size_t n, uint64_t *key)
{
    const int local_bits = s->local_bits, shift = s->part_shift;
    const uint32_t parts = (uint32_t)s->parts, inverse = s->part_inverse;

    if ((parts & (parts - 1)) == 0) {
        part_keys_evenly(s, n, key);
        return;
    }
    if (inverse == 0) {
        for (size_t c = 0; c < n; c++)
            key[c] = (uint64_t)hps_cyclic_owner((long long)key[c], s->parts) << local_bits |
                     (uint64_t)hps_cyclic_local((long long)key[c], s->parts);
        return;
    }
    for (size_t c = 0; c < n; c++) {
        uint32_t block = (uint32_t)(key[c] / HPS_CYCLIC_BLOCK);
        uint32_t turn = (uint32_t)((uint64_t)block * inverse >> shift);
        key[c] = (uint64_t)(block - turn * parts) << local_bits |
                 (uint64_t)turn * HPS_CYCLIC_BLOCK | key[c] % HPS_CYCLIC_BLOCK;
    }
}

/* Rows of n ids. */
HPS_INLINE void make_rows(struct hps_ids ids, size_t at, long long base, long long modulo, size_t n,
                          uint64_t *row)
{
    if (modulo > 0)
        for (size_t c = 0; c < n; c++)
            row[c] = (uint64_t)(base + hps_ids_get(ids, at + c) % modulo);
    else
        for (size_t c = 0; c < n; c++)
            row[c] = (uint64_t)(base + hps_ids_get(ids, at + c));
}

HPS_MULTIVERSION static void make_keys(const struct hps_csr *s, const struct hps_csr_slot *slot,
                                       size_t at, size_t n, uint64_t *key)
{
    long long base = slot->layer->base[slot->i], modulo = slot->layer->modulo[slot->i];
    uint64_t outside = 0;

    if (slot->id.wide)
        make_rows((struct hps_ids){ slot->id.at, true }, at, base, modulo, n, key);
    else
        make_rows((struct hps_ids){ slot->id.at, false }, at, base, modulo, n, key);
    for (size_t c = 0; c < n; c++)
        outside |= (uint64_t)s->rows - 1 - key[c];
    assert(outside >> 63 == 0);         /* row < 0 or >= rows */
    if (s->parts > 1) part_keys(s, n, key);
}

void hps_csr_keys(const struct hps_csr *s, const struct hps_csr_slot *slot, size_t at, size_t n,
                  uint64_t *key)
{
    make_keys(s, slot, at, n, key);
}

/* ---- in the order of the step's ids ---- */

int hps_csr_part(const struct hps_csr *s, const struct hps_csr_slot *slot, int t, int *end)
{
    *end =
        t + 1 < s->work.n ? example_at(slot, hps_parallel_cut(&s->work, s->nid, t + 1)) : slot->B;
    return example_at(slot, hps_parallel_cut(&s->work, s->nid, t));
}

void hps_csr_walk(const struct hps_csr *s, struct hps_csr_walk *w, int m0, int m1, int t)
{
    size_t each = s->nslot / (size_t)s->M;

    w->t = t;
    w->i = (size_t)m0 * each;
    w->end = (size_t)m1 * each;
    w->from = w->n = w->id_end = 0;         /* as at the end of a slot */
}

/* The next slot that has examples of the part. */
static bool next_slot(const struct hps_csr *s, struct hps_csr_walk *w)
{
    while (w->i < w->end) {
        const struct hps_csr_slot *slot = &s->slot[w->i++];
        int b0 = hps_csr_part(s, slot, w->t, &w->example_end);
        if (b0 < w->example_end) {
            w->slot = slot;
            w->from = hps_csr_before(slot, b0);
            w->id_end = hps_csr_before(slot, w->example_end);
            w->b1 = b0;
            return true;
        }
    }
    return false;
}

bool hps_csr_next(const struct hps_csr *s, struct hps_csr_walk *w)
{
    w->from += w->n;
    if (w->from == w->id_end && !next_slot(s, w)) return false;
    w->n = w->id_end - w->from < HPS_CSR_CHUNK ? w->id_end - w->from : HPS_CSR_CHUNK;
    size_t end = w->from + w->n;
    for (w->b0 = w->b1; w->b1 < w->example_end; w->b1++)
        if (end < w->id_end && hps_csr_before(w->slot, w->b1) >= end) break;
    make_keys(s, w->slot, w->from, w->n, w->key);
    return true;
}
