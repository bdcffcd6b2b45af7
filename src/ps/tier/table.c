/* table.c - a shard of embedding rows with their optimiser states side by side. */
#include "ps/table.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "base/say.h"
#include "ps/snapshot.h"
#include "ps/slots.h"

enum { CHUNK = 256 };                   /* blocks that one put carries to a device */

/* One block of local rows, in host memory. */
static void fill_block(const struct hps_table *t, const struct hps_net *net, int index,
                       const struct hps_rule *rule, uint64_t seed, long long block, float *to)
{
    long long first = (block * t->parts + t->part) * HPS_CYCLIC_BLOCK;
    long long left = t->shape->rows - first;
    long long n = left < HPS_CYCLIC_BLOCK ? left : HPS_CYCLIC_BLOCK;

    hps_net_init_rows(net, index, seed, first, n, to, t->stride);
    for (long long r = 0; r < n; r++, to += t->stride)
        hps_opt_start(rule, (size_t)t->dim, to, to + t->dim);
}

/* Blocks from `first` on, in host memory, by all threads: each page lies near one that works on
 * it. */
static void fill_blocks(const struct hps_table *t, const struct hps_net *net, int index,
                        const struct hps_rule *rule, uint64_t seed, long long first, long long n,
                        float *to)
{
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(t->dev->nthread)
#endif
    for (long long b = 0; b < n; b++)
        fill_block(t, net, index, rule, seed, first + b,
                   to + (size_t)b * HPS_CYCLIC_BLOCK * t->stride);
}

static void fill(struct hps_table *t, const struct hps_net *net, int index,
                 const struct hps_rule *rule, uint64_t seed)
{
    size_t size = HPS_CYCLIC_BLOCK * t->stride, all = (size_t)t->nrow * t->stride;
    long long nblock = (t->nrow + HPS_CYCLIC_BLOCK - 1) / HPS_CYCLIC_BLOCK;
    float *host = hps_table_host(t), *buffer;

    if (host) {
        fill_blocks(t, net, index, rule, seed, 0, nblock, host);
        return;
    }
    buffer = hps_mem_new(CHUNK * size, sizeof *buffer);
    for (long long first = 0; first < nblock; first += CHUNK) {
        size_t at = (size_t)first * size, most = CHUNK * size;
        fill_blocks(t, net, index, rule, seed, first,
                    nblock - first < CHUNK ? nblock - first : CHUNK, buffer);
        t->dev->ops->copy_to_device(t->dev, t->row + at, buffer,
                                    (all - at < most ? all - at : most) * sizeof *buffer);
        t->dev->ops->sync(t->dev);
    }
    hps_mem_free(buffer);
}

enum hps_status hps_table_new(struct hps_table **out, const struct hps_net *net, int index,
                              int part, int parts, struct hps_dev *dev,
                              const struct hps_train_opt *opt, uint64_t seed,
                              struct hps_slots *tier)
{
    const struct hps_table_shape *shape = &net->table[index];
    long long nrow = hps_cyclic_nlocal(shape->rows, part, parts);
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
                             .dev = dev, .tier = tier };
    size_t row_bytes = t->stride * sizeof *t->row;
    if (tier) t->backing = dev->ops->pin_mapped(dev, (size_t)nrow * row_bytes);
    size_t n = tier ? (size_t)hps_slots_count(tier) : (size_t)nrow;
    t->row = dev->ops->alloc(dev, n * row_bytes);
    fill(t, net, index, &rule, seed);
    *out = t;
    return HPS_OK;
}

void hps_table_free(struct hps_table *t)
{
    if (!t) return;
    t->dev->ops->free(t->dev, t->row);
    t->dev->ops->unpin(t->dev, t->backing);
    hps_mem_free(t);
}

void hps_table_fetch(struct hps_table *t, size_t n, const int *row, const int *slot)
{
    t->dev->ops->rows->move(t->dev, t->stride, n, row, t->backing, slot, t->row);
}

void hps_table_return(struct hps_table *t, size_t n, const int *row, const int *slot)
{
    t->dev->ops->rows->move(t->dev, t->stride, n, slot, t->row, row, t->backing);
}

void hps_table_slots(struct hps_table *t, int slots)
{
    t->dev->ops->free(t->dev, t->row);
    t->row = t->dev->ops->alloc(t->dev, (size_t)slots * t->stride * sizeof *t->row);
}

struct hps_shard hps_table_shard(const struct hps_table *t)
{
    return (struct hps_shard){ t->part, t->parts, t->nrow, t->stride };
}

float *hps_table_host(const struct hps_table *t)
{
    return t->dev->host ? t->row : t->backing;
}

/* A copy of what is in slots, put over what is at home. */
static void copy_slots(struct hps_table *t, float *to)
{
    struct hps_slots_moves all = hps_slots_all(t->tier);
    size_t bytes = t->stride * sizeof *to;
    float *slot = hps_mem_new((size_t)hps_slots_count(t->tier), bytes);

    t->dev->ops->copy_to_host(t->dev, slot, t->row, (size_t)hps_slots_count(t->tier) * bytes);
    for (size_t i = 0; i < all.nout; i++)
        memcpy(to + (size_t)all.out_row[i] * t->stride,
               slot + (size_t)all.out_slot[i] * t->stride, bytes);
    hps_mem_free(slot);
}

void hps_table_copy(struct hps_table *t, float *to)
{
    size_t bytes = (size_t)t->nrow * t->stride * sizeof *to;
    const float *host = hps_table_host(t);

    t->dev->ops->sync(t->dev);
    if (host)
        memcpy(to, host, bytes);
    else
        t->dev->ops->copy_to_host(t->dev, to, t->row, bytes);
    if (t->tier) copy_slots(t, to);
}

void hps_table_set(struct hps_table *t, const float *from)
{
    size_t bytes = (size_t)t->nrow * t->stride * sizeof *from;
    float *host = hps_table_host(t);

    if (t->tier) hps_slots_forget(t->tier);
    if (!host)
        t->dev->ops->copy_to_device(t->dev, t->row, from, bytes);
    else if (host != from)
        memcpy(host, from, bytes);
}

void hps_table_gather(struct hps_table *t, size_t n, const int *at, float *out)
{
    if (n > 0) t->dev->ops->rows->gather(t->dev, t->row, t->stride, t->dim, n, at, out);
}

void hps_table_sums(struct hps_table *t, size_t n, const int *begin, const int *row, float *out)
{
    struct hps_lookup lookup = { .nslot = 1,
                                 .B = (int)n,
                                 .nid = (size_t)begin[n],
                                 .offset = begin,
                                 .form = HPS_ROWS_IN_TABLE,
                                 .of.in_table = { row, true },
                                 .rows = { .table = t->row, .stride = t->stride } };
    struct hps_tensor y = { out, (size_t)t->dim, t->dim, false };

    t->dev->ops->rows->bag_forward(t->dev, &lookup, t->dim, HPS_POOL_SUM, HPS_COMBINE_CONCAT, y);
}

void hps_table_apply(struct hps_table *t, const struct hps_rule *rule, size_t n, const int *at,
                     const struct hps_row_sums *grad)
{
    if (n == 0) return;
    if (t->snap) hps_snapshot_change(t->snap, n, at);
    t->dev->ops->rows->apply(t->dev, rule, t->row, t->stride, t->dim, n, at, grad);
    if (!t->snap) return;
    t->dev->ops->sync(t->dev);
    hps_snapshot_changed(t->snap);
}
