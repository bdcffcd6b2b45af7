/* cpu_bags.c - the forward of pooled bags: sums of short vectors at random addresses.
 *
 * Such loops are bound by the latency of memory, so rows are prefetched. Common lengths of a row
 * are compiled as constants. */
#include <string.h>

#include "hw/cpu/cpu_bags_impl.h"
#include "hw/row_format.h"

/* Rows to prefetch ahead where they are in any order and many are in a cache already: the others
 * must be requested earlier. */
#define FAR 160

/* The rows of ids: by number in the table; by index, all gathered; by index, gathered or in the
 * table; by number in a table that is encoded as these. */
enum rows { TABLE, TABLE_COLD, GATHERED, ANYWHERE, IN_BF16, IN_FP16, IN_INT8 };

HPS_INLINE const float *row_of_id(const struct hps_bags *j, size_t i, enum rows rows, size_t dim)
{
    const struct hps_lookup *l = &j->lookup;

    switch (rows) {
    case TABLE:
    case TABLE_COLD:
        return l->rows.table + (size_t)l->of.in_table.row[i] * l->rows.stride;
    case GATHERED:
        return l->rows.gathered + (size_t)l->of.index[i] * dim;
    default:
        return hps_lookup_row(&l->rows, l->of.index[i], dim);
    }
}

HPS_INLINE void fetch_ahead(const struct hps_bags *j, size_t i, enum rows rows, size_t dim)
{
    i += rows == TABLE ? FAR : HPS_CPU_PREFETCH;
    if (i < j->lookup.nid) hps_cpu_prefetch(row_of_id(j, i, rows, dim), dim);
}

HPS_INLINE const unsigned char *encoded_of_id(const struct hps_bags *j, size_t i)
{
    const struct hps_lookup *l = &j->lookup;

    return l->rows.encoded + (size_t)l->of.in_table.row[i] * l->rows.format->bytes;
}

typedef uint16_t halves8 __attribute__((vector_size(16)));
typedef uint32_t words8 __attribute__((vector_size(32)));

/* to += share * 8 numbers in bf16: as in hps_cpu_row_add, so that sums stay in registers. */
HPS_INLINE void add_bf16(const unsigned char *from, float share, float *to)
{
    halves8 half;
    hps_cpu_eight x;

    memcpy(&half, from, sizeof half);
    words8 bits = __builtin_convertvector(half, words8) << 16;
    memcpy(&x, &bits, sizeof x);
    *(hps_cpu_eight *)to += share * x;
}

HPS_INLINE void add_encoded_row(enum hps_number kind, const unsigned char *restrict from,
                                float share, float *restrict to, size_t dim)
{
    if (kind == HPS_AS_BF16 && dim == 16) {
        add_bf16(from, share, to);
        add_bf16(from + sizeof(halves8), share, to + 8);
        return;
    }
    for (size_t d = 0; d < dim; d++)
        to[d] += share * hps_row_number(kind, from, d);
}

/* to += the rows of ids first..last-1. */
HPS_INLINE void add_encoded(const struct hps_bags *j, size_t first, size_t last,
                            enum hps_number kind, float share, float *restrict to, size_t dim)
{
    size_t ahead = j->lookup.of.in_table.cold ? HPS_CPU_PREFETCH : FAR;
    size_t bytes = j->lookup.rows.format->state_at;

    for (size_t i = first; i < last; i++) {
        if (i + ahead < j->lookup.nid) {
            const unsigned char *next = encoded_of_id(j, i + ahead);
            __builtin_prefetch(next);
            __builtin_prefetch(next + bytes - 1);
        }
        add_encoded_row(kind, encoded_of_id(j, i), share, to, dim);
    }
}

/* to += the rows of ids first..last-1. */
HPS_INLINE void add_ids(const struct hps_bags *j, size_t first, size_t last, enum rows rows,
                        float share, float *to, size_t dim)
{
    if (rows >= IN_BF16) {
        enum hps_number kind = rows == IN_BF16   ? HPS_AS_BF16
                               : rows == IN_FP16 ? HPS_AS_FP16
                                                 : HPS_AS_INT8;
        add_encoded(j, first, last, kind, share, to, dim);
        return;
    }
    for (size_t i = first; i < last; i++) {
        fetch_ahead(j, i, rows, dim);
        hps_cpu_row_add(to, row_of_id(j, i, rows, dim), share, dim);
    }
}

