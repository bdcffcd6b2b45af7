/* places_rows.c - sorted words to places: a run of words with the same row at a time. */
#include "model/places_own.h"

#define INLINE __attribute__((always_inline)) static inline

enum { SPAN = 256 };            /* words in work at once */

/* A run of words with the same row. */
struct run {
    const struct hps_bucket *bucket;
    size_t at, n;                       /* words at .. at + n - 1 of it */
    uint64_t key;
};

struct walk {
    const struct hps_places *p;
    int tail_bits;
    uint64_t tail;                      /* mask */
    uint64_t local;                     /* mask */
};

static struct walk walk_of(const struct hps_places *p)
{
    int tail_bits = p->sack_bits + p->place_bits;

    return (struct walk){ p, tail_bits, ((uint64_t)1 << tail_bits) - 1,
                          ((uint64_t)1 << p->local_bits) - 1 };
}

static inline uint64_t word_of(const struct hps_bucket *b, size_t i)
{
    return hps_bucket_word(b->word, b->wide, i);
}

static inline struct run run_at(const struct walk *w, const struct hps_bucket *b, size_t i)
{
    uint64_t key = word_of(b, i) >> w->tail_bits;
    size_t end = i + 1;

    while (end < b->n && word_of(b, end) >> w->tail_bits == key)
        end++;
    return (struct run){ b, i, end - i, b->key | key };
}

/* Of the i-th word of a run: the sack. */
static inline size_t sack_of(const struct walk *w, const struct run *run, size_t i)
{
    return (word_of(run->bucket, run->at + i) & w->tail) >> w->p->place_bits;
}

/* The bag that a sack belongs to, from bag q on. */
static inline size_t bag_of(const struct hps_places *p, size_t sack, size_t q)
{
    while (sack >= p->end[q])
        q++;
    return q;
}

/* Where the rows of a run are counted: by the micro-batch that has it first, and its owner. */
static inline size_t pair_of(const struct hps_places *p, const struct run *run, size_t q)
{
    size_t m = p->M > 1 ? q / (size_t)p->nlayer : 0;
    return m * (size_t)p->parts + (p->parts > 1 ? run->key >> p->local_bits : 0);
}

/* How many of a run's words, from word i on, are in bag q. */
static inline size_t words_of(const struct walk *w, const struct run *run, size_t i, size_t q)
{
    size_t n = i;

    if (q + 1 == hps_places_bags(w->p))
        return run->n - i;
    while (n < run->n && sack_of(w, run, n) < w->p->end[q])
        n++;
    return n - i;
}

static void count_run(const struct walk *w, struct hps_places_counts *c, const struct run *run)
{
    size_t q = bag_of(w->p, sack_of(w, run, 0), 0);

    c->rows[pair_of(w->p, run, q)]++;
    for (size_t i = 0, n; i < run->n; i += n) {
        q = bag_of(w->p, sack_of(w, run, i), q);
        n = words_of(w, run, i, q);
        c->bag_rows[q]++;
        c->bag_ids[q] += n;
    }
}

/* Two words of different rows differ in more than their tails. */
INLINE bool parted(const void *word, bool wide, size_t i, uint64_t tail)
{
    return (hps_bucket_word(word, wide, i) ^ hps_bucket_word(word, wide, i - 1)) > tail;
}

/* One bag, one owner: what is left to count is where rows begin. */
INLINE void count_simple(const struct walk *w, struct hps_places_counts *c,
                         const struct hps_bucket *b, bool wide)
{
    const void *word = b->word;
    const uint64_t tail = w->tail;
    uint64_t key = b->key | hps_bucket_word(word, wide, 0) >> w->tail_bits;
    size_t n = 1, pair = w->p->parts > 1 ? key >> w->p->local_bits : 0;

    for (size_t i = 1; i < b->n; i++)
        n += parted(word, wide, i, tail);
    c->rows[pair] += n;
    c->bag_rows[0] += n;
    c->bag_ids[0] += b->n;
}

static bool is_simple(const struct walk *w, const struct hps_bucket *b)
{
    if (b->n == 0 || hps_places_bags(w->p) > 1)
        return false;
    uint64_t first = b->key | word_of(b, 0) >> w->tail_bits;
    uint64_t last = b->key | word_of(b, b->n - 1) >> w->tail_bits;
    return first >> w->p->local_bits == last >> w->p->local_bits;
}

static void count_bucket(const struct walk *w, struct hps_places_counts *c,
                         const struct hps_bucket *b)
{
    if (is_simple(w, b)) {
        if (b->wide)
            count_simple(w, c, b, true);
        else
            count_simple(w, c, b, false);
        return;
    }
    for (size_t k = 0; k < b->n;) {
        struct run run = run_at(w, b, k);
        count_run(w, c, &run);
        k += run.n;
    }
}

void hps_places_sort_part(struct hps_places *p, int t)
{
    struct walk w = walk_of(p);
    struct hps_places_counts c = hps_places_counts(p, t);
    int last = hps_radix_cut(p->radix, t + 1, p->nwork);

    for (int i = hps_radix_cut(p->radix, t, p->nwork); i < last; i++) {
        hps_radix_sort(p->radix, t, i);
        struct hps_bucket b = hps_radix_bucket(p->radix, i);
        count_bucket(&w, &c, &b);
    }
}

