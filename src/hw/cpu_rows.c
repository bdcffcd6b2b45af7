/* cpu_rows.c - bags of rows and rows of tables: short vectors at random places.
 *
 * Such loops wait for memory, so the rows ahead are fetched early; the usual lengths of a row are
 * compiled as constants. */
#include "hw/cpu.h"

#define BLOCK 16                /* examples in work at once: what they write stays in the cache */
#define PENDING 256             /* occurrences that a thread collects before it adds them       */
#define INLINE __attribute__((always_inline)) static inline

/* call(args, dim) with the constant where dim is a usual one. */
#define WITH_DIM(dim, call, ...)                                                                   \
    switch (dim) {                                                                                 \
    case 1: call(__VA_ARGS__, 1); break;                                                           \
    case 8: call(__VA_ARGS__, 8); break;                                                           \
    case 10: call(__VA_ARGS__, 10); break;                                                         \
    case 16: call(__VA_ARGS__, 16); break;                                                         \
    default: call(__VA_ARGS__, dim);                                                               \
    }

struct bags {
    const struct hps_bag *bag;
    size_t dim;
    bool mean, concat;
    const float *rows;          /* forward  */
    float *grad;                /* backward */
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

INLINE void add_row(float *restrict to, const float *restrict from, float share, size_t dim)
{
    for (size_t d = 0; d < dim; d++)
        to[d] += share * from[d];
}

INLINE void set_row(float *restrict to, const float *restrict from, float share, size_t dim)
{
    for (size_t d = 0; d < dim; d++)
        to[d] = share * from[d];
}

INLINE void fetch_ahead(const struct bags *j, size_t i, size_t dim)
{
    if (i + HPS_CPU_AHEAD < j->bag->nid)
        hps_cpu_fetch(j->rows + (size_t)j->bag->index[i + HPS_CPU_AHEAD] * dim, dim);
}

/* Bags of slot s for the examples b0 .. b1-1. The first bag into a place of y overwrites it. */
INLINE void pool_slot(const struct bags *j, size_t s, size_t b0, size_t b1, size_t dim)
{
    const struct hps_bag *bag = j->bag;
    bool begin = j->concat || s == 0;
    float *y = j->y.data + (j->concat ? s * dim : 0);

    for (size_t b = b0; b < b1; b++) {
        size_t at = s * (size_t)bag->B + b;
        size_t first = bag_start(bag, at), last = bag_start(bag, at + 1);
        float share = share_of(j, first, last), *to = y + b * j->y.ld;
        if (begin && first == last)
            for (size_t d = 0; d < dim; d++)
                to[d] = 0;
        for (size_t i = first; i < last; i++) {
            const float *row = j->rows + (size_t)bag->index[i] * dim;
            fetch_ahead(j, i, dim);
            if (begin && i == first)
                set_row(to, row, share, dim);
            else
                add_row(to, row, share, dim);
        }
    }
}

HPS_CLONES static void pool_block(const struct bags *j, size_t b0, size_t b1)
{
    for (size_t s = 0; s < (size_t)j->bag->nslot; s++)
        WITH_DIM(j->dim, pool_slot, j, s, b0, b1);
}

static void pool_part(const void *job, int t, int n)
{
    const struct bags *j = job;
    size_t last = hps_cpu_cut((size_t)j->bag->B, BLOCK, t + 1, n);

    for (size_t b = hps_cpu_cut((size_t)j->bag->B, BLOCK, t, n); b < last; b += BLOCK)
        pool_block(j, b, b + BLOCK < last ? b + BLOCK : last);
}

void hps_cpu_bag_forward(struct hps_dev *dev, const struct hps_bag *bag, int dim,
                         enum hps_pool_kind pool, enum hps_combine combine, const float *rows,
                         struct hps_tensor y)
{
    struct bags j = { .bag = bag, .dim = (size_t)dim, .mean = pool == HPS_POOL_MEAN,
                      .concat = combine == HPS_COMBINE_CONCAT, .rows = rows, .y = y };