/* to += the hot rows of hot ids first..last-1. */
HPS_INLINE void add_hot(const struct hps_bags *j, int first, int last, float share, float *to,
                        size_t dim)
{
    for (int k = first; k < last; k++)
        hps_cpu_row_add(to, j->hot + (size_t)j->lookup.hot.number[k] * dim, share, dim);
}

/* to (+)= the rows of bag `at`: in registers where dim is short; first the other rows, then the hot
 * ones. */
HPS_INLINE void pool_ids(const struct hps_bags *j, size_t at, bool begin, enum rows rows,
                         float share, float *to, size_t dim)
{
    size_t first = hps_bags_start(&j->lookup, at), last = hps_bags_start(&j->lookup, at + 1);
    float sum[HPS_CPU_SHORT] = { 0 };

    if (dim > HPS_CPU_SHORT) {
        if (begin) memset(to, 0, dim * sizeof *to);
        add_ids(j, first, last, rows, share, to, dim);
        return;
    }
    if (!begin) hps_cpu_row_set(sum, to, dim);
    add_ids(j, first, last, rows, share, sum, dim);
    hps_cpu_row_set(to, sum, dim);
}

HPS_INLINE void pool_hot(const struct hps_bags *j, size_t at, float share, float *to, size_t dim)
{
    const int *name = j->lookup.hot.begin + at;
    float sum[HPS_CPU_SHORT];

    if (dim > HPS_CPU_SHORT) {
        add_hot(j, name[0], name[1], share, to, dim);
        return;
    }
    hps_cpu_row_set(sum, to, dim);
    add_hot(j, name[0], name[1], share, sum, dim);
    hps_cpu_row_set(to, sum, dim);
}

/* Bags of slot s for the examples b0 .. b1-1. The first bag of an output overwrites it. */
HPS_INLINE void pool_slot(const struct hps_bags *j, size_t s, size_t b0, size_t b1,
                          enum rows rows, bool mean, size_t dim)
{
    bool begin = j->concat || s == 0;
    float *y = j->y.data + (j->concat ? s * dim : 0);

    for (size_t b = b0; b < b1; b++) {
        size_t at = s * (size_t)j->lookup.B + b;
        float share = mean ? hps_bags_share(j, at) : 1, *to = y + (b - j->first) * j->y.ld;
        pool_ids(j, at, begin, rows, share, to, dim);
        if (j->lookup.hot.n > 0) pool_hot(j, at, share, to, dim);
    }
}

HPS_MULTIVERSION static void pool_encoded(const struct hps_bags *j, size_t b0, size_t b1)
{
    for (size_t s = 0; s < (size_t)j->lookup.nslot; s++)
        switch (j->lookup.rows.format->weights) {
        case HPS_AS_BF16:
            HPS_CPU_WITH_DIM(j->dim, pool_slot, j, s, b0, b1, IN_BF16, j->mean);
            break;
        case HPS_AS_FP16: pool_slot(j, s, b0, b1, IN_FP16, j->mean, j->dim); break;
        case HPS_AS_INT8: pool_slot(j, s, b0, b1, IN_INT8, j->mean, j->dim); break;
        case HPS_AS_FP32: break;           /* not encoded: states alone are */
        }
}

/* Sums of rows that are all gathered or all in the table: the common cases, compiled by
 * themselves. */
HPS_MULTIVERSION static void pool_block(const struct hps_bags *j, size_t b0, size_t b1)
{
    const struct hps_lookup *l = &j->lookup;
    enum rows rows = l->form == HPS_ROWS_IN_TABLE ? (l->of.in_table.cold ? TABLE_COLD : TABLE)
                     : l->rows.at                 ? ANYWHERE
                                                  : GATHERED;

    for (size_t s = 0; s < (size_t)j->lookup.nslot; s++)
        if (rows == TABLE && !j->mean) {
            HPS_CPU_WITH_DIM(j->dim, pool_slot, j, s, b0, b1, TABLE, false);
        } else if (rows == TABLE_COLD && !j->mean) {
            HPS_CPU_WITH_DIM(j->dim, pool_slot, j, s, b0, b1, TABLE_COLD, false);
        } else if (rows == GATHERED && !j->mean) {
            HPS_CPU_WITH_DIM(j->dim, pool_slot, j, s, b0, b1, GATHERED, false);
        } else {
            HPS_CPU_WITH_DIM(j->dim, pool_slot, j, s, b0, b1, rows, j->mean);
        }
}