/* A run's row gets its place; its bags learn of it, in both directions. */
static inline void place_run(const struct walk *w, struct hps_places_counts *c,
                             const struct run *run)
{
    const struct hps_places *p = w->p;
    uint64_t inside = ((uint64_t)1 << p->place_bits) - 1;
    int *index = p->room->index.host, *from = p->room->from.host;
    size_t q = bag_of(p, sack_of(w, run, 0), 0);
    size_t place = c->rows[pair_of(p, run, q)]++;

    p->room->row.host[place] = (int)(run->key & w->local);
    for (size_t i = 0; i < run->n;) {
        q = bag_of(p, sack_of(w, run, i), q);
        size_t n = words_of(w, run, i, q), row = c->bag_rows[q]++, at = c->bag_ids[q];
        size_t before = q > 0 ? p->end[q - 1] : 0;
        p->room->place.host[row] = (int)place;
        p->room->start.host[row + q] = (int)at;
        c->bag_ids[q] += n;
        for (; n > 0; n--, i++, at++) {
            size_t sack = sack_of(w, run, i);
            uint64_t in_sack = word_of(run->bucket, run->at + i) & inside;
            if (p->index)
                index[(size_t)p->sack[sack] + in_sack] = (int)place;
            from[at] = (int)(sack - before);
        }
    }
}

/* Where rows begin among the words k0 .. k1-1 of a bucket, without branches. Returns how many. */
INLINE size_t begins_of(const void *word, bool wide, size_t k0, size_t k1, uint64_t tail,
                        uint32_t *begin)
{
    size_t n = k0 == 0;

    begin[0] = 0;
    for (size_t k = k0 + n; k < k1; k++) {
        begin[n] = (uint32_t)k;
        n += parted(word, wide, k, tail);
    }
    return n;
}

/* The same for a bucket of one bag and one owner. */
INLINE void place_simple(const struct walk *w, struct hps_places_counts *c,
                         const struct hps_bucket *b, bool wide)
{
    const struct hps_places *p = w->p;
    const void *word = b->word;
    const int shift = w->tail_bits, place_bits = p->place_bits, at = (int)c->bag_ids[0];
    const uint64_t tail = w->tail, local = w->local, key = b->key;
    uint64_t owner = (key | hps_bucket_word(word, wide, 0) >> shift) >> p->local_bits;
    size_t pair = p->parts > 1 ? owner : 0;
    uint32_t begin[SPAN];

    for (size_t k = 0, end; k < b->n; k = end) {
        end = k + SPAN < b->n ? k + SPAN : b->n;
        size_t n = begins_of(word, wide, k, end, tail, begin), first = c->rows[pair];
        int *restrict row = p->room->row.host + first;
        int *restrict place = p->room->place.host + c->bag_rows[0];
        int *restrict start = p->room->start.host + c->bag_rows[0];
        int *restrict from = p->room->from.host + at;
        for (size_t i = 0; i < n; i++) {
            row[i] = (int)((key | hps_bucket_word(word, wide, begin[i]) >> shift) & local);
            start[i] = at + (int)begin[i];
            place[i] = (int)(first + i);
        }
        for (size_t i = k; i < end; i++)
            from[i] = (int)((hps_bucket_word(word, wide, i) & tail) >> place_bits);
        c->rows[pair] += n;
        c->bag_rows[0] += n;
    }
    c->bag_ids[0] += b->n;
}

/* Where the bags of such a bucket want an index: `from`, `start` and `place` of it are there. */
static void index_simple(const struct walk *w, const struct hps_places_counts *c,
                         const struct hps_bucket *b)
{
    const struct hps_places *p = w->p;
    const uint64_t inside = ((uint64_t)1 << p->place_bits) - 1;
    const int *from = p->room->from.host, *start = p->room->start.host;
    size_t to = c->bag_ids[0] - b->n, i = c->bag_rows[0];

    while (start[i - 1] > (int)to)
        i--;
    for (size_t k = 0; k < b->n; k++, to++) {
        i += i < c->bag_rows[0] && start[i] <= (int)to;
        p->room->index.host[(size_t)p->sack[from[to]] + (word_of(b, k) & inside)] =
            p->room->place.host[i - 1];
    }
}

static void place_bucket(const struct walk *w, struct hps_places_counts *c,
                         const struct hps_bucket *b)
{
    if (is_simple(w, b)) {
        if (b->wide)
            place_simple(w, c, b, true);
        else
            place_simple(w, c, b, false);
        if (w->p->index)
            index_simple(w, c, b);
        return;
    }
    for (size_t k = 0; k < b->n;) {
        struct run run = run_at(w, b, k);
        place_run(w, c, &run);
        k += run.n;
    }
}

void hps_places_place_part(struct hps_places *p, int t)
{
    struct walk w = walk_of(p);
    struct hps_places_counts c = hps_places_counts(p, t);
    int last = hps_radix_cut(p->radix, t + 1, p->nwork);

    for (int i = hps_radix_cut(p->radix, t, p->nwork); i < last; i++) {
        struct hps_bucket b = hps_radix_bucket(p->radix, i);
        place_bucket(&w, &c, &b);
    }
}
