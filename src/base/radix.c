/* radix.c - a stable radix sort: one pass over memory into buckets, the others inside a cache. */
#include "base/radix.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/say.h"

enum { BUCKET = 1024, MOST_BITS = 10, DIGIT = 7, DIGITS = 1 << DIGIT, FEW = 16 };

struct hps_radix {
    int parts, bits, rest, tail_bits;   /* a bucket's number has `bits`, then come `rest`   */
    size_t n, largest, cap, spare_cap, count_cap;
    uint64_t *word;                     /* (n) by bucket                                     */
    uint64_t *spare;                    /* (parts, largest) what a bucket's odd passes make  */
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
    if (!r)
        return;
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

void hps_radix_begin(struct hps_radix *r, size_t n, int key_bits, int tail_bits, int parts)
{
    r->bits = 0;
    while (r->bits < MOST_BITS && r->bits < key_bits && n >> r->bits > BUCKET)
        r->bits++;
    r->rest = key_bits - r->bits;
    if (r->rest + tail_bits > 64)
        HPS_DIE("%d bits of a row's number and %d of its bag's are more than a word has", r->rest,
                tail_bits);
    r->tail_bits = tail_bits;
    r->parts = parts;
    r->n = n;
    hps_mem_grow(&r->word, &r->cap, n, sizeof *r->word);
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
        if (at - begin[b] > r->largest)
            r->largest = at - begin[b];
    }
    begin[n] = at;
    assert(at <= r->n);
    hps_mem_grow(&r->spare, &r->spare_cap, (size_t)r->parts * r->largest, sizeof *r->spare);
}

void hps_radix_put(struct hps_radix *r, int t, size_t n, const uint64_t *key, const uint64_t *tail)
{
    size_t *next = r->count + (size_t)t * buckets(r);
    uint64_t below = ((uint64_t)1 << r->rest) - 1;

    for (size_t i = 0; i < n; i++)
        r->word[next[key[i] >> r->rest]++] = (key[i] & below) << r->tail_bits | tail[i];
}

int hps_radix_cut(const struct hps_radix *r, int t, int n)
{
    const size_t *begin = begins(r);
    size_t low = 0, high = buckets(r), want = begin[high] / (size_t)n * (size_t)t;

    if (t == n)
        return (int)high;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (begin[middle] < want)
            low = middle + 1;
        else
            high = middle;
    }
    return (int)low;
}

/* One digit: from one place to another, in order. */
static void pass(const uint64_t *from, uint64_t *to, size_t n, int shift, int bits)
{
    uint32_t at[DIGITS] = { 0 }, sum = 0;
    uint64_t mask = ((uint64_t)1 << bits) - 1;

    for (size_t i = 0; i < n; i++)
        at[from[i] >> shift & mask]++;
    for (size_t d = 0; d <= mask; d++) {
        uint32_t here = at[d];
        at[d] = sum;
        sum += here;
    }
    for (size_t i = 0; i < n; i++)
        to[at[from[i] >> shift & mask]++] = from[i];
}

/* Few words are put into their places one by one. */
static void insert(uint64_t *word, size_t n, int shift)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t w = word[i];
        size_t at = i;
        for (; at > 0 && word[at - 1] >> shift > w >> shift; at--)
            word[at] = word[at - 1];
        word[at] = w;
    }
}

struct hps_bucket hps_radix_bucket(const struct hps_radix *r, int b)
{
    const size_t *begin = begins(r);

    return (struct hps_bucket){ begin[b + 1] - begin[b], (uint64_t)b << r->rest,
                                r->word + begin[b] };
}

/* There and back: an even number of passes. */
void hps_radix_sort(struct hps_radix *r, int part, int b)
{
    const size_t *begin = begins(r);
    size_t n = begin[b + 1] - begin[b];
    uint64_t *word = r->word + begin[b], *spare = r->spare + (size_t)part * r->largest;
    int passes = (r->rest + 2 * DIGIT - 1) / (2 * DIGIT) * 2;

    if (n <= FEW)
        insert(word, n, r->tail_bits);
    for (int p = 0; p < passes && n > FEW; p++) {
        int first = r->rest * p / passes, last = r->rest * (p + 1) / passes;
        pass(p % 2 ? spare : word, p % 2 ? word : spare, n, r->tail_bits + first, last - first);
    }
}
