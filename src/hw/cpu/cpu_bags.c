/* cpu_bags.c - bags of rows: short vectors at random places.
 *
 * Such loops wait for memory, so the rows ahead are fetched early; the usual lengths of a row are
 * compiled as constants. */
#include <string.h>

#include "hw/cpu/cpu_bags_impl.h"

/* Rows to prefetch where they lie in any order, and many are in a cache already: those that are not
 * must be looked for farther ahead. */
#define FAR 160

/* The row of a position. */
HPS_INLINE const float *row_of(const struct hps_bags *j, int p, size_t dim)
{
    const struct hps_bag *bag = &j->bag;
    int at = bag->at ? bag->at[p] : -1;

    if (at >= 0)
        return j->rows + (size_t)at * bag->stride;
    return (bag->at ? bag->far : j->rows) + (size_t)p * dim;
}

/* The rows of ids: where these lie; by position, all side by side; by position, wherever. */
enum rows { LIE, LIE_RARE, BESIDE, ANYWHERE };

HPS_INLINE const float *row_of_id(const struct hps_bags *j, size_t i, enum rows rows, size_t dim)
{
    switch (rows) {
    case LIE:
    case LIE_RARE: return j->rows + (size_t)j->bag.lies[i] * j->bag.stride;
    case BESIDE: return j->rows + (size_t)j->bag.index[i] * dim;
    default: return row_of(j, j->bag.index[i], dim);
    }
}

HPS_INLINE void fetch_ahead(const struct hps_bags *j, size_t i, enum rows rows, size_t dim)
{
    i += rows == LIE ? FAR : HPS_CPU_AHEAD;
    if (i < j->bag.nid)
        hps_cpu_fetch(row_of_id(j, i, rows, dim), dim);
}

/* to += the rows of ids first..last-1. */
HPS_INLINE void add_ids(const struct hps_bags *j, size_t first, size_t last, enum rows rows,
                        float share, float *to, size_t dim)
{
    for (size_t i = first; i < last; i++) {
        fetch_ahead(j, i, rows, dim);
        hps_cpu_row_add(to, row_of_id(j, i, rows, dim), share, dim);
    }
}

/* to += the popular rows of names first..last-1. */
HPS_INLINE void add_names(const struct hps_bags *j, int first, int last, float share, float *to,
                          size_t dim)
{
    for (int k = first; k < last; k++)
        hps_cpu_row_add(to, j->popular + (size_t)j->bag.name[k] * dim, share, dim);
}

/* to (+)= the rows of sack `at`; of a dim that is short, summed in registers, one kind after the
 * other. */
HPS_INLINE void pool_ids(const struct hps_bags *j, size_t at, bool begin, enum rows rows,
                         float share, float *to, size_t dim)
{
    size_t first = hps_bags_start(&j->bag, at), last = hps_bags_start(&j->bag, at + 1);
    float sum[HPS_CPU_SHORT] = { 0 };

    if (dim > HPS_CPU_SHORT) {
        if (begin)
            memset(to, 0, dim * sizeof *to);
        add_ids(j, first, last, rows, share, to, dim);
        return;
    }
    if (!begin)
        hps_cpu_row_set(sum, to, dim);
    add_ids(j, first, last, rows, share, sum, dim);
    hps_cpu_row_set(to, sum, dim);
}

HPS_INLINE void pool_names(const struct hps_bags *j, size_t at, float share, float *to, size_t dim)
{
    const int *name = j->bag.name_begin + at;
    float sum[HPS_CPU_SHORT];

    if (dim > HPS_CPU_SHORT) {
        add_names(j, name[0], name[1], share, to, dim);
        return;
    }
    hps_cpu_row_set(sum, to, dim);
    add_names(j, name[0], name[1], share, sum, dim);
    hps_cpu_row_set(to, sum, dim);
}

/* Bags of slot s for the examples b0 .. b1-1. The first bag into a place of y overwrites it. */
HPS_INLINE void pool_slot(const struct hps_bags *j, size_t s, size_t b0, size_t b1,
                          enum rows rows, bool mean, size_t dim)
{
    bool begin = j->concat || s == 0;
    float *y = j->y.data + (j->concat ? s * dim : 0);

    for (size_t b = b0; b < b1; b++) {
        size_t at = s * (size_t)j->bag.B + b;
        float share = mean ? hps_bags_share(j, at) : 1, *to = y + b * j->y.ld;
        pool_ids(j, at, begin, rows, share, to, dim);
        if (j->bag.npopular > 0)
            pool_names(j, at, share, to, dim);
    }
}

/* Rows added as they are, and not from anywhere: the usual cases, compiled by themselves. */
HPS_MULTIVERSION static void pool_block(const struct hps_bags *j, size_t b0, size_t b1)
{
    enum rows rows = j->bag.lies ? (j->bag.rare ? LIE_RARE : LIE)
                                 : j->bag.at ? ANYWHERE : BESIDE;

    for (size_t s = 0; s < (size_t)j->bag.nslot; s++)
        if (rows == LIE && !j->mean) {
            HPS_CPU_WITH_DIM(j->dim, pool_slot, j, s, b0, b1, LIE, false);
        } else if (rows == LIE_RARE && !j->mean) {
            HPS_CPU_WITH_DIM(j->dim, pool_slot, j, s, b0, b1, LIE_RARE, false);
        } else if (rows == BESIDE && !j->mean) {
            HPS_CPU_WITH_DIM(j->dim, pool_slot, j, s, b0, b1, BESIDE, false);
        } else {
            HPS_CPU_WITH_DIM(j->dim, pool_slot, j, s, b0, b1, rows, j->mean);
        }
}

