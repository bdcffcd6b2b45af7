/* unique_rows.c - from sorted words to unique indices. The words of a row follow each other, and
 * among them those of a lookup: a run. */
#include "base/multiversion.h"
#include "ps/request/unique_impl.h"

enum { SPAN = 256 };            /* words at a time */

struct walk {
    const struct hps_unique *p;
    int tail_bits, lookup_shift;
    uint64_t tail, local, bag, inside;  /* masks */
    uint64_t same;                      /* bits in which words of a run differ */
    bool many;                          /* there are several lookups */
};

static struct walk walk_of(const struct hps_unique *p)
{
    int shift = p->bag_bits + p->offset_bits, tail_bits = p->lookup_bits + shift;
    uint64_t one = 1;

    return (struct walk){ p,
                          tail_bits,
                          shift,
                          (one << tail_bits) - 1,
                          (one << p->csr.local_bits) - 1,
                          (one << p->bag_bits) - 1,
                          (one << p->offset_bits) - 1,
                          (one << shift) - 1,
                          hps_csr_lookups(&p->csr) > 1 };
}

/* One lookup, one owner and no index: all runs of a bucket have the same counters. */
static bool is_plain(const struct walk *w, const struct hps_bucket *b)
{
    if (b->n == 0 || w->many || w->p->index) return false;
    uint64_t first = b->key | hps_bucket_word(b->word, b->wide, 0) >> w->tail_bits;
    uint64_t last = b->key | hps_bucket_word(b->word, b->wide, b->n - 1) >> w->tail_bits;
    return first >> w->p->csr.local_bits == last >> w->p->csr.local_bits;
}

struct run {
    size_t q, pair;             /* its lookup; the row's first micro-batch and its owner      */
    bool row;                   /* it is the row's first run                                   */
    int local;                  /* the row's number at its owner                               */
};

/* The run that begins at word k. */
HPS_INLINE struct run run_at(const struct walk *w, const struct hps_bucket *b, bool wide, size_t k)
{
    const struct hps_unique *p = w->p;
    uint64_t word = hps_bucket_word(b->word, wide, k), key = b->key | word >> w->tail_bits;
    size_t q = w->many ? (word & w->tail) >> w->lookup_shift : 0;

    return (struct run){ q, p->pair_at[q] + (p->csr.parts > 1 ? key >> p->csr.local_bits : 0),
                         k == 0 || (word ^ hps_bucket_word(b->word, wide, k - 1)) > w->tail,
                         (int)(key & w->local) };
}

HPS_INLINE void count_bucket(const struct walk *w, struct hps_unique_counts *c,
                             const struct hps_bucket *b, bool wide)
{
    const bool plain = is_plain(w, b);
    uint32_t begin[SPAN + 1];
    size_t q = 0;

    for (size_t k = 0, end; k < b->n; k = end) {
        end = k + SPAN < b->n ? k + SPAN : b->n;
        size_t n = hps_bucket_begins(b->word, wide, k, end, w->same, begin);
        if (plain) {
            c->rows[run_at(w, b, wide, 0).pair] += n;
            c->lookup_rows[0] += n;
            c->lookup_ids[0] += end - k;
            continue;
        }
        c->lookup_ids[q] += begin[0] - k; /* of the run before */
        for (size_t i = 0; i < n; i++) {
            struct run r = run_at(w, b, wide, begin[i]);
            q = r.q;
            c->rows[r.pair] += r.row;
            c->lookup_rows[q]++;
            c->lookup_ids[q] += begin[i + 1] - begin[i];
        }
    }
}

void hps_unique_sort_part(void *unique, int t)
{
    struct hps_unique *p = unique;
    struct walk w = walk_of(p);
    struct hps_unique_counts c = hps_unique_counts(p, t);
    int last = hps_radix_cut(p->radix, t + 1, p->csr.work.n);

    for (int i = hps_radix_cut(p->radix, t, p->csr.work.n); i < last; i++) {
        hps_radix_sort(p->radix, t, i);
        struct hps_bucket b = hps_radix_bucket(p->radix, i);
        if (b.wide)
            count_bucket(&w, &c, &b, true);
        else
            count_bucket(&w, &c, &b, false);
    }
}

/* The words k0 .. k1-1 of a bucket, ids of lookup q of the row with a unique index. */
struct same {
    size_t k0, k1, q;
    int index;
};

