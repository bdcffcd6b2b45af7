/* places_words.c - the ids of a step as keys, with the sack and the place in it behind each. */
#include <assert.h>

#include "base/clones.h"
#include "model/places_own.h"
#include "model/table.h"

enum { CHUNK = 256 };

/* Owners as many as a power of two. */
HPS_INLINE void part_keys_evenly(const struct hps_places *p, size_t n, uint64_t *key)
{
    const int local_bits = p->local_bits, bits = hps_radix_bits((uint64_t)p->parts);
    const uint64_t last = (uint64_t)p->parts - 1;

    for (size_t c = 0; c < n; c++) {
        uint64_t block = key[c] / HPS_TABLE_BLOCK;
        key[c] = (block & last) << local_bits | (block >> bits) * HPS_TABLE_BLOCK |
                 key[c] % HPS_TABLE_BLOCK;
    }
}

/* The owner of a row and its number there in one word, of n rows. */
HPS_INLINE void part_keys(const struct hps_places *p, size_t n, uint64_t *key)
{
    const int local_bits = p->local_bits, shift = p->part_shift;
    const uint32_t parts = (uint32_t)p->parts, inverse = p->part_inverse;

    if ((parts & (parts - 1)) == 0) {
        part_keys_evenly(p, n, key);
        return;
    }
    if (inverse == 0) {
        for (size_t c = 0; c < n; c++)
            key[c] = (uint64_t)hps_table_owner((long long)key[c], p->parts) << local_bits |
                     (uint64_t)hps_table_local((long long)key[c], p->parts);
        return;
    }
    for (size_t c = 0; c < n; c++) {
        uint32_t block = (uint32_t)(key[c] / HPS_TABLE_BLOCK);
        uint32_t turn = (uint32_t)((uint64_t)block * inverse >> shift);
        key[c] = (uint64_t)(block - turn * parts) << local_bits | (uint64_t)turn * HPS_TABLE_BLOCK |
                 key[c] % HPS_TABLE_BLOCK;
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

/* Keys of n ids of a slot from `at` on. */
HPS_CLONES static void make_keys(const struct hps_places *p, const struct hps_places_slot *s,
                                 size_t at, size_t n, uint64_t *key)
{
    long long base = s->layer->base[s->i], modulo = s->layer->modulo[s->i];
    uint64_t outside = 0;

    if (s->id.wide)
        make_rows((struct hps_ids){ s->id.at, true }, at, base, modulo, n, key);
    else
        make_rows((struct hps_ids){ s->id.at, false }, at, base, modulo, n, key);
    for (size_t c = 0; c < n; c++)
        outside |= (uint64_t)p->rows - 1 - key[c];
    assert(outside >> 63 == 0);         /* row < 0 or >= rows */
    if (p->parts > 1)
        part_keys(p, n, key);
}

HPS_CLONES static void keep_rows(size_t n, const uint64_t *restrict key, int *restrict row)
{
    for (size_t c = 0; c < n; c++)
        row[c] = (int)key[c];
}

/* Of the sacks b0..b1-1 of a slot, which hold the ids from..to-1 of it. */
struct span {
    int b0, b1;
    size_t from, to;
};

/* The first example of a slot whose ids begin at id number `at` of the step or behind it. */
static int example_at(const struct hps_places_slot *s, long long at)
{
    int low = 0, high = s->B;

    while (low < high) {
        int middle = low + (high - low) / 2;
        if ((long long)s->at + (s->offset ? s->offset[middle] : middle) < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct span span_of(const struct hps_places *p, const struct hps_places_slot *s, int t)
{
    long long n = (long long)p->nid, first = n * t / p->nwork, last = n * (t + 1) / p->nwork;
    int b0 = example_at(s, first), b1 = t + 1 == p->nwork ? s->B : example_at(s, last);

    return (struct span){ b0, b1, (size_t)(s->offset ? s->offset[b0] : b0),
                          (size_t)(s->offset ? s->offset[b1] : b1) };
}

void hps_places_count_part(struct hps_places *p, int t)
{
    uint64_t key[CHUNK];

    for (const struct hps_places_slot *s = p->slot; s < p->slot + p->nslot; s++) {
        struct span span = span_of(p, s, t);
        for (size_t at = span.from; at < span.to; at += CHUNK) {
            size_t n = span.to - at < CHUNK ? span.to - at : CHUNK;
            make_keys(p, s, at, n, key);
            if (p->lie)
                keep_rows(n, key, p->room->lies.host + s->at + at);
            hps_radix_count(p->radix, t, n, key);
        }
    }
}

/* Tails of n ids of a slot from `at` on: bag, sack of it, and place in that where an index wants to
 * know; *b: the example under way. */
static void make_tails(const struct hps_places *p, const struct hps_places_slot *s, size_t at,
                       size_t n, int *b, uint64_t *tail)
{
    const int *offset = s->offset;
    const uint64_t step = (uint64_t)s->layer->nslot << p->place_bits;
    const uint64_t one = p->index;
    const uint64_t first = (uint64_t)s->q << p->sack_bits | (uint64_t)s->i;
    uint64_t sack = (first << p->place_bits) + (uint64_t)*b * step;

    if (!offset) {
        for (size_t c = 0; c < n; c++, sack += step)
            tail[c] = sack;
        *b += (int)n;
        return;
    }
    for (size_t c = 0; c < n;) {
        for (; (size_t)offset[*b + 1] <= at + c; ++*b)
            sack += step;
        size_t end = (size_t)offset[*b + 1] - at;
        uint64_t place = one * (at + c - (size_t)offset[*b]);
        for (end = end < n ? end : n; c < end; c++, place += one)
            tail[c] = sack | place;
    }
}

void hps_places_put_part(struct hps_places *p, int t)
{
    uint64_t key[CHUNK], tail[CHUNK];

    for (const struct hps_places_slot *s = p->slot; s < p->slot + p->nslot; s++) {
        struct span span = span_of(p, s, t);
        int b = span.b0;
        for (size_t at = span.from; at < span.to; at += CHUNK) {
            size_t n = span.to - at < CHUNK ? span.to - at : CHUNK;
            make_keys(p, s, at, n, key);
            make_tails(p, s, at, n, &b, tail);
            hps_radix_put(p->radix, t, n, key, tail);
        }
    }
}