static void pool_part(const void *job, int t, int n)
{
    const struct hps_bags *j = job;
    size_t B = (size_t)j->bag.B, last = hps_cpu_cut(B, HPS_CPU_GRAIN, t + 1, n), end;

    for (size_t b = hps_cpu_cut(B, HPS_CPU_GRAIN, t, n); b < last; b = end) {
        end = b + HPS_BAGS_BLOCK < last ? b + HPS_BAGS_BLOCK : last;
        pool_block(j, b, end);
    }
}

/* Popular rows, side by side. */
static void gather_popular(const void *job, int t, int n)
{
    const struct hps_bags *j = job;
    size_t N = (size_t)j->bag.npopular, last = hps_cpu_cut(N, 1, t + 1, n);
    const int *place = j->bag.place + j->bag.nplace - N;

    for (size_t i = hps_cpu_cut(N, 1, t, n); i < last; i++)
        memcpy(j->popular + i * j->dim, row_of(j, place[i], j->dim), j->dim * sizeof *j->popular);
}

static void pool(struct hps_dev *dev, struct hps_bags *j, double work_ns)
{
    size_t B = (size_t)j->bag.B, popular = (size_t)j->bag.npopular;

    hps_cpu_writes(dev, B, j->y);
    if (popular > 0) {
        j->popular = hps_cpu_keep(dev, popular * j->dim * sizeof *j->popular);
        hps_cpu_first(dev, (double)popular * (2 + 0.1 * (double)j->dim),
                      hps_cpu_parts(dev, popular, HPS_BAGS_PART), gather_popular, j, sizeof *j);
    }
    hps_cpu_rows(dev, B, work_ns, hps_cpu_parts(dev, B, HPS_BAGS_BLOCK), pool_part, j, sizeof *j);
}

/* ---- by row: each row is read once and added to all of its bags ---- */

HPS_INLINE void strew_row(const struct hps_bags *j, size_t i, float *y, bool plain, bool once,
                          size_t dim)
{
    const float *row = row_of(j, j->bag.place[i], dim);
    const int *from = j->bag.from;

    for (int k = j->bag.start[i], end = j->bag.start[i + 1]; k < end; k++) {
        float *to = y + hps_bags_spot(j, from[k], plain, dim);
        hps_cpu_fetch(y + hps_bags_spot(j, hps_bags_ahead(j, k), plain, dim), dim);
        if (once)
            hps_cpu_row_set(to, row, dim);
        else
            hps_cpu_row_add(to, row, plain || !j->mean ? 1 : hps_bags_share_of(j, from[k]), dim);
    }
}

HPS_INLINE void strew_all(const struct hps_bags *j, size_t first, size_t last, float *y, bool plain,
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

HPS_INLINE void strew_rows(const struct hps_bags *j, size_t first, size_t last, float *y,
                           size_t dim)
{
    if (hps_bags_plain(j) && j->once)
        strew_all(j, first, last, y, true, true, dim);
    else if (hps_bags_plain(j))
        strew_all(j, first, last, y, true, false, dim);
    else if (j->once)
        strew_all(j, first, last, y, false, true, dim);
    else
        strew_all(j, first, last, y, false, false, dim);
}

HPS_MULTIVERSION static void strew_span(const struct hps_bags *j, size_t first, size_t last,
                                        float *y)
{
    HPS_CPU_WITH_DIM(j->dim, strew_rows, j, first, last, y);
}

/* Thread t's rows, into y or, behind the first, into a y of its own. */
static void strew_part(const void *job, int t, int n)
{
    const struct hps_bags *j = job;
    float *y = j->y.data;
    size_t width = (size_t)j->y.width, B = (size_t)j->bag.B;

    if (t > 0 && j->apart)
        y = j->apart + (size_t)(t - 1) * j->y.ld * B;
    for (size_t b = 0; b < B && !j->once; b++)
        memset(y + b * j->y.ld, 0, width * sizeof *y);
    strew_span(j, hps_bags_cut(&j->bag, t, n), hps_bags_cut(&j->bag, t + 1, n), y);
}

/* y of some examples and what the threads behind the first have for them. */
static void join_part(const void *job, int t, int n)
{
    const struct hps_bags *j = job;
    size_t ld = j->y.ld, B = (size_t)j->bag.B, last = hps_cpu_cut(B, 1, t + 1, n);

    for (size_t b = hps_cpu_cut(B, 1, t, n); b < last; b++)
        for (int k = 0; k < n - 1; k++)
            hps_cpu_row_add(j->y.data + b * ld, j->apart + ((size_t)k * B + b) * ld, 1,
                            (size_t)j->y.width);
}

static void strew(struct hps_dev *dev, struct hps_bags *j, double work_ns)
{
    size_t all = (size_t)j->bag.B * j->y.ld;

    if (dev->nthread > 1 && !j->once)
        j->apart = hps_cpu_scratch(dev, (size_t)(dev->nthread - 1) * all * sizeof *j->apart);
    hps_cpu_spread(dev, work_ns, strew_part, j);
    if (j->apart)
        hps_cpu_spread(dev, (double)all * dev->nthread, join_part, j);
}

/* ---- the verb ---- */

void hps_cpu_bag_forward(struct hps_dev *dev, const struct hps_bag *bag, int dim,
                         enum hps_pool_kind pooling, enum hps_combine combine, const float *rows,
                         struct hps_tensor y)
{
    struct hps_bags j = hps_bags_of(bag, dim, pooling, combine, y);
    double work_ns = (double)(bag->nid + hps_bags_names(bag)) * (4 + 0.3 * dim);

    j.rows = rows;
    if (bag->lies || bag->index)
        pool(dev, &j, work_ns);
    else
        strew(dev, &j, work_ns);
}
