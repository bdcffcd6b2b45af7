/* places_words.c - the ids of a step as keys, with the sack and the place in it behind each. */
#include "base/clones.h"
#include "model/places_own.h"

enum { CHUNK = 256 };

HPS_CLONES static void keep_rows(size_t n, const uint64_t *restrict key, int *restrict row)
{
    for (size_t c = 0; c < n; c++)
        row[c] = (int)key[c];
}

void hps_places_count_part(void *places, int t)
{
    struct hps_places *p = places;
    const struct hps_sacks *k = &p->sacks;
    uint64_t key[CHUNK];

    for (const struct hps_sacks_slot *s = k->slot; s < k->slot + k->nslot; s++) {
        struct hps_sacks_span span = hps_sacks_span(k, s, t);
        for (size_t at = span.from; at < span.to; at += CHUNK) {
            size_t n = span.to - at < CHUNK ? span.to - at : CHUNK;
            hps_sacks_keys(k, s, at, n, key);
            if (p->lie)
                keep_rows(n, key, p->room->lies.host + s->at + at);
            hps_radix_count(p->radix, t, n, key);
        }
    }
}

/* Tails of n ids of a slot from `at` on: bag, sack of it, and place in that where an index wants to
 * know; *b: the example under way. */
static void make_tails(const struct hps_places *p, const struct hps_sacks_slot *s, size_t at,
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

void hps_places_put_part(void *places, int t)
{
    struct hps_places *p = places;
    const struct hps_sacks *k = &p->sacks;
    uint64_t key[CHUNK], tail[CHUNK];

    for (const struct hps_sacks_slot *s = k->slot; s < k->slot + k->nslot; s++) {
        struct hps_sacks_span span = hps_sacks_span(k, s, t);
        int b = span.b0;
        for (size_t at = span.from; at < span.to; at += CHUNK) {
            size_t n = span.to - at < CHUNK ? span.to - at : CHUNK;
            hps_sacks_keys(k, s, at, n, key);
            make_tails(p, s, at, n, &b, tail);
            hps_radix_put(p->radix, t, n, key, tail);
        }
    }
}

