/* hot_rows.c - a row is hot if it occurs twice within a short window of a sample of the ids. */
#include "ps/hot_rows.h"

#include <string.h>

#include "base/mem.h"
#include "base/multiversion.h"
#include "base/radix.h"

/* The sample of a slot is one id in SHARE, or in the numbers of a row if these are more; at least
 * MIN_SAMPLE ids, and in a micro-batch about MAX_SAMPLE at most. That finds most rows that occur
 * more often than twice SHARE; to request a row by itself costs little beside so many ids. */
enum { SHARE = 16, MIN_SAMPLE = 64, MAX_SAMPLE = 1 << 16 };
/* The hash table has one word for so many ids of the sample. */
enum { IDS_A_WORD = MAX_SAMPLE / HPS_HOT_ROWS_MAX };

static const uint64_t nothing = UINT64_MAX;     /* an empty word: keys have fewer bits */

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

/* Enter n keys of the sample. seen: the last key of each hash. Of two hot rows with one hash the
 * first stays. Branchless, since the branches would be unpredictable. */
static void enter(struct hps_hot_rows *p, size_t n, const uint64_t *key, uint64_t *seen)
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

/* Number the hot rows by owner, then hash. */
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
    for (int q = parts; q > 0; q--)             /* first[q] had advanced to first[q + 1] */
        p->first[q] = p->first[q - 1];
    p->first[0] = 0;
}

/* Ids of the sample of a slot, where the micro-batch has nslot slots. */
static size_t sample_size(const struct hps_csr_slot *slot, size_t nslot)
{
    size_t nid = hps_csr_before(slot, slot->B), max = MAX_SAMPLE / nslot + 1;
    size_t n = nid / (slot->layer->dim > SHARE ? (size_t)slot->layer->dim : SHARE);

    n = n > MIN_SAMPLE ? n : MIN_SAMPLE;
    n = n < max ? n : max;
    return n < nid ? n : nid;
}

/* Clear a hash table for the samples of the slots first .. end-1. */
static void clear_hash(struct hps_hot_rows *p, const struct hps_csr_slot *first,
                      const struct hps_csr_slot *end)
{
    size_t all = 0, nslot = (size_t)(end - first);

    for (const struct hps_csr_slot *slot = first; slot < end; slot++)
        all += sample_size(slot, nslot);
    p->bits = hps_radix_bits(all / IDS_A_WORD);
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
    clear_hash(p, first, end);
    memset(seen, 0xff, HPS_HOT_ROWS_SEEN * sizeof *seen);
    for (const struct hps_csr_slot *slot = first; slot < end; slot++)
        for (size_t at = 0, n = sample_size(slot, nslot), some; at < n; at += some) {
            some = n - at < HPS_CSR_CHUNK ? n - at : HPS_CSR_CHUNK;
            hps_csr_keys(s, slot, at, some, key);
            enter(p, some, key, seen);
        }
    number(p, s->parts, s->local_bits);
}

HPS_MULTIVERSION static void mark_keys(const uint64_t *restrict word, int bits, size_t n,
                                       uint64_t *restrict key, uint64_t other)
{
    for (size_t c = 0; c < n; c++) {
        uint64_t w = word[slot_of(key[c], bits)];
        key[c] = w >> HPS_HOT_ROWS_BITS == key[c] ? other | (w & (HPS_HOT_ROWS_MAX - 1)) : key[c];
    }
}

void hps_hot_rows_mark(const struct hps_hot_rows *p, size_t n, uint64_t *key, uint64_t other)
{
    if (p->n > 0) mark_keys(p->word, p->bits, n, key, other);
}
