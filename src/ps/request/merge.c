/* merge.c - lists of ids are merged by row: a radix sort whose buckets are listed while cached. */
#include "ps/merge.h"

#include "base/mem.h"
#include "base/multiversion.h"
#include "base/parallel.h"
#include "base/radix.h"

/* Ids at a time, and ids beyond them that may be overwritten, so that vectors need no remainder. */
enum { SPAN = 256, SPARE = 32 };

/* The ids and sums of all lists before one: both are numbered through. */
struct before {
    size_t nid, nsum;
};

struct hps_merge {
    struct hps_radix *radix;
    int row_bits, sum_bits;             /* of the number of a row, of a sum              */
    int nlist;
    struct before *before;              /* (nlist + 1)                                   */
    size_t nid;                         /* of all                                        */
    size_t row, id;                     /* rows and ids listed so far, task by task      */
    struct hps_parallel work;
    struct hps_parallel_ordered order;
    const struct hps_merge_list *list;  /* of the current merge, as is `to`              */
    struct hps_merged *to;
};

struct hps_merge *hps_merge_new(long long rows, int nlist)
{
    struct hps_merge *w = hps_mem_new(1, sizeof *w);

    w->radix = hps_radix_new();
    w->row_bits = hps_radix_bits((uint64_t)rows);
    w->nlist = nlist;
    w->before = hps_mem_new((size_t)nlist + 1, sizeof *w->before);
    return w;
}

void hps_merge_free(struct hps_merge *w)
{
    if (!w) return;
    hps_radix_free(w->radix);
    hps_mem_free(w->before);
    hps_mem_free(w);
}

void hps_merged_grow(struct hps_merged *to, size_t n)
{
    hps_int_mirror_grow(&to->row, n + 1);
    hps_int_mirror_grow(&to->start, n + 1);
    hps_int_mirror_grow(&to->sum, n + 1);
}

void hps_merged_free(struct hps_merged *to, struct hps_dev *dev)
{
    hps_int_mirror_free(&to->row, dev);
    hps_int_mirror_free(&to->start, dev);
    hps_int_mirror_free(&to->sum, dev);
}

static void number_lists(struct hps_merge *w)
{
    struct before at = { 0, 0 };

    for (int i = 0; i < w->nlist; i++) {
        w->before[i] = at;
        at.nsum += (size_t)w->list[i].n;
        at.nid += (size_t)w->list[i].begin[w->list[i].n];
    }
    w->before[w->nlist] = at;
    w->nid = at.nid;
    w->sum_bits = hps_radix_bits(at.nsum);
}

/* The ids from .. to-1 of list i that task t has. */
struct cut {
    size_t from, to;
};

static struct cut cut_of(const struct hps_merge *w, int i, int t)
{
    size_t from = hps_parallel_cut(&w->work, w->nid, t),
           to = hps_parallel_cut(&w->work, w->nid, t + 1);
    size_t begin = w->before[i].nid, end = w->before[i + 1].nid;

    from = from < begin ? begin : from > end ? end : from;
    to = to < from ? from : to > end ? end : to;
    return (struct cut){ from - begin, to - begin };
}

HPS_MULTIVERSION static void widen(size_t n, const int *restrict row, uint64_t *restrict key)
{
    for (size_t c = 0; c < n; c++)
        key[c] = (uint64_t)(uint32_t)row[c];
}

static void count_part(void *merge, int t)
{
    struct hps_merge *w = merge;
    uint64_t key[SPAN];

    for (int i = 0; i < w->nlist; i++) {
        struct cut cut = cut_of(w, i, t);
        const int *row = w->list[i].row;
        for (size_t at = cut.from; at < cut.to; at += SPAN) {
            size_t n = cut.to - at < SPAN ? cut.to - at : SPAN;
            widen(n, row + at, key);
            hps_radix_count(w->radix, t, n, key);
        }
    }
}

