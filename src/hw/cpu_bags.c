/* cpu_bags.c - bags of rows: short vectors at random places.
 *
 * Such loops wait for memory, so the rows ahead are fetched early; the usual lengths of a row are
 * compiled as constants. */
#include <string.h>

#include "hw/cpu.h"

#define BLOCK 64                /* examples in work at once: what they write stays in the cache */
#define FAR 160                 /* rows to prefetch where they lie, since they come in any order */
#define NEAR 16                 /* bags to prefetch in front of the one in work             */
#define PART 2048               /* rows that a thread takes at once                         */
#define PENDING 256             /* occurrences that a thread collects before it adds them       */
#define NAMED 16                /* most parts of the bags that name popular rows                */

struct bags {
    struct hps_bag bag;
    size_t dim;
    bool mean, concat;
    const float *rows;          /* forward  */
    float *grad;                /* backward */
    bool add, dense, once;      /* bags lie side by side in y; each has a place and one id   */
    double per_slot;
    int nid;                    /* numbers in `from`, up to the bag's last                  */
    float *apart;               /* by row on n threads: (n - 1) y of their own              */
    float *named;               /* by part of the bags: gradients of popular rows           */
    int nnamed;                 /* parts                                                    */
    struct hps_tensor y;        /* or dy    */
};

static inline size_t bag_start(const struct hps_bag *bag, size_t at)
{
    return bag->single ? at : (size_t)bag->offset[at];
}

static inline float share_of(const struct bags *j, size_t first, size_t last)
{
    return j->mean && last > first ? 1.0f / (float)(last - first) : 1.0f;
}

/* The row of a position. */
HPS_INLINE const float *row_of(const struct bags *j, int p, size_t dim)
{
    const struct hps_bag *bag = &j->bag;
    int at = bag->at ? bag->at[p] : -1;

    if (at >= 0)
        return j->rows + (size_t)at * bag->stride;
    return (bag->at ? bag->far : j->rows) + (size_t)p * dim;
}

/* The rows of ids: where these lie; by position, all side by side; by position, wherever. */
enum rows { LIE, BESIDE, ANYWHERE };

HPS_INLINE const float *row_of_id(const struct bags *j, size_t i, enum rows rows, size_t dim)
{
    switch (rows) {
    case LIE: return j->rows + (size_t)j->bag.lies[i] * j->bag.stride;
    case BESIDE: return j->rows + (size_t)j->bag.index[i] * dim;
    default: return row_of(j, j->bag.index[i], dim);
    }
}

HPS_INLINE void fetch_ahead(const struct bags *j, size_t i, enum rows rows, size_t dim)
{
    i += rows == LIE ? FAR : HPS_CPU_AHEAD;
    if (i < j->bag.nid)
        hps_cpu_fetch(row_of_id(j, i, rows, dim), dim);
}

/* to (+)= the rows first..last-1 of the bag, of a dim that is short: in registers. */
HPS_INLINE void pool_short(const struct bags *j, size_t first, size_t last, bool begin,
                           enum rows rows, float share, float *to, size_t dim)
{
    float sum[HPS_CPU_SHORT] = { 0 };

    for (size_t d = 0; d < dim && !begin; d++)
        sum[d] = to[d];
    for (size_t i = first; i < last; i++) {
        fetch_ahead(j, i, rows, dim);
        hps_cpu_row_add(sum, row_of_id(j, i, rows, dim), share, dim);
    }
    for (size_t d = 0; d < dim; d++)
        to[d] = sum[d];
}

HPS_INLINE void pool_long(const struct bags *j, size_t first, size_t last, bool begin,
                          enum rows rows, float share, float *to, size_t dim)
{
    for (size_t d = 0; d < dim && begin; d++)
        to[d] = 0;
    for (size_t i = first; i < last; i++) {
        fetch_ahead(j, i, rows, dim);
        hps_cpu_row_add(to, row_of_id(j, i, rows, dim), share, dim);
    }
}

/* Bags of slot s for the examples b0 .. b1-1. The first bag into a place of y overwrites it. */
HPS_INLINE void pool_slot(const struct bags *j, size_t s, size_t b0, size_t b1,
                          enum rows rows, bool mean, size_t dim)
{
    const struct hps_bag *bag = &j->bag;
    bool begin = j->concat || s == 0;
    float *y = j->y.data + (j->concat ? s * dim : 0);