/* List their bags and, for lookups by index, store the unique index of the row at each id. */
HPS_INLINE void put_ids(const struct walk *w, struct hps_unique_counts *c,
                        const struct hps_bucket *b, bool wide, struct same s)
{
    const struct hps_unique *p = w->p;
    const int offset_bits = p->offset_bits;
    const int *bag = p->bag + (s.q > 0 ? p->csr.end[s.q - 1] : 0);
    int *restrict bags = p->memory->bag.host + c->lookup_ids[s.q];

    for (size_t k = s.k0; k < s.k1; k++)
        bags[k - s.k0] = (int)(hps_bucket_word(b->word, wide, k) >> offset_bits & w->bag);
    for (size_t k = s.k0; k < s.k1 && p->index; k++)
        p->memory->index
            .host[(size_t)bag[bags[k - s.k0]] + (hps_bucket_word(b->word, wide, k) & w->inside)] =
            s.index;
    c->lookup_ids[s.q] += s.k1 - s.k0;
}

/* Number the rows of a bucket and list their bags. */
HPS_INLINE void number_runs(const struct walk *w, struct hps_unique_counts *c,
                           const struct hps_bucket *b, bool wide)
{
    const struct hps_unique *p = w->p;
    int *row = p->memory->row.host, *rows = p->memory->row_index.host;
    int *start = p->memory->bag_start.host;
    uint32_t begin[SPAN + 1];
    size_t q = 0;
    int index = 0;

    for (size_t k = 0, end; k < b->n; k = end) {
        end = k + SPAN < b->n ? k + SPAN : b->n;
        size_t n = hps_bucket_begins(b->word, wide, k, end, w->same, begin);
        put_ids(w, c, b, wide, (struct same){ k, begin[0], q, index }); /* of the run before */
        for (size_t i = 0; i < n; i++) {
            struct run r = run_at(w, b, wide, begin[i]);
            q = r.q;
            index = r.row ? (int)c->rows[r.pair] : index;
            c->rows[r.pair] += r.row;
            row[index] = r.local;
            start[c->lookup_rows[q] + q] = (int)c->lookup_ids[q];
            rows[c->lookup_rows[q]++] = index;
            put_ids(w, c, b, wide, (struct same){ begin[i], begin[i + 1], q, index });
        }
    }
}

/* The same for a plain bucket, whose rows are contiguous in each array. */
HPS_INLINE void number_plain(const struct walk *w, struct hps_unique_counts *c,
                            const struct hps_bucket *b, bool wide)
{
    const struct hps_unique *p = w->p;
    const int shift = w->tail_bits;
    const uint64_t local = w->local, key = b->key;
    const size_t pair = run_at(w, b, wide, 0).pair;
    uint32_t begin[SPAN + 1];

    for (size_t k = 0, end; k < b->n; k = end) {
        end = k + SPAN < b->n ? k + SPAN : b->n;
        size_t n = hps_bucket_begins(b->word, wide, k, end, w->same, begin), first = c->rows[pair];
        int *restrict row = p->memory->row.host + first;
        int *restrict rows = p->memory->row_index.host + c->lookup_rows[0];
        int *restrict start = p->memory->bag_start.host + c->lookup_rows[0];
        int at = (int)(c->lookup_ids[0] - k);
        for (size_t i = 0; i < n; i++) {
            row[i] = (int)((key | hps_bucket_word(b->word, wide, begin[i]) >> shift) & local);
            start[i] = at + (int)begin[i];
            rows[i] = (int)(first + i);
        }
        c->rows[pair] += n;
        c->lookup_rows[0] += n;
        put_ids(w, c, b, wide, (struct same){ k, end, 0, 0 });
    }
}

HPS_INLINE void number_bucket(const struct walk *w, struct hps_unique_counts *c,
                             const struct hps_bucket *b, bool wide)
{
    if (is_plain(w, b))
        number_plain(w, c, b, wide);
    else
        number_runs(w, c, b, wide);
}

void hps_unique_number_part(void *unique, int t)
{
    struct hps_unique *p = unique;
    struct walk w = walk_of(p);
    struct hps_unique_counts c = hps_unique_counts(p, t);
    int last = hps_radix_cut(p->radix, t + 1, p->csr.work.n);

    for (int i = hps_radix_cut(p->radix, t, p->csr.work.n); i < last; i++) {
        struct hps_bucket b = hps_radix_bucket(p->radix, i);
        if (b.wide)
            number_bucket(&w, &c, &b, true);
        else
            number_bucket(&w, &c, &b, false);
    }
}