/* The sum that has id number `at` of a list: the last one that begins at or before it. */
static int sum_at(const struct hps_merge_list *l, size_t at)
{
    int low = 0, high = l->n;

    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if ((size_t)l->begin[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The numbers of the sums that have the n ids of a list from `at` on; the list's are numbered from
 * `first`. *s: the sum of the first id, then that of the last. */
HPS_MULTIVERSION static void sums_of(const struct hps_merge_list *l, size_t first, size_t at,
                                     size_t n, int *s, uint64_t *sum)
{
    for (size_t c = 0; c < n;) {
        while ((size_t)l->begin[*s + 1] <= at + c)
            ++*s;
        size_t end = (size_t)l->begin[*s + 1] - at;
        for (end = end < n ? end : n; c < end; c += SPARE)
            for (size_t i = 0; i < SPARE; i++)
                sum[c + i] = (uint64_t)(first + (size_t)*s);
        c = end;
    }
}

static void put_part(void *merge, int t)
{
    struct hps_merge *w = merge;
    uint64_t key[SPAN], sum[SPAN + SPARE];

    for (int i = 0; i < w->nlist; i++) {
        const struct hps_merge_list *l = &w->list[i];
        struct cut cut = cut_of(w, i, t);
        int s = cut.from < cut.to ? sum_at(l, cut.from) : 0;
        for (size_t at = cut.from; at < cut.to; at += SPAN) {
            size_t n = cut.to - at < SPAN ? cut.to - at : SPAN;
            widen(n, l->row + at, key);
            sums_of(l, w->before[i].nsum, at, n, &s, sum);
            hps_radix_put(w->radix, t, n, key, sum);
        }
    }
}

/* Append the rows of a bucket at `row` and their sums at `id`. Returns how many rows. */
HPS_INLINE size_t list_bucket(const struct hps_merge *w, const struct hps_bucket *b, bool wide,
                              size_t row, size_t id)
{
    const uint64_t sum = ((uint64_t)1 << w->sum_bits) - 1;
    int *restrict merged = w->to->row.host + row, *restrict start = w->to->start.host + row;
    int *restrict sums = w->to->sum.host + id;
    uint32_t begin[SPAN + 1];
    size_t nrow = 0;

    for (size_t k = 0, end; k < b->n; k = end) {
        end = k + SPAN < b->n ? k + SPAN : b->n;
        size_t n = hps_bucket_begins(b->word, wide, k, end, sum, begin);
        for (size_t i = 0; i < n; i++) {
            uint64_t word = hps_bucket_word(b->word, wide, begin[i]);
            merged[nrow + i] = (int)(b->key | word >> w->sum_bits);
            start[nrow + i] = (int)(id + begin[i]);
        }
        for (size_t i = k; i < end; i++)
            sums[i] = (int)(hps_bucket_word(b->word, wide, i) & sum);
        nrow += n;
    }
    return nrow;
}

/* Rows of a bucket. */
static size_t rows_of(const struct hps_merge *w, const struct hps_bucket *b)
{
    const uint64_t same = ((uint64_t)1 << w->sum_bits) - 1;
    uint32_t begin[SPAN + 1];
    size_t n = 0;

    for (size_t k = 0; k < b->n; k += SPAN) {
        size_t end = k + SPAN < b->n ? k + SPAN : b->n;
        n += b->wide ? hps_bucket_begins(b->word, true, k, end, same, begin)
                     : hps_bucket_begins(b->word, false, k, end, same, begin);
    }
    return n;
}

/* Sort the buckets of task t and, while they are cached, append them behind those of task t - 1. */
static void list_part(void *merge, int t)
{
    struct hps_merge *w = merge;
    int first = hps_radix_cut(w->radix, t, w->work.n);
    int last = hps_radix_cut(w->radix, t + 1, w->work.n);
    size_t nrow = 0, nid = 0, row, id;

    for (int i = first; i < last; i++) {
        hps_radix_sort(w->radix, t, i);
        struct hps_bucket b = hps_radix_bucket(w->radix, i);
        nrow += rows_of(w, &b);
        nid += b.n;
    }
    hps_parallel_take(&w->order, t);
    row = w->row;
    id = w->id;
    w->row += nrow;
    w->id += nid;
    hps_parallel_pass(&w->order, t);
    for (int i = first; i < last; i++) {
        struct hps_bucket b = hps_radix_bucket(w->radix, i);
        row += b.wide ? list_bucket(w, &b, true, row, id) : list_bucket(w, &b, false, row, id);
        id += b.n;
    }
}

void hps_merge_lists(struct hps_merge *w, const struct hps_merge_list *list, int nthread,
                     struct hps_merged *to)
{
    w->list = list;
    w->to = to;
    number_lists(w);
    w->work = hps_parallel_of(w->nid, nthread);
    hps_merged_grow(to, w->nid);
    hps_radix_begin(w->radix, w->nid, w->row_bits, w->sum_bits, w->work.n);
    hps_parallel_for(&w->work, count_part, w);
    hps_radix_deal(w->radix);
    hps_parallel_for(&w->work, put_part, w);
    w->row = w->id = 0;
    atomic_init(&w->order.next, 0);
    hps_parallel_for(&w->work, list_part, w);
    to->n = (int)w->row;
    to->nid = w->nid;
    to->start.host[to->n] = (int)w->nid;
}