    for (size_t b = b0; b < b1; b++) {
        size_t at = s * (size_t)bag->B + b;
        size_t first = bag_start(bag, at), last = bag_start(bag, at + 1);
        float share = mean ? share_of(j, first, last) : 1;
        if (dim <= HPS_CPU_SHORT)
            pool_short(j, first, last, begin, rows, share, y + b * j->y.ld, dim);
        else
            pool_long(j, first, last, begin, rows, share, y + b * j->y.ld, dim);
    }
}

/* Rows added as they are, and not from anywhere: the usual cases, compiled by themselves. */
HPS_CLONES static void pool_block(const struct bags *j, size_t b0, size_t b1)
{
    enum rows rows = j->bag.lies ? LIE : j->bag.at ? ANYWHERE : BESIDE;

    for (size_t s = 0; s < (size_t)j->bag.nslot; s++)
        if (rows == LIE && !j->mean) {
            HPS_CPU_WITH_DIM(j->dim, pool_slot, j, s, b0, b1, LIE, false);
        } else if (rows == BESIDE && !j->mean) {
            HPS_CPU_WITH_DIM(j->dim, pool_slot, j, s, b0, b1, BESIDE, false);
        } else {
            HPS_CPU_WITH_DIM(j->dim, pool_slot, j, s, b0, b1, rows, j->mean);
        }
}

static void pool_part(const void *job, int t, int n)
{
    const struct bags *j = job;
    size_t last = hps_cpu_cut((size_t)j->bag.B, HPS_CPU_GRAIN, t + 1, n);

    for (size_t b = hps_cpu_cut((size_t)j->bag.B, HPS_CPU_GRAIN, t, n); b < last; b += BLOCK)
        pool_block(j, b, b + BLOCK < last ? b + BLOCK : last);
}

/* ---- by row: each row is read once and added to all of its bags ---- */

/* Bags lie side by side, and rows are added as they are: the usual case, compiled by itself. */
static inline bool is_plain(const struct bags *j)
{
    return j->dense && !j->mean;
}

/* Where bag number `from` begins in y: side by side, or after a division that is exact for numbers
 * below 2^31. */
HPS_INLINE size_t spot_of(const struct bags *j, int from, bool plain, size_t dim)
{
    if (plain || j->dense)
        return (size_t)from * dim;
    int b = (int)(((double)from + 0.5) * j->per_slot), s = from - b * j->bag.nslot;
    return (size_t)b * j->y.ld + (j->concat ? (size_t)s * dim : 0);
}

/* The bag that is added to, or read, a while after the k-th. */
HPS_INLINE int ahead_of(const struct bags *j, int k)
{
    return j->bag.from[k + NEAR < j->nid ? k + NEAR : k];
}

HPS_INLINE float share_of_bag(const struct bags *j, int from)
{
    int b = from / j->bag.nslot, s = from - b * j->bag.nslot;
    size_t at = (size_t)s * (size_t)j->bag.B + (size_t)b;

    return share_of(j, bag_start(&j->bag, at), bag_start(&j->bag, at + 1));
}

