/* radix.c - a stable radix sort: one pass over memory into buckets, the others inside a cache. */
#include "base/radix.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/multiversion.h"
#include "base/quit.h"

/* BUCKET: the largest bucket, where that does not take too many of them, since a cache line of each
 * is written at the same time and all should fit the first-level cache. MIN_BUCKET: fewer words a
 * bucket are not worth another bit. FEW: so few words are sorted by insertion. */
enum { BUCKET = 8192, MIN_BUCKET = 96, MAX_BITS = 10, DIGIT = 8, DIGITS = 1 << DIGIT, FEW = 16 };

/* Words that are looked at for a popular key, and how many make that worth it. */
enum { LOOKS = 16, CROWD = 256 };

struct hps_radix {
    int parts, bits, rest, tail_bits;   /* a bucket's number has `bits`, then come `rest`   */
    bool wide;                          /* words of 64 bits, else of 32                     */
    size_t n, largest, cap, spare_cap, count_cap;
    char *word;                         /* (n) by bucket                                     */
    char *spare;                        /* (parts, largest) what a bucket's odd passes make  */
    size_t *count;                      /* (parts + 1, buckets) words, then where the next goes;
                                           the last: where buckets begin                    */
};

int hps_radix_bits(uint64_t n)
{
    int bits = 0;

    while (bits < 63 && (uint64_t)1 << bits < n)
        bits++;
    return bits;
}

struct hps_radix *hps_radix_new(void)
{
    return hps_mem_new(1, sizeof(struct hps_radix));
}

void hps_radix_free(struct hps_radix *r)
{
    if (!r) return;
    hps_mem_free(r->word);
    hps_mem_free(r->spare);
    hps_mem_free(r->count);
    hps_mem_free(r);
}

static size_t buckets(const struct hps_radix *r)
{
    return (size_t)1 << r->bits;
}

/* Where each bucket begins, and one more: behind the last. */
static size_t *begins(const struct hps_radix *r)
{
    return r->count + (size_t)r->parts * buckets(r);
}

static size_t size_of(const struct hps_radix *r)
{
    return r->wide ? sizeof(uint64_t) : sizeof(uint32_t);
}

/* Buckets for a cache, and more of them where that spares passes or makes words short. */
static int bits_of(size_t n, int key_bits, int tail_bits)
{
    int bits = 0;

    while (bits < MAX_BITS && bits < key_bits && n >> bits > MIN_BUCKET &&
           (n >> bits > BUCKET || key_bits - bits > 2 * DIGIT || key_bits - bits + tail_bits > 32))
        bits++;
    return bits;
}

void hps_radix_begin(struct hps_radix *r, size_t n, int key_bits, int tail_bits, int parts)
{
    r->bits = bits_of(n, key_bits, tail_bits);
    r->rest = key_bits - r->bits;
    r->wide = r->rest + tail_bits > 32;
    if (r->rest + tail_bits > 64)
        HPS_DIE("%d bits of a row's number and %d of its bag's are more than a word has", r->rest,
                tail_bits);
    r->tail_bits = tail_bits;
    r->parts = parts;
    r->n = n;
    hps_mem_grow(&r->word, &r->cap, (n + 1) * size_of(r), 1);   /* never NULL */
    size_t ncount = (size_t)(parts + 1) * buckets(r) + 1;
    hps_mem_grow(&r->count, &r->count_cap, ncount, sizeof *r->count);
    memset(r->count, 0, ncount * sizeof *r->count);
}

void hps_radix_count(struct hps_radix *r, int t, size_t n, const uint64_t *key)
{
    size_t *count = r->count + (size_t)t * buckets(r);

    for (size_t i = 0; i < n; i++)
        count[key[i] >> r->rest]++;
}

void hps_radix_deal(struct hps_radix *r)
{
    size_t at = 0, n = buckets(r), *begin = begins(r);

    r->largest = 0;
    for (size_t b = 0; b < n; b++) {
        begin[b] = at;
        for (int t = 0; t < r->parts; t++) {
            size_t *count = &r->count[(size_t)t * n + b], here = *count;
            *count = at;
            at += here;
        }
        if (at - begin[b] > r->largest) r->largest = at - begin[b];
    }
    begin[n] = at;
    assert(at <= r->n);
    hps_mem_grow(&r->spare, &r->spare_cap, (size_t)r->parts * (r->largest + 1) * size_of(r), 1);
}

HPS_INLINE void set_word(void *word, bool wide, size_t i, uint64_t value)
{
    if (wide)
        ((uint64_t *)word)[i] = value;
    else
        ((uint32_t *)word)[i] = (uint32_t)value;
}

/* Many lines are written at once, and have mostly left the cache since the step before: the next
 * one of each is fetched while there is time. */
HPS_INLINE void put_words(struct hps_radix *r, int t, size_t n, const uint64_t *key,
                          const uint64_t *tail, bool wide)
{
    size_t *restrict next = r->count + (size_t)t * buckets(r);
    uint64_t below = ((uint64_t)1 << r->rest) - 1;
    const int rest = r->rest, tail_bits = r->tail_bits;
    const size_t line = 64, size = wide ? sizeof(uint64_t) : sizeof(uint32_t);
    char *word = r->word;

    for (size_t i = 0; i < n; i++) {
        size_t at = next[key[i] >> rest]++;
        __builtin_prefetch(word + at * size + line, 1);
        set_word(word, wide, at, (key[i] & below) << tail_bits | tail[i]);
    }
}

void hps_radix_put(struct hps_radix *r, int t, size_t n, const uint64_t *key, const uint64_t *tail)
{
    if (r->wide)
        put_words(r, t, n, key, tail, true);
    else
        put_words(r, t, n, key, tail, false);
}

