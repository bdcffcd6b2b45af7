/* unique_words.c - the ids of a step as words: the key of the row, then bag and position in it. */
#include "base/multiversion.h"
#include "ps/request/unique_impl.h"

HPS_MULTIVERSION static void store_rows(size_t n, const uint64_t *restrict key, int *restrict row)
{
    for (size_t c = 0; c < n; c++)
        row[c] = (int)key[c];
}

void hps_unique_count_part(void *unique, int t)
{
    struct hps_unique *p = unique;
    struct hps_csr_walk w;

    hps_csr_walk(&p->csr, &w, 0, p->csr.M, t);
    while (hps_csr_next(&p->csr, &w)) {
        if (p->direct) store_rows(w.n, w.key, p->memory->direct.host + w.slot->at + w.from);
        hps_radix_count(p->radix, t, w.n, w.key);
    }
}

/* The tails of a chunk's ids: lookup, bag and, for an index, the position in the bag. */
static void make_tails(const struct hps_unique *p, const struct hps_csr_walk *w, uint64_t *tail)
{
    const struct hps_csr_slot *s = w->slot;
    const int *offset = s->offset;
    const size_t at = w->from, n = w->n;
    const int b0 = hps_csr_before(s, w->b0) > at ? w->b0 - 1 : w->b0; /* of its first id */
    const uint64_t step = (uint64_t)s->layer->nslot << p->offset_bits;
    const uint64_t one = p->index;
    const uint64_t first = (uint64_t)s->q << p->bag_bits | (uint64_t)s->i;
    uint64_t bag = (first << p->offset_bits) + (uint64_t)b0 * step;

    if (!offset) {
        for (size_t c = 0; c < n; c++, bag += step)
            tail[c] = bag;
        return;
    }
    for (size_t c = 0, b = (size_t)b0; c < n;) {
        for (; (size_t)offset[b + 1] <= at + c; b++)
            bag += step;
        size_t end = (size_t)offset[b + 1] - at;
        uint64_t position = one * (at + c - (size_t)offset[b]);
        for (end = end < n ? end : n; c < end; c++, position += one)
            tail[c] = bag | position;
    }
}

void hps_unique_put_part(void *unique, int t)
{
    struct hps_unique *p = unique;
    struct hps_csr_walk w;
    uint64_t tail[HPS_CSR_CHUNK];

    hps_csr_walk(&p->csr, &w, 0, p->csr.M, t);
    while (hps_csr_next(&p->csr, &w)) {
        make_tails(p, &w, tail);
        hps_radix_put(p->radix, t, w.n, w.key, tail);
    }
}
