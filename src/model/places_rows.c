/* places_rows.c - sorted words to places: those of a row follow each other. */
#include "base/clones.h"
#include "model/places_own.h"

enum { SPAN = 256 };            /* words in work at once */

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

/* A word: its row and owner, its sack, the bag of that, and whether it is the row's first one, and
 * the row's first one in the bag. */
struct item {
    uint64_t word, key;
    size_t sack, q;
    bool row, in_bag;
};

/* Word i of a bucket, after the item before it. */
HPS_INLINE struct item item_at(const struct walk *w, const struct hps_bucket *b, bool wide,
                               size_t i, const struct item *before)
{
    uint64_t word = hps_bucket_word(b->word, wide, i);
    size_t sack = (word & w->tail) >> w->p->place_bits, q = (size_t)w->p->bag_of[sack];
    bool row = (word ^ before->word) > w->tail;

    return (struct item){ word, b->key | word >> w->tail_bits, sack, q, row,
                          row || q != before->q };
}

/* What the first word of a bucket comes after: another row. */
HPS_INLINE struct item nothing(const struct hps_bucket *b, bool wide)
{
    return (struct item){ .word = b->n > 0 ? ~hps_bucket_word(b->word, wide, 0) : 0 };
}

/* Where an item's row is counted: by the micro-batch that has it first, and its owner. */
HPS_INLINE size_t pair_of(const struct hps_places *p, const struct item *k)
{
    return p->pair_at[k->q] + (p->parts > 1 ? k->key >> p->local_bits : 0);
}

HPS_INLINE void count_items(const struct walk *w, struct hps_places_counts *c,
                            const struct hps_bucket *b, bool wide)
{
    struct item k = nothing(b, wide);

    for (size_t i = 0; i < b->n; i++) {
        k = item_at(w, b, wide, i, &k);
        c->rows[pair_of(w->p, &k)] += k.row;
        c->bag_rows[k.q] += k.in_bag;
        c->bag_ids[k.q]++;
    }
}

/* Two words of different rows differ in more than their tails. */
HPS_INLINE bool parted(const void *word, bool wide, size_t i, uint64_t tail)
{
    return (hps_bucket_word(word, wide, i) ^ hps_bucket_word(word, wide, i - 1)) > tail;
}

/* One bag, one owner: what is left to count is where rows begin. */
HPS_INLINE void count_simple(const struct walk *w, struct hps_places_counts *c,
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
    uint64_t first = b->key | hps_bucket_word(b->word, b->wide, 0) >> w->tail_bits;
    uint64_t last = b->key | hps_bucket_word(b->word, b->wide, b->n - 1) >> w->tail_bits;
    return first >> w->p->local_bits == last >> w->p->local_bits;
}

HPS_INLINE void count_bucket(const struct walk *w, struct hps_places_counts *c,
                             const struct hps_bucket *b, bool wide)
{
    if (is_simple(w, b))
        count_simple(w, c, b, wide);
    else
        count_items(w, c, b, wide);
}

void hps_places_sort_part(struct hps_places *p, int t)
{
    struct walk w = walk_of(p);
    struct hps_places_counts c = hps_places_counts(p, t);
    int last = hps_radix_cut(p->radix, t + 1, p->nwork);

    for (int i = hps_radix_cut(p->radix, t, p->nwork); i < last; i++) {
        hps_radix_sort(p->radix, t, i);
        struct hps_bucket b = hps_radix_bucket(p->radix, i);
        if (b.wide)
            count_bucket(&w, &c, &b, true);
        else
            count_bucket(&w, &c, &b, false);
    }
}

/* Rows get their places; their bags learn of them, in both directions. No branches: what stays is
 * written again. */
HPS_INLINE void place_items(const struct walk *w, struct hps_places_counts *c,
                            const struct hps_bucket *b, bool wide)
{
    const struct hps_places *p = w->p;
    const uint64_t inside = ((uint64_t)1 << p->place_bits) - 1;
    int *row = p->room->row.host, *from = p->room->from.host, *index = p->room->index.host;
    int *places = p->room->place.host, *start = p->room->start.host;
    struct item k = nothing(b, wide);
    size_t place = 0;

    for (size_t n = 0; n < b->n; n++) {
        k = item_at(w, b, wide, n, &k);
        size_t *next = &c->rows[pair_of(p, &k)], at = c->bag_ids[k.q]++;
        size_t i = (c->bag_rows[k.q] += k.in_bag) - 1;
        place = k.row ? *next : place;
        *next += k.row;
        row[place] = (int)(k.key & w->local);
        places[i] = (int)place;
        start[i + k.q] = k.in_bag ? (int)at : start[i + k.q];
        from[at] = (int)(k.sack - (k.q > 0 ? p->end[k.q - 1] : 0));
        if (p->index)
            index[(size_t)p->sack[k.sack] + (k.word & inside)] = (int)place;
    }
}

/* Where rows begin among the words k0 .. k1-1 of a bucket, without branches. Returns how many. */
HPS_INLINE size_t begins_of(const void *word, bool wide, size_t k0, size_t k1, uint64_t tail,
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
HPS_INLINE void place_simple(const struct walk *w, struct hps_places_counts *c,
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
        uint64_t in_sack = hps_bucket_word(b->word, b->wide, k) & inside;
        p->room->index.host[(size_t)p->sack[from[to]] + in_sack] = p->room->place.host[i - 1];
    }
}

HPS_INLINE void place_bucket(const struct walk *w, struct hps_places_counts *c,
                             const struct hps_bucket *b, bool wide)
{
    if (!is_simple(w, b)) {
        place_items(w, c, b, wide);
        return;
    }
    place_simple(w, c, b, wide);
    if (w->p->index)
        index_simple(w, c, b);
}

void hps_places_place_part(struct hps_places *p, int t)
{
    struct walk w = walk_of(p);
    struct hps_places_counts c = hps_places_counts(p, t);
    int last = hps_radix_cut(p->radix, t + 1, p->nwork);

    for (int i = hps_radix_cut(p->radix, t, p->nwork); i < last; i++) {
        struct hps_bucket b = hps_radix_bucket(p->radix, i);
        if (b.wide)
            place_bucket(&w, &c, &b, true);
        else
            place_bucket(&w, &c, &b, false);
    }
}
