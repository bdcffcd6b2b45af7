/* cpu_bags_back.c - the backward of pooled bags: gradients of rows, by id, by row, and of hot rows
 * by bag. */
#include <string.h>

#include "hw/cpu/cpu_bags_impl.h"

#define PENDING 256             /* ids that a thread collects before it adds their gradients    */
#define MAX_HOT_TASKS 16        /* each has partial gradients of all hot rows                    */

/* Gradients that are to be added: the row, and where its gradient is in dy. */
struct pending {
    size_t n;
    size_t row[PENDING], from[PENDING];
    float share[PENDING];
};

HPS_INLINE void add_pending(const struct hps_bags *j, struct pending *p, size_t dim)
{
    for (size_t i = 0; i < p->n; i++) {
        if (i + HPS_CPU_PREFETCH < p->n)
            hps_cpu_prefetch(j->grad + p->row[i + HPS_CPU_PREFETCH] * dim, dim);
        hps_cpu_row_add(j->grad + p->row[i] * dim, j->y.data + p->from[i], p->share[i], dim);
    }
    p->n = 0;
}

HPS_MULTIVERSION static void flush(const struct hps_bags *j, struct pending *p)
{
    HPS_CPU_WITH_DIM(j->dim, add_pending, j, p);
}

/* Each row belongs to one of n threads: blocks of 16 rows are distributed by a multiplicative hash
 * (Knuth), since hot rows are neighbours. */
static inline bool is_mine(size_t row, size_t t, size_t n)
{
    uint32_t h = (uint32_t)(row >> 4) * 2654435761u;
    return ((uint64_t)h * n) >> 32 == t;
}

/* Each thread reads all ids and adds to its own rows only, in the order of the ids, so that the
 * sums are the same for any number of threads. */
static void spill_task(const void *job, int t, int n)
{
    const struct hps_bags *j = job;
    const struct hps_lookup *lookup = &j->lookup;
    struct pending p = { .n = 0 };

    for (size_t s = 0, at = 0; s < (size_t)lookup->nslot; s++)
        for (size_t b = 0; b < (size_t)lookup->B; b++, at++) {
            size_t first = hps_bags_start(lookup, at), last = hps_bags_start(lookup, at + 1);
            float share = hps_bags_share(j, at);
            for (size_t i = first; i < last; i++) {
                p.row[p.n] = (size_t)lookup->of.index[i];
                p.from[p.n] = b * j->y.ld + (j->concat ? s * j->dim : 0);
                p.share[p.n] = share;
                p.n += is_mine(p.row[p.n], (size_t)t, (size_t)n);
                if (p.n == PENDING) flush(j, &p);
            }
        }
    flush(j, &p);
}

HPS_INLINE void sum_row(const struct hps_bags *j, size_t i, float *sum, bool plain, size_t dim)
{
    const int *from = j->lookup.by_row.bag;
    const float *dy = j->y.data;

    for (int k = j->lookup.by_row.start[i], end = j->lookup.by_row.start[i + 1]; k < end; k++) {
        float share = plain || !j->mean ? 1 : hps_bags_share_of(j, from[k]);
        hps_cpu_prefetch(dy + hps_bags_output(j, hps_bags_ahead(j, k), plain, dim), dim);
        hps_cpu_row_add(sum, dy + hps_bags_output(j, from[k], plain, dim), share, dim);
    }
}

/* By row: each row is written once, with the sum over its bags. */
HPS_INLINE void sum_all(const struct hps_bags *j, size_t first, size_t last, bool plain, size_t dim)
{
    float sum[HPS_CPU_SHORT];

    for (size_t i = first; i < last; i++) {
        float *to = j->grad + (size_t)j->lookup.by_row.row[i] * dim;
        float *here = dim <= HPS_CPU_SHORT ? sum : to;
        if (!j->add)
            memset(here, 0, dim * sizeof *here);
        else if (here != to)
            hps_cpu_row_set(here, to, dim);
        sum_row(j, i, here, plain, dim);
        if (here != to) hps_cpu_row_set(to, here, dim);
    }
}

HPS_INLINE void sum_rows(const struct hps_bags *j, size_t first, size_t last, size_t dim)
{
    if (hps_bags_plain(j))
        sum_all(j, first, last, true, dim);
    else
        sum_all(j, first, last, false, dim);
}

HPS_MULTIVERSION static void sum_span(const struct hps_bags *j, size_t first, size_t last)
{
    HPS_CPU_WITH_DIM(j->dim, sum_rows, j, first, last);
}

static void sum_task(const void *job, int t, int n)
{
    const struct hps_bags *j = job;
    sum_span(j, hps_bags_cut(&j->lookup, t, n), hps_bags_cut(&j->lookup, t + 1, n));
}

/* ---- gradients of hot rows, by bag ---- */

