/* hot_rows.c - a row is hot that is named twice in a short while. */
#include "ps/hot_rows.h"

#include <string.h>

#include "base/mem.h"
#include "base/multiversion.h"
#include "base/radix.h"

/* Of a slot's ids one in so many are looked at, or in as many as a row has numbers; but so many at
 * least, and of a micro-batch not many more than so many. So most rows that are named twice as
 * often are found: what it takes to ask for a row by itself is little beside that. */
enum { SHARE = 16, LEAST = 64, MOST_SEEN = 1 << 16 };
/* Of so many that are looked at one hash is there. */
enum { LOOKS = MOST_SEEN / HPS_HOT_ROWS_MOST };

static const uint64_t nothing = UINT64_MAX;     /* the word of no key: they have fewer bits */

/* Multiplicative (Knuth). */
HPS_INLINE uint32_t hash(uint64_t key)
{
    return (uint32_t)(key ^ key >> 32) * 2654435761u;
}

HPS_INLINE size_t slot_of(uint64_t key, int bits)
{
    return (uint64_t)hash(key) >> (32 - bits);
}

void hps_hot_rows_init(struct hps_hot_rows *p, int parts)
{
    *p = (struct hps_hot_rows){ .first = hps_mem_new((size_t)parts + 1, sizeof *p->first) };
}

void hps_hot_rows_done(struct hps_hot_rows *p)
{
    hps_mem_free(p->first);
    hps_mem_free(p->key);
    hps_mem_free(p->word);
}

/* seen: keys that were met lately, by hash: while so many pass, most. Of two hot rows of one
 * hash the first stays. Without branches: it is hard to say which id was met before. */
static void meet(struct hps_hot_rows *p, size_t n, const uint64_t *key, uint64_t *seen)
{
    const int bits = p->bits;

    for (size_t c = 0; c < n; c++) {
        uint64_t *last = &seen[hash(key[c]) >> (32 - HPS_HOT_ROWS_SEEN_BITS)];
        uint64_t *word = &p->word[slot_of(key[c], bits)];
        uint64_t its = key[c] << HPS_HOT_ROWS_BITS, other = *word, before = *last;
        *word = other == nothing && before == key[c] ? its : other;
        *last = other == its ? before : key[c];
    }
}

/* Numbers by owner, then hash. */
static void number(struct hps_hot_rows *p, int parts, int local_bits)
{
    const int size = 1 << p->bits;

    memset(p->first, 0, ((size_t)parts + 1) * sizeof *p->first);
    for (int i = 0; i < size; i++)
        if (p->word[i] != nothing) p->first[(p->word[i] >> HPS_HOT_ROWS_BITS >> local_bits) + 1]++;
    for (int q = 0; q < parts; q++)
        p->first[q + 1] += p->first[q];
    p->n = p->first[parts];
    hps_mem_grow(&p->key, &p->key_cap, (size_t)p->n + 1, sizeof *p->key);
    for (int i = 0; i < size; i++)
        if (p->word[i] != nothing) {
            uint64_t key = p->word[i] >> HPS_HOT_ROWS_BITS;
            int at = p->first[key >> local_bits]++;
            p->key[at] = key;
            p->word[i] |= (uint64_t)at;
        }
    for (int q = parts; q > 0; q--)             /* each had become the next one's */
        p->first[q] = p->first[q - 1];
    p->first[0] = 0;
}

/* Of how many ids of a slot, of which the micro-batch has nslot. */
static size_t looks(const struct hps_csr_slot *slot, size_t nslot)
{
    size_t nid = hps_csr_before(slot, slot->B), most = MOST_SEEN / nslot + 1;
    size_t n = nid / (slot->layer->dim > SHARE ? (size_t)slot->layer->dim : SHARE);

    n = n > LEAST ? n : LEAST;
    n = n < most ? n : most;
    return n < nid ? n : nid;
}

/* Room for the hashes of what will be looked at in the slots first .. end-1. */
static void make_room(struct hps_hot_rows *p, const struct hps_csr_slot *first,
                      const struct hps_csr_slot *end)
{
    size_t all = 0, nslot = (size_t)(end - first);

    for (const struct hps_csr_slot *slot = first; slot < end; slot++)
        all += looks(slot, nslot);
    p->bits = hps_radix_bits(all / LOOKS);
    p->bits = p->bits < HPS_HOT_ROWS_BITS ? p->bits : HPS_HOT_ROWS_BITS;
    hps_mem_grow(&p->word, &p->word_cap, (size_t)1 << p->bits, sizeof *p->word);
    memset(p->word, 0xff, sizeof *p->word << p->bits);
}

void hps_hot_rows_find(struct hps_hot_rows *p, const struct hps_csr *s, int m, uint64_t *seen)
{
    size_t nslot = (size_t)(s->nslot / s->M);
    const struct hps_csr_slot *first = s->slot + (size_t)m * nslot, *end = first + nslot;
    uint64_t key[HPS_CSR_CHUNK];

    if (s->key_bits + HPS_HOT_ROWS_BITS > 63) /* no word holds a key and its number */
        end = first;
    make_room(p, first, end);
    memset(seen, 0xff, HPS_HOT_ROWS_SEEN * sizeof *seen);
    for (const struct hps_csr_slot *slot = first; slot < end; slot++)
        for (size_t at = 0, n = looks(slot, nslot), some; at < n; at += some) {
            some = n - at < HPS_CSR_CHUNK ? n - at : HPS_CSR_CHUNK;
            hps_csr_keys(s, slot, at, some, key);
            meet(p, some, key, seen);
        }
    number(p, s->parts, s->local_bits);
}

HPS_MULTIVERSION static void mark_keys(const uint64_t *restrict word, int bits, size_t n,
                                       uint64_t *restrict key, uint64_t other)
{
    for (size_t c = 0; c < n; c++) {
        uint64_t w = word[slot_of(key[c], bits)];
        key[c] = w >> HPS_HOT_ROWS_BITS == key[c] ? other | (w & (HPS_HOT_ROWS_MOST - 1)) : key[c];
    }
}

void hps_hot_rows_mark(const struct hps_hot_rows *p, size_t n, uint64_t *key, uint64_t other)
{
    if (p->n > 0) mark_keys(p->word, p->bits, n, key, other);
}