static void pool_any(const struct hps_bags *j, size_t b0, size_t b1)
{
    if (j->lookup.rows.encoded)
        pool_encoded(j, b0, b1);
    else
        pool_block(j, b0, b1);
}

/* A block of fp32 sums stays in the cache until it is rounded. */
static void pool_rounded(struct hps_bags *j, size_t b0, size_t b1)
{
    j->first = b0;
    j->y.data = (float *)(void *)((char *)j->block + (size_t)hps_cpu_thread() * j->block_stride);
    pool_any(j, b0, b1);
    j->bf16->round(b1 - b0, (size_t)j->y.width, j->y.data, j->y.ld,
                   j->rounded + b0 * j->ldrounded, j->ldrounded);
}

static void pool_task(const void *job, int t, int n)
{
    struct hps_bags j = *(const struct hps_bags *)job;
    size_t B = (size_t)j.lookup.B, last = hps_cpu_cut(B, HPS_CPU_GRAIN, t + 1, n), end;

    for (size_t b = hps_cpu_cut(B, HPS_CPU_GRAIN, t, n); b < last; b = end) {
        end = b + HPS_BAGS_BLOCK < last ? b + HPS_BAGS_BLOCK : last;
        if (j.rounded)
            pool_rounded(&j, b, end);
        else
            pool_any(&j, b, end);
    }
}

/* Copy the hot rows to contiguous memory. */
static void gather_hot(const void *job, int t, int n)
{
    const struct hps_bags *j = job;
    size_t N = (size_t)j->lookup.hot.n, last = hps_cpu_cut(N, 1, t + 1, n);
    const int *place = j->lookup.by_row.row + j->lookup.by_row.n - N;
    const struct hps_rows *rows = &j->lookup.rows;

    for (size_t i = hps_cpu_cut(N, 1, t, n); i < last; i++) {
        float *to = j->hot + i * j->dim;
        if (rows->encoded)
            hps_row_load(rows->format->weights,
                         rows->encoded + (size_t)rows->at[place[i]] * rows->format->bytes, j->dim,
                         to);
        else
            memcpy(to, hps_lookup_row(rows, place[i], j->dim), j->dim * sizeof *to);
    }
}

/* Into `out`. */
static void pool(struct hps_dev *dev, struct hps_bags *j, struct hps_tensor out, double work_ns)
{
    size_t B = (size_t)j->lookup.B, hot = (size_t)j->lookup.hot.n;

    if (j->rounded) {
        size_t bytes = HPS_BAGS_BLOCK * j->y.ld * sizeof *j->block;
        j->block = (float *)(void *)hps_cpu_block_scratch(dev, bytes, &j->block_stride);
    }
    hps_cpu_queue_writes(dev, B, out);
    if (hot > 0) {
        j->hot = hps_cpu_queue_scratch(dev, hot * j->dim * sizeof *j->hot);
        hps_cpu_queue_first(dev, (double)hot * (2 + 0.1 * (double)j->dim),
                            hps_cpu_ntask(dev, hot, HPS_BAGS_TASK), gather_hot, j, sizeof *j);
    }
    hps_cpu_queue_rows(dev, B, work_ns, hps_cpu_ntask(dev, B, HPS_BAGS_BLOCK), pool_task, j,
                       sizeof *j);
}

/* ---- by row: each row is read once and added to all of its bags ---- */

HPS_INLINE void scatter_row(const struct hps_bags *j, size_t i, float *y, bool plain, bool one_id,
                            size_t dim)
{
    const float *row = hps_lookup_row(&j->lookup.rows, j->lookup.by_row.row[i], dim);
    const int *from = j->lookup.by_row.bag;

    for (int k = j->lookup.by_row.start[i], end = j->lookup.by_row.start[i + 1]; k < end; k++) {
        float *to = y + hps_bags_output(j, from[k], plain, dim);
        hps_cpu_prefetch(y + hps_bags_output(j, hps_bags_ahead(j, k), plain, dim), dim);
        if (one_id)
            hps_cpu_row_set(to, row, dim);
        else
            hps_cpu_row_add(to, row, plain || !j->mean ? 1 : hps_bags_share_of(j, from[k]), dim);
    }
}