/* The number of tasks, each with partial gradients of its own, whose cost is small beside that
 * of the bags. It depends on the bags alone, and so do the bits. */
static int hot_tasks(const struct hps_lookup *lookup)
{
    size_t n = (size_t)lookup->B / HPS_BAGS_BLOCK;
    size_t few = hps_bags_hot_count(lookup) / (4 * (size_t)lookup->hot.n);

    n = n < few ? n : few;
    n = n < MAX_HOT_TASKS ? n : MAX_HOT_TASKS;
    return n > 0 ? (int)n : 1;
}

HPS_INLINE void add_hot_slot(const struct hps_bags *j, size_t s, size_t b0, size_t b1,
                             float *grad, size_t dim)
{
    const struct hps_lookup *lookup = &j->lookup;
    const float *dy = j->y.data + (j->concat ? s * dim : 0);

    for (size_t b = b0, at = s * (size_t)lookup->B + b0; b < b1; b++, at++) {
        float share = hps_bags_share(j, at);
        for (int k = lookup->hot.begin[at]; k < lookup->hot.begin[at + 1]; k++)
            hps_cpu_row_add(grad + (size_t)lookup->hot.number[k] * dim, dy + b * j->y.ld, share,
                            dim);
    }
}

HPS_MULTIVERSION static void add_hot_gradients(const struct hps_bags *j, size_t b0, size_t b1,
                                               float *grad)
{
    for (size_t s = 0; s < (size_t)j->lookup.nslot; s++)
        HPS_CPU_WITH_DIM(j->dim, add_hot_slot, j, s, b0, b1, grad);
}

static void hot_task(const void *job, int t, int n)
{
    const struct hps_bags *j = job;
    size_t B = (size_t)j->lookup.B, all = (size_t)j->lookup.hot.n * j->dim;
    float *grad = j->hot_grad + (size_t)t * all;

    memset(grad, 0, all * sizeof *grad);
    add_hot_gradients(j, hps_cpu_cut(B, 1, t, n), hps_cpu_cut(B, 1, t + 1, n), grad);
}

/* Add them to the gradients that the rows have. */
static void join_hot(const void *job, int t, int n)
{
    const struct hps_bags *j = job;
    size_t N = (size_t)j->lookup.hot.n, first = j->lookup.by_row.n - N;

    for (size_t i = hps_cpu_cut(N, 1, t, n); i < hps_cpu_cut(N, 1, t + 1, n); i++)
        for (size_t k = 0; k < (size_t)j->nhot_grad; k++)
            hps_cpu_row_add(j->grad + (size_t)j->lookup.by_row.row[first + i] * j->dim,
                            j->hot_grad + (k * N + i) * j->dim, 1, j->dim);
}

static void sum_hot(struct hps_dev *dev, struct hps_bags *j)
{
    size_t all = (size_t)j->lookup.hot.n * j->dim;
    double add_ns = 1 + 0.1 * (double)j->dim;

    j->nhot_grad = hot_tasks(&j->lookup);
    j->hot_grad = hps_cpu_queue_scratch(dev, (size_t)j->nhot_grad * all * sizeof *j->hot_grad);
    hps_cpu_queue_beside(dev, (double)hps_bags_hot_count(&j->lookup) * add_ns, j->nhot_grad,
                         hot_task, j, sizeof *j);
    hps_cpu_queue_reads(dev, (size_t)j->lookup.B, j->y);
    hps_cpu_queue_after(dev, j->nhot_grad * j->lookup.hot.n * add_ns,
                        hps_cpu_ntask(dev, (size_t)j->lookup.hot.n, HPS_BAGS_TASK), join_hot, j,
                        sizeof *j);
}

void hps_cpu_bag_backward(struct hps_dev *dev, const struct hps_lookup *lookup, int dim,
                          enum hps_pool_kind pool, enum hps_combine combine, struct hps_tensor dy,
                          bool add)
{
    struct hps_bags j = hps_bags_of(lookup, dim, pool, combine, dy);
    const struct hps_row_bags *by_row = &lookup->by_row;
    size_t nrow = lookup->grad->nrow;

    j.grad = lookup->grad->row;
    j.add = add;
    if (!add && nrow > (by_row->row ? by_row->n : 0)) {
        hps_cpu_queue_wait(dev);
        memset(j.grad, 0, nrow * (size_t)dim * sizeof *j.grad);
    }
    int ntask = by_row->row ? hps_cpu_ntask(dev, by_row->n, HPS_BAGS_TASK) : dev->nthread;
    hps_cpu_queue_beside(dev, (double)lookup->nid * (5 + 0.3 * dim), ntask,
                         by_row->row ? sum_task : spill_task, &j, sizeof j);
    hps_cpu_queue_reads(dev, (size_t)lookup->B, dy);
    if (by_row->row && lookup->hot.n > 0) sum_hot(dev, &j);
}