int hps_radix_cut(const struct hps_radix *r, int t, int n)
{
    const size_t *begin = begins(r);
    size_t low = 0, high = buckets(r), want = begin[high] / (size_t)n * (size_t)t;

    if (t == n) return (int)high;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (begin[middle] < want)
            low = middle + 1;
        else
            high = middle;
    }
    return (int)low;
}

/* Counters become places. */
static void add_up(uint32_t at[DIGITS], int bits)
{
    uint32_t sum = 0;

    for (int d = 0; d < 1 << bits; d++) {
        uint32_t here = at[d];
        at[d] = sum;
        sum += here;
    }
}

/* One digit: from one place to another, in order. */
HPS_INLINE void deal(const void *from, void *to, size_t n, int shift, int bits, uint32_t at[DIGITS],
                     bool wide)
{
    const uint64_t mask = ((uint64_t)1 << bits) - 1;

    for (size_t i = 0; i < n; i++) {
        uint64_t w = hps_bucket_word(from, wide, i);
        set_word(to, wide, at[w >> shift & mask]++, w);
    }
}

/* Two digits, the lower one first: there and back. */
HPS_INLINE void two_passes(void *word, void *spare, size_t n, int shift, int low, int high,
                           bool wide)
{
    uint32_t first[DIGITS] = { 0 }, second[DIGITS] = { 0 };
    const uint64_t low_mask = ((uint64_t)1 << low) - 1, high_mask = ((uint64_t)1 << high) - 1;

    for (size_t i = 0; i < n; i++) {
        uint64_t w = hps_bucket_word(word, wide, i) >> shift;
        first[w & low_mask]++;
        second[w >> low & high_mask]++;
    }
    add_up(first, low);
    add_up(second, high);
    deal(word, spare, n, shift, low, first, wide);
    deal(spare, word, n, shift + low, high, second, wide);
}

/* Few words are put into their places one by one. */
HPS_INLINE void insert(void *word, size_t n, int shift, bool wide)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t w = hps_bucket_word(word, wide, i), before;
        size_t at = i;
        for (; at > 0 && (before = hps_bucket_word(word, wide, at - 1)) >> shift > w >> shift; at--)
            set_word(word, wide, at, before);
        set_word(word, wide, at, w);
    }
}

HPS_INLINE void sort_digits(const struct hps_radix *r, void *word, void *spare, size_t n, bool wide)
{
    int pairs = (r->rest + 2 * DIGIT - 1) / (2 * DIGIT);

    if (n <= FEW) {
        insert(word, n, r->tail_bits, wide);
        return;
    }
    for (int p = 0; p < pairs; p++) {
        int first = r->rest * p / pairs, last = r->rest * (p + 1) / pairs, low = (last - first) / 2;
        two_passes(word, spare, n, r->tail_bits + first, low, last - first - low, wide);
    }
}

/* The key that most of some words have, if there is one. */
HPS_INLINE bool is_popular(const void *word, size_t n, int shift, bool wide, uint64_t *key)
{
    int lead = 0, has = 0;

    for (size_t i = 0; i < LOOKS; i++) {            /* who has most of them leads in the end */
        uint64_t its = hps_bucket_word(word, wide, n / LOOKS * i) >> shift;
        if (lead == 0) *key = its;
        lead += its == *key ? 1 : -1;
    }
    for (size_t i = 0; i < LOOKS; i++)
        has += hps_bucket_word(word, wide, n / LOOKS * i) >> shift == *key;
    return 2 * has > LOOKS;
}

/* How many words are below a key and have it: those come first, then these, then the others, each
 * in the order that they had. */
struct split {
    size_t below, same;
};

HPS_INLINE struct split split(void *word, void *spare, size_t n, int shift, uint64_t key, bool wide)
{
    size_t below = 0, same = 0, above = 0;

    for (size_t i = 0; i < n; i++) {                /* below + same + above = i */
        uint64_t w = hps_bucket_word(word, wide, i), its = w >> shift;
        set_word(word, wide, below, w);
        set_word(spare, wide, same, w);
        set_word(spare, wide, n - 1 - above, w);
        below += its < key;
        same += its == key;
        above += its > key;
    }
    for (size_t i = 0; i < same; i++)
        set_word(word, wide, below + i, hps_bucket_word(spare, wide, i));
    for (size_t i = 0; i < above; i++)
        set_word(word, wide, below + same + i, hps_bucket_word(spare, wide, n - 1 - i));
    return (struct split){ below, same };
}

/* A popular key goes past the passes, which would wait for its counters again and again. */
HPS_INLINE void sort_words(const struct hps_radix *r, char *word, char *spare, size_t n, bool wide)
{
    uint64_t key;

    if (r->rest == 0 || n < CROWD || !is_popular(word, n, r->tail_bits, wide, &key)) {
        sort_digits(r, word, spare, n, wide);
        return;
    }
    struct split s = split(word, spare, n, r->tail_bits, key, wide);
    size_t behind = s.below + s.same;
    sort_digits(r, word, spare, s.below, wide);
    sort_digits(r, word + behind * size_of(r), spare, n - behind, wide);
}

void hps_radix_sort(struct hps_radix *r, int part, int b)
{
    const size_t *begin = begins(r);
    size_t n = begin[b + 1] - begin[b], size = size_of(r);
    char *word = r->word + begin[b] * size, *spare = r->spare + (size_t)part * r->largest * size;

    if (r->wide)
        sort_words(r, word, spare, n, true);
    else
        sort_words(r, word, spare, n, false);
}

struct hps_bucket hps_radix_bucket(const struct hps_radix *r, int b)
{
    const size_t *begin = begins(r);

    return (struct hps_bucket){ begin[b + 1] - begin[b], (uint64_t)b << r->rest, r->wide,
                                r->word + begin[b] * size_of(r) };
}