/* The first of the bag's rows whose ids, and those of all before it, are at least t n-ths. */
static size_t row_cut(const struct hps_bag *bag, int t, int n)
{
    size_t low = 0, high = bag->nplace, nid = (size_t)(bag->start[high] - bag->start[0]);
    int want = (int)(nid / (size_t)n * (size_t)t);

    if (t == n)
        return high;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (bag->start[middle] - bag->start[0] < want)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

HPS_INLINE void strew_row(const struct bags *j, size_t i, float *y, bool plain, bool once,
                          size_t dim)
{
    const float *row = row_of(j, j->bag.place[i], dim);
    const int *from = j->bag.from;

    for (int k = j->bag.start[i], end = j->bag.start[i + 1]; k < end; k++) {
        float *to = y + spot_of(j, from[k], plain, dim);
        hps_cpu_fetch(y + spot_of(j, ahead_of(j, k), plain, dim), dim);
        if (once)
            hps_cpu_row_set(to, row, dim);
        else
            hps_cpu_row_add(to, row, plain || !j->mean ? 1 : share_of_bag(j, from[k]), dim);
    }
}

HPS_INLINE void strew_all(const struct bags *j, size_t first, size_t last, float *y, bool plain,
                          bool once, size_t dim)
{
    const struct hps_bag *bag = &j->bag;
    size_t ahead = HPS_CPU_AHEAD;

    for (size_t i = first; i < last; i++) {
        size_t next = i + ahead < last ? i + ahead : i;
        hps_cpu_fetch(row_of(j, bag->place[next], dim), dim);
        strew_row(j, i, y, plain, once, dim);
    }
}

HPS_INLINE void strew_rows(const struct bags *j, size_t first, size_t last, float *y, size_t dim)
{
    if (is_plain(j) && j->once)
        strew_all(j, first, last, y, true, true, dim);
    else if (is_plain(j))
        strew_all(j, first, last, y, true, false, dim);
    else if (j->once)
        strew_all(j, first, last, y, false, true, dim);
    else
        strew_all(j, first, last, y, false, false, dim);
}

HPS_CLONES static void strew_span(const struct bags *j, size_t first, size_t last, float *y)
{
    HPS_CPU_WITH_DIM(j->dim, strew_rows, j, first, last, y);
}

/* Thread t's rows, into y or, behind the first, into a y of its own. */
static void strew_part(const void *job, int t, int n)
{
    const struct bags *j = job;
    float *y = j->y.data;
    size_t width = (size_t)j->y.width, B = (size_t)j->bag.B;

    if (t > 0 && j->apart)
        y = j->apart + (size_t)(t - 1) * j->y.ld * B;
    for (size_t b = 0; b < B && !j->once; b++)
        memset(y + b * j->y.ld, 0, width * sizeof *y);
    strew_span(j, row_cut(&j->bag, t, n), row_cut(&j->bag, t + 1, n), y);
}

/* y of some examples and what the threads behind the first have for them. */
static void join_part(const void *job, int t, int n)
{
    const struct bags *j = job;
    size_t ld = j->y.ld, B = (size_t)j->bag.B, last = hps_cpu_cut(B, 1, t + 1, n);

    for (size_t b = hps_cpu_cut(B, 1, t, n); b < last; b++)
        for (int k = 0; k < n - 1; k++)
            hps_cpu_row_add(j->y.data + b * ld, j->apart + ((size_t)k * B + b) * ld, 1,
                            (size_t)j->y.width);
}

static void strew(struct hps_dev *dev, struct bags *j, double work_ns)
{
    size_t all = (size_t)j->bag.B * j->y.ld;

    if (dev->nthread > 1 && !j->once)
        j->apart = hps_cpu_scratch(dev, (size_t)(dev->nthread - 1) * all * sizeof *j->apart);
    hps_cpu_spread(dev, work_ns, strew_part, j);
    if (j->apart)
        hps_cpu_spread(dev, (double)all * dev->nthread, join_part, j);
}

/* ---- the verbs ---- */

static struct bags bags_of(const struct hps_bag *bag, int dim, enum hps_pool_kind pool,
                           enum hps_combine combine, struct hps_tensor y)
{
    bool concat = combine == HPS_COMBINE_CONCAT;

    return (struct bags){ .bag = *bag, .dim = (size_t)dim, .mean = pool == HPS_POOL_MEAN,
                          .concat = concat, .y = y, .per_slot = 1.0 / bag->nslot,
                          .dense = (concat || bag->nslot == 1) &&
                                   y.ld == (size_t)bag->nslot * (size_t)dim,
                          .once = bag->single && (concat || bag->nslot == 1),
                          .nid = bag->place ? bag->start[bag->nplace] : 0 };
}

void hps_cpu_bag_forward(struct hps_dev *dev, const struct hps_bag *bag, int dim,
                         enum hps_pool_kind pool, enum hps_combine combine, const float *rows,
                         struct hps_tensor y)
{
    struct bags j = bags_of(bag, dim, pool, combine, y);
    double work_ns = (double)bag->nid * (4 + 0.3 * dim);

    j.rows = rows;
    if (bag->lies || bag->index) {
        hps_cpu_writes(dev, (size_t)bag->B, y);
        hps_cpu_rows(dev, (size_t)bag->B, work_ns, hps_cpu_parts(dev, (size_t)bag->B, BLOCK),
                     pool_part, &j, sizeof j);
    } else {
        strew(dev, &j, work_ns);
    }
}

/* Occurrences that wait to be added: the row, and where its gradient is in dy. */
struct pending {
    size_t n;
    size_t row[PENDING], from[PENDING];
    float share[PENDING];
};

HPS_INLINE void add_pending(const struct bags *j, struct pending *p, size_t dim)
{
    for (size_t i = 0; i < p->n; i++) {
        if (i + HPS_CPU_AHEAD < p->n)
            hps_cpu_fetch(j->grad + p->row[i + HPS_CPU_AHEAD] * dim, dim);
        hps_cpu_row_add(j->grad + p->row[i] * dim, j->y.data + p->from[i], p->share[i], dim);
    }
    p->n = 0;
}

HPS_CLONES static void flush(const struct bags *j, struct pending *p)
{
    HPS_CPU_WITH_DIM(j->dim, add_pending, j, p);
}

/* Rows have one owner among n, blocks of 16 strewn by a multiplicative hash (Knuth): popular rows
 * are neighbours. */
static inline bool is_mine(size_t row, size_t t, size_t n)
{
    uint32_t h = (uint32_t)(row >> 4) * 2654435761u;
    return ((uint64_t)h * n) >> 32 == t;
}

/* Each thread looks at all ids and adds to its own rows only, in the order of the ids: the sums are
 * the same for any number of threads. */
static void spill_part(const void *job, int t, int n)
{
    const struct bags *j = job;
    const struct hps_bag *bag = &j->bag;
    struct pending p = { .n = 0 };

    for (size_t s = 0, at = 0; s < (size_t)bag->nslot; s++)
        for (size_t b = 0; b < (size_t)bag->B; b++, at++) {
            size_t first = bag_start(bag, at), last = bag_start(bag, at + 1);
            float share = share_of(j, first, last);
            for (size_t i = first; i < last; i++) {
                p.row[p.n] = (size_t)bag->index[i];
                p.from[p.n] = b * j->y.ld + (j->concat ? s * j->dim : 0);
                p.share[p.n] = share;
                p.n += is_mine(p.row[p.n], (size_t)t, (size_t)n);
                if (p.n == PENDING)
                    flush(j, &p);
            }
        }
    flush(j, &p);
}

HPS_INLINE void sum_row(const struct bags *j, size_t i, float *sum, bool plain, size_t dim)
{
    const int *from = j->bag.from;
    const float *dy = j->y.data;

    for (int k = j->bag.start[i], end = j->bag.start[i + 1]; k < end; k++) {
        float share = plain || !j->mean ? 1 : share_of_bag(j, from[k]);
        hps_cpu_fetch(dy + spot_of(j, ahead_of(j, k), plain, dim), dim);
        hps_cpu_row_add(sum, dy + spot_of(j, from[k], plain, dim), share, dim);
    }
}

/* Each row once, with all that the bags add to it. */
HPS_INLINE void sum_all(const struct bags *j, size_t first, size_t last, bool plain, size_t dim)
{
    float sum[HPS_CPU_SHORT];

    for (size_t i = first; i < last; i++) {
        float *to = j->grad + (size_t)j->bag.place[i] * dim;
        float *here = dim <= HPS_CPU_SHORT ? sum : to;
        if (!j->add)
            memset(here, 0, dim * sizeof *here);
        else if (here != to)
            hps_cpu_row_set(here, to, dim);
        sum_row(j, i, here, plain, dim);
        if (here != to)
            hps_cpu_row_set(to, here, dim);
    }
}

HPS_INLINE void sum_rows(const struct bags *j, size_t first, size_t last, size_t dim)
{
    if (is_plain(j))
        sum_all(j, first, last, true, dim);
    else
        sum_all(j, first, last, false, dim);
}

HPS_CLONES static void sum_span(const struct bags *j, size_t first, size_t last)
{
    HPS_CPU_WITH_DIM(j->dim, sum_rows, j, first, last);
}

static void sum_part(const void *job, int t, int n)
{
    const struct bags *j = job;
    sum_span(j, row_cut(&j->bag, t, n), row_cut(&j->bag, t + 1, n));
}

/* ---- gradients of popular rows: bag by bag ---- */

/* How often bags name one. */
static size_t all_named(const struct hps_bag *bag)
{
    return (size_t)(bag->name_begin[(size_t)bag->nslot * (size_t)bag->B] - bag->name_begin[0]);
}

/* How many parts, each with gradients of its own: what these cost is little beside what bags name.
 * They follow the bags alone, so that the bits do. */
static int named_parts(const struct hps_bag *bag)
{
    size_t n = (size_t)bag->B / BLOCK, few = all_named(bag) / (4 * (size_t)bag->npopular);

    n = n < few ? n : few;
    n = n < NAMED ? n : NAMED;
    return n > 0 ? (int)n : 1;
}

HPS_INLINE void add_named_slot(const struct bags *j, size_t s, size_t b0, size_t b1, float *grad,
                               size_t dim)
{
    const struct hps_bag *bag = &j->bag;
    const float *dy = j->y.data + (j->concat ? s * dim : 0);

    for (size_t b = b0, at = s * (size_t)bag->B + b0; b < b1; b++, at++) {
        float share = j->mean ? share_of(j, bag_start(bag, at), bag_start(bag, at + 1)) : 1;
        for (int k = bag->name_begin[at]; k < bag->name_begin[at + 1]; k++)
            hps_cpu_row_add(grad + (size_t)bag->name[k] * dim, dy + b * j->y.ld, share, dim);
    }
}

HPS_CLONES static void add_named(const struct bags *j, size_t b0, size_t b1, float *grad)
{
    for (size_t s = 0; s < (size_t)j->bag.nslot; s++)
        HPS_CPU_WITH_DIM(j->dim, add_named_slot, j, s, b0, b1, grad);
}

static void named_part(const void *job, int t, int n)
{
    const struct bags *j = job;
    size_t B = (size_t)j->bag.B, all = (size_t)j->bag.npopular * j->dim;
    float *grad = j->named + (size_t)t * all;

    memset(grad, 0, all * sizeof *grad);
    add_named(j, hps_cpu_cut(B, 1, t, n), hps_cpu_cut(B, 1, t + 1, n), grad);
}

/* To what else these rows have. */
static void join_named(const void *job, int t, int n)
{
    const struct bags *j = job;
    size_t N = (size_t)j->bag.npopular, first = j->bag.nplace - N;

    for (size_t i = hps_cpu_cut(N, 1, t, n); i < hps_cpu_cut(N, 1, t + 1, n); i++)
        for (size_t k = 0; k < (size_t)j->nnamed; k++)
            hps_cpu_row_add(j->grad + (size_t)j->bag.place[first + i] * j->dim,
                            j->named + (k * N + i) * j->dim, 1, j->dim);
}

static void sum_named(struct hps_dev *dev, struct bags *j)
{
    size_t all = (size_t)j->bag.npopular * j->dim;
    double add_ns = 1 + 0.1 * (double)j->dim;

    j->nnamed = named_parts(&j->bag);
    j->named = hps_cpu_keep(dev, (size_t)j->nnamed * all * sizeof *j->named);
    hps_cpu_beside(dev, (double)all_named(&j->bag) * add_ns, j->nnamed, named_part, j, sizeof *j);
    hps_cpu_reads(dev, (size_t)j->bag.B, j->y);
    hps_cpu_after(dev, j->nnamed * j->bag.npopular * add_ns,
                  hps_cpu_parts(dev, (size_t)j->bag.npopular, PART), join_named, j, sizeof *j);
}

void hps_cpu_bag_backward(struct hps_dev *dev, const struct hps_bag *bag, int dim,
                          enum hps_pool_kind pool, enum hps_combine combine, struct hps_tensor dy,
                          float *rows_grad, size_t nrow, bool add)
{
    struct bags j = bags_of(bag, dim, pool, combine, dy);

    j.grad = rows_grad;
    j.add = add;
    if (!add && nrow > (bag->place ? bag->nplace : 0)) {
        hps_cpu_wait(dev);
        memset(rows_grad, 0, nrow * (size_t)dim * sizeof *rows_grad);
    }
    int parts = bag->place ? hps_cpu_parts(dev, bag->nplace, PART) : dev->nthread;
    hps_cpu_beside(dev, (double)bag->nid * (5 + 0.3 * dim), parts,
                   bag->place ? sum_part : spill_part, &j, sizeof j);
    hps_cpu_reads(dev, (size_t)bag->B, dy);
    if (bag->place && bag->npopular > 0)
        sum_named(dev, &j);
}