    hps_cpu_spread(dev, (double)bag->nid * (4 + 0.3 * dim), pool_part, &j);
}

/* Occurrences that wait to be added: the row, and where its gradient is in dy. */
struct pending {
    size_t n;
    size_t row[PENDING], from[PENDING];
    float share[PENDING];
};

INLINE void add_pending(const struct bags *j, struct pending *p, size_t dim)
{
    for (size_t i = 0; i < p->n; i++) {
        if (i + HPS_CPU_AHEAD < p->n)
            hps_cpu_fetch(j->grad + p->row[i + HPS_CPU_AHEAD] * dim, dim);
        add_row(j->grad + p->row[i] * dim, j->y.data + p->from[i], p->share[i], dim);
    }
    p->n = 0;
}

HPS_CLONES static void flush(const struct bags *j, struct pending *p)
{
    WITH_DIM(j->dim, add_pending, j, p);
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
    const struct hps_bag *bag = j->bag;
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

void hps_cpu_bag_backward(struct hps_dev *dev, const struct hps_bag *bag, int dim,
                          enum hps_pool_kind pool, enum hps_combine combine, struct hps_tensor dy,
                          float *rows_grad, size_t nrow)
{
    struct bags j = { .bag = bag, .dim = (size_t)dim, .mean = pool == HPS_POOL_MEAN,
                      .concat = combine == HPS_COMBINE_CONCAT, .grad = rows_grad, .y = dy };

    (void)nrow;
    hps_cpu_spread(dev, (double)bag->nid * (5 + 0.3 * dim), spill_part, &j);
}

struct rows {
    size_t n, dim, stride;
    const int *at;
    const float *from;
    float *to;
};

INLINE void gather_rows(const struct rows *j, size_t i, size_t last, size_t dim)
{
    for (; i < last; i++) {
        if (i + HPS_CPU_AHEAD < j->n)
            hps_cpu_fetch(j->from + (size_t)j->at[i + HPS_CPU_AHEAD] * j->stride, dim);
        set_row(j->to + i * dim, j->from + (size_t)j->at[i] * j->stride, 1, dim);
    }
}

HPS_CLONES static void gather_span(const struct rows *j, size_t first, size_t last)
{
    WITH_DIM(j->dim, gather_rows, j, first, last);
}

static void gather_part(const void *job, int t, int n)
{
    const struct rows *j = job;
    gather_span(j, hps_cpu_cut(j->n, 16, t, n), hps_cpu_cut(j->n, 16, t + 1, n));
}

void hps_cpu_rows_gather(struct hps_dev *dev, const float *table, size_t stride, int dim, size_t n,
                         const int *at, float *out)
{
    struct rows j = { n, (size_t)dim, stride, at, table, out };
    hps_cpu_spread(dev, (double)n * (8 + 0.5 * dim), gather_part, &j);
}

INLINE void add_rows(const struct rows *j, size_t i, size_t last, size_t dim)
{
    for (; i < last; i++) {
        if (i + HPS_CPU_AHEAD < j->n)
            hps_cpu_fetch(j->to + (size_t)j->at[i + HPS_CPU_AHEAD] * dim, dim);
        add_row(j->to + (size_t)j->at[i] * dim, j->from + i * dim, 1, dim);
    }
}

HPS_CLONES static void add_span(const struct rows *j, size_t first, size_t last)
{
    WITH_DIM(j->dim, add_rows, j, first, last);
}

static void add_part(const void *job, int t, int n)
{
    const struct rows *j = job;
    add_span(j, hps_cpu_cut(j->n, 16, t, n), hps_cpu_cut(j->n, 16, t + 1, n));
}

void hps_cpu_rows_add(struct hps_dev *dev, int dim, size_t n, const int *at, const float *from,
                      float *to)
{
    struct rows j = { n, (size_t)dim, (size_t)dim, at, from, to };
    hps_cpu_spread(dev, (double)n * (8 + 0.5 * dim), add_part, &j);
}