HPS_INLINE void scatter_all(const struct hps_bags *j, size_t first, size_t last, float *y,
                            bool plain, bool one_id, size_t dim)
{
    const struct hps_lookup *lookup = &j->lookup;
    size_t ahead = HPS_CPU_PREFETCH;

    for (size_t i = first; i < last; i++) {
        size_t next = i + ahead < last ? i + ahead : i;
        hps_cpu_prefetch(hps_lookup_row(&j->lookup.rows, lookup->by_row.row[next], dim), dim);
        scatter_row(j, i, y, plain, one_id, dim);
    }
}

HPS_INLINE void scatter_rows(const struct hps_bags *j, size_t first, size_t last, float *y,
                             size_t dim)
{
    if (hps_bags_plain(j) && j->one_id)
        scatter_all(j, first, last, y, true, true, dim);
    else if (hps_bags_plain(j))
        scatter_all(j, first, last, y, true, false, dim);
    else if (j->one_id)
        scatter_all(j, first, last, y, false, true, dim);
    else
        scatter_all(j, first, last, y, false, false, dim);
}

HPS_MULTIVERSION static void scatter_span(const struct hps_bags *j, size_t first, size_t last,
                                          float *y)
{
    HPS_CPU_WITH_DIM(j->dim, scatter_rows, j, first, last, y);
}

/* The rows of thread t: into y, or, for all threads but the first, into a private y. */
static void scatter_task(const void *job, int t, int n)
{
    const struct hps_bags *j = job;
    float *y = j->y.data;
    size_t width = (size_t)j->y.width, B = (size_t)j->lookup.B;

    if (t > 0 && j->private_y) y = j->private_y + (size_t)(t - 1) * j->y.ld * B;
    for (size_t b = 0; b < B && !j->one_id; b++)
        memset(y + b * j->y.ld, 0, width * sizeof *y);
    scatter_span(j, hps_bags_cut(&j->lookup, t, n), hps_bags_cut(&j->lookup, t + 1, n), y);
}

/* Add the private sums of the other threads to y, for some examples. */
static void join_task(const void *job, int t, int n)
{
    const struct hps_bags *j = job;
    size_t ld = j->y.ld, B = (size_t)j->lookup.B, last = hps_cpu_cut(B, 1, t + 1, n);

    for (size_t b = hps_cpu_cut(B, 1, t, n); b < last; b++) {
        float *y = j->y.data + b * ld;
        for (int k = 0; j->private_y && k < n - 1; k++)
            hps_cpu_row_add(y, j->private_y + ((size_t)k * B + b) * ld, 1, (size_t)j->y.width);
        if (j->rounded)
            j->bf16->round(1, (size_t)j->y.width, y, ld, j->rounded + b * j->ldrounded,
                           j->ldrounded);
    }
}

static void scatter(struct hps_dev *dev, struct hps_bags *j, double work_ns)
{
    size_t all = (size_t)j->lookup.B * j->y.ld;
    size_t nprivate = j->one_id ? 0 : (size_t)(dev->nthread - 1), nsum = j->rounded ? 1 : 0;

    if (all == 0) return;
    float *scratch = hps_cpu_scratch(dev, (nprivate + nsum) * all * sizeof *scratch);

    if (j->rounded) j->y.data = scratch;
    if (nprivate > 0) j->private_y = scratch + nsum * all;
    hps_cpu_parallel_for(dev, work_ns, scatter_task, j);
    if (nprivate + nsum > 0) hps_cpu_parallel_for(dev, (double)all * dev->nthread, join_task, j);
}

/* ---- the operation ---- */

void hps_cpu_bag_forward(struct hps_dev *dev, const struct hps_lookup *lookup, int dim,
                         enum hps_pool_kind pooling, enum hps_combine combine, struct hps_tensor y)
{
    struct hps_tensor sums = y.rounded ? hps_tensor_of(NULL, y.width) : y;
    struct hps_bags j = hps_bags_of(lookup, dim, pooling, combine, sums);
    double work_ns = (double)(lookup->nid + hps_bags_hot_count(lookup)) * (4 + 0.3 * dim);

    if (y.rounded) {
        j.rounded = y.rounded;
        j.ldrounded = y.ld;
        j.bf16 = hps_cpu_bf16_lib(dev, dev->precision);
    }
    if (lookup->form == HPS_ROWS_IN_ORDER)
        scatter(dev, &j, work_ns);
    else
        pool(dev, &j, y, work_ns);
}
