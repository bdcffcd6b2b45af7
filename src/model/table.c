/* table.c - a shard of embedding rows with their optimiser states side by side. */
#include "model/table.h"

#include <assert.h>
#include <limits.h>

#include "base/mem.h"
#include "model/snap.h"

enum { CHUNK = 256 };                   /* blocks that one put carries to a device */

long long hps_table_nlocal(long long rows, int part, int k)
{
    long long whole = rows / HPS_TABLE_BLOCK, rest = rows % HPS_TABLE_BLOCK;
    long long mine = whole / k + (whole % k > part);

    return mine * HPS_TABLE_BLOCK + (whole % k == part ? rest : 0);
}

/* One block of local rows, in host memory. */
static void fill_block(const struct hps_table *t, const struct hps_net *net, int index,
                       const struct hps_rule *rule, uint64_t seed, long long block, float *to)
{
    long long first = (block * t->parts + t->part) * HPS_TABLE_BLOCK;
    long long left = t->shape->rows - first;
    long long n = left < HPS_TABLE_BLOCK ? left : HPS_TABLE_BLOCK;

    hps_net_init_rows(net, index, seed, first, n, to, t->stride);
    for (long long r = 0; r < n; r++, to += t->stride)
        hps_opt_start(rule, (size_t)t->dim, to, to + t->dim);
}

/* Host memory is filled in place by all threads: each page lies near one that works on it. */
static void fill(struct hps_table *t, const struct hps_net *net, int index,
                 const struct hps_rule *rule, uint64_t seed)
{
    size_t size = HPS_TABLE_BLOCK * t->stride;
    long long nblock = (t->nrow + HPS_TABLE_BLOCK - 1) / HPS_TABLE_BLOCK;
    long long chunk = t->dev->host ? nblock : CHUNK;
    float *buffer = t->dev->host ? NULL : hps_mem_new(CHUNK * size, sizeof *buffer);

    for (long long first = 0; first < nblock; first += chunk) {
        long long n = nblock - first < chunk ? nblock - first : chunk;
        float *to = buffer ? buffer : t->row;
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(t->dev->nthread)
#endif
        for (long long b = 0; b < n; b++)
            fill_block(t, net, index, rule, seed, first + b, to + (size_t)b * size);
        if (!buffer)
            continue;
        size_t at = (size_t)first * size, all = (size_t)t->nrow * t->stride;
        size_t most = (size_t)n * size;
        t->dev->ops->put(t->dev, t->row + at, buffer,
                         (all - at < most ? all - at : most) * sizeof *buffer);
        t->dev->ops->sync(t->dev);
    }
    hps_mem_free(buffer);
}

enum hps_status hps_table_new(struct hps_table **out, const struct hps_net *net, int index,
                              int part, int parts, struct hps_dev *dev,
                              const struct hps_train_opt *opt, uint64_t seed)
{
    const struct hps_table_shape *shape = &net->table[index];
    long long nrow = hps_table_nlocal(shape->rows, part, parts);
    struct hps_rule rule = hps_opt_rule(opt, &shape->own, 0, 1);
    struct hps_table *t;

    assert(0 <= part && part < parts);
    *out = NULL;
    if (nrow > INT_MAX) {
        HPS_SAY_ALL(HPS_ERROR,
                    "table '%s': %lld of its %lld rows come to one rank, the most is %d: "
                    "more ranks or fewer buckets are needed",
                    shape->name, nrow, shape->rows, INT_MAX);
        return HPS_DECK;
    }
    t = hps_mem_new(1, sizeof *t);
    *t = (struct hps_table){ .shape = shape, .part = part, .parts = parts, .nrow = nrow,
                             .dim = shape->dim, .stride = hps_rule_stride(&rule, shape->dim),
                             .dev = dev };
    t->row = dev->ops->alloc(dev, (size_t)nrow * t->stride * sizeof *t->row);
    fill(t, net, index, &rule, seed);
    *out = t;
    return HPS_OK;
}

void hps_table_free(struct hps_table *t)
{
    if (!t)
        return;
    t->dev->ops->free(t->dev, t->row);
    hps_mem_free(t);
}

void hps_table_gather(struct hps_table *t, size_t n, const int *at, float *out)
{
    if (n > 0)
        t->dev->ops->rows_gather(t->dev, t->row, t->stride, t->dim, n, at, out);
}

void hps_table_apply(struct hps_table *t, const struct hps_rule *rule, size_t n, const int *at,
                     const struct hps_row_sums *grad)
{
    if (n == 0)
        return;
    if (t->snap)
        hps_snap_change(t->snap, n, at);
    t->dev->ops->rows_apply(t->dev, rule, t->row, t->stride, t->dim, n, at, grad);
    if (!t->snap)
        return;
    t->dev->ops->sync(t->dev);
    hps_snap_changed(t->snap);
}
