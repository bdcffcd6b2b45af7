/* places_rows.c - sorted words to places: a run of words with the same row at a time. */
#include "model/places_own.h"

/* A run of words with the same row. */
struct run {
    const uint64_t *word;
    size_t n;
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

static inline struct run run_at(const struct walk *w, const struct hps_bucket *b, size_t i)
{
    uint64_t key = b->word[i] >> w->tail_bits;
    size_t end = i + 1;

    while (end < b->n && b->word[end] >> w->tail_bits == key)
        end++;
    return (struct run){ b->word + i, end - i, b->key | key };
}

static inline size_t sack_of(const struct walk *w, uint64_t word)
{
    return (word & w->tail) >> w->p->place_bits;
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
    while (n < run->n && sack_of(w, run->word[n]) < w->p->end[q])
        n++;
    return n - i;
}

static void count_run(const struct walk *w, struct hps_places_counts *c, const struct run *run)
{
    size_t q = bag_of(w->p, sack_of(w, run->word[0]), 0);

    c->rows[pair_of(w->p, run, q)]++;
    for (size_t i = 0, n; i < run->n; i += n) {
        q = bag_of(w->p, sack_of(w, run->word[i]), q);
        n = words_of(w, run, i, q);
        c->bag_rows[q]++;
        c->bag_ids[q] += n;
    }
}

/* One bag, one owner: what is left to count is where a word's row is not that of the one before. */
static void count_simple(const struct walk *w, struct hps_places_counts *c,
                         const struct hps_bucket *b)
{
    uint64_t key = b->key | b->word[0] >> w->tail_bits;
    size_t n = 1, pair = w->p->parts > 1 ? key >> w->p->local_bits : 0;

    for (size_t i = 1; i < b->n; i++)
        n += b->word[i] >> w->tail_bits != b->word[i - 1] >> w->tail_bits;
    c->rows[pair] += n;
    c->bag_rows[0] += n;
    c->bag_ids[0] += b->n;
}

static bool is_simple(const struct walk *w, const struct hps_bucket *b)
{
    uint64_t first = b->key | b->word[0] >> w->tail_bits;
    uint64_t last = b->key | b->word[b->n - 1] >> w->tail_bits;

    return hps_places_bags(w->p) == 1 && first >> w->p->local_bits == last >> w->p->local_bits;
}

void hps_places_sort_part(struct hps_places *p, int t)
{
    struct walk w = walk_of(p);
    struct hps_places_counts c = hps_places_counts(p, t);
    int last = hps_radix_cut(p->radix, t + 1, p->nwork);

    for (int i = hps_radix_cut(p->radix, t, p->nwork); i < last; i++) {
        hps_radix_sort(p->radix, t, i);
        struct hps_bucket b = hps_radix_bucket(p->radix, i);
        if (b.n > 0 && is_simple(&w, &b))
            count_simple(&w, &c, &b);
        else
            for (size_t k = 0; k < b.n;) {
                struct run run = run_at(&w, &b, k);
                count_run(&w, &c, &run);
                k += run.n;
            }
    }
}

/* A run's row gets its place; its bags learn of it, in both directions. */
static inline void place_run(const struct walk *w, struct hps_places_counts *c,
                             const struct run *run)
{
    const struct hps_places *p = w->p;
    uint64_t inside = ((uint64_t)1 << p->place_bits) - 1;
    int *index = p->room->index.host, *from = p->room->from.host;
    size_t q = bag_of(p, sack_of(w, run->word[0]), 0);
    size_t place = c->rows[pair_of(p, run, q)]++;

    p->room->row.host[place] = (int)(run->key & w->local);
    for (size_t i = 0; i < run->n;) {
        q = bag_of(p, sack_of(w, run->word[i]), q);
        size_t n = words_of(w, run, i, q), row = c->bag_rows[q]++, at = c->bag_ids[q];
        size_t before = q > 0 ? p->end[q - 1] : 0;
        p->room->place.host[row] = (int)place;
        p->room->start.host[row + q] = (int)at;
        c->bag_ids[q] += n;
        for (; n > 0; n--, i++, at++) {
            size_t sack = sack_of(w, run->word[i]);
            if (p->index)
                index[(size_t)p->sack[sack] + (run->word[i] & inside)] = (int)place;
            from[at] = (int)(sack - before);
        }
    }
}

/* The same for a bucket of one bag and one owner. */
static void place_simple(const struct walk *w, struct hps_places_counts *c,
                         const struct hps_bucket *b)
{
    const struct hps_places *p = w->p;
    const int shift = w->tail_bits, place_bits = p->place_bits, *restrict sack = p->sack;
    const uint64_t tail = w->tail, inside = ((uint64_t)1 << place_bits) - 1;
    int *restrict row = p->room->row.host, *restrict place = p->room->place.host;
    int *restrict start = p->room->start.host, *restrict from = p->room->from.host;
    size_t pair = p->parts > 1 ? (b->key | b->word[0] >> shift) >> p->local_bits : 0;
    size_t next = c->rows[pair], at = c->bag_ids[0], i = c->bag_rows[0];
    uint64_t before = ~b->word[0] >> shift;             /* another row */

    for (size_t k = 0; k < b->n; k++) {
        uint64_t key = b->word[k] >> shift;
        if (key != before) {
            row[next] = (int)((b->key | key) & w->local);
            start[i] = (int)at;
            place[i++] = (int)next++;
            before = key;
        }
        from[at++] = (int)((b->word[k] & tail) >> place_bits);
    }
    if (p->index)
        for (size_t k = 0, j = c->bag_rows[0], to = c->bag_ids[0]; k < b->n; k++, to++) {
            j += j + 1 < i && start[j + 1] <= (int)to;
            p->room->index.host[(size_t)sack[from[to]] + (b->word[k] & inside)] = place[j];
        }
    c->rows[pair] = next;
    c->bag_rows[0] = i;
    c->bag_ids[0] = at;
}

void hps_places_place_part(struct hps_places *p, int t)
{
    struct walk w = walk_of(p);
    struct hps_places_counts c = hps_places_counts(p, t);
    int last = hps_radix_cut(p->radix, t + 1, p->nwork);

    for (int i = hps_radix_cut(p->radix, t, p->nwork); i < last; i++) {
        struct hps_bucket b = hps_radix_bucket(p->radix, i);
        bool simple = b.n > 0 && is_simple(&w, &b);
        if (simple)
            place_simple(&w, &c, &b);
        for (size_t k = 0; k < b.n && !simple;) {
            struct run run = run_at(&w, &b, k);
            place_run(&w, &c, &run);
            k += run.n;
        }
    }
}

