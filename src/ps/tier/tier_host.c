/* tier_host.c - mapped host memory has all rows of a shard, slots of the device's memory those that
 * steps needed of late. */
#include <string.h>

#include "base/mem.h"
#include "ps/slots.h"
#include "ps/table.h"
#include "ps/tier.h"

static size_t row_bytes(const struct hps_table *t)
{
    return t->stride * sizeof *t->row;
}

static void alloc_rows(struct hps_table *t)
{
    const struct hps_dev_ops *ops = t->dev->ops;

    t->backing = ops->pin_mapped(t->dev, (size_t)t->nrow * row_bytes(t));
    t->row = ops->alloc(t->dev, (size_t)hps_slots_count(t->slots) * row_bytes(t));
}

static void free_rows(struct hps_table *t)
{
    t->dev->ops->free(t->dev, t->row);
    t->dev->ops->unpin(t->dev, t->backing);
}

static float *host(const struct hps_table *t)
{
    return t->backing;
}

static void fetch(struct hps_table *t, size_t n, const int *row, const int *slot)
{
    t->dev->ops->rows->move(t->dev, t->stride, n, row, t->backing, slot, t->row);
}

static void evict(struct hps_table *t, size_t n, const int *row, const int *slot)
{
    t->dev->ops->rows->move(t->dev, t->stride, n, slot, t->row, row, t->backing);
}

static void resize(struct hps_table *t, int slots)
{
    t->dev->ops->free(t->dev, t->row);
    t->row = t->dev->ops->alloc(t->dev, (size_t)slots * row_bytes(t));
}

/* Rows that are in slots are newer than those of the backing store. */
static void copy(struct hps_table *t, float *to)
{
    struct hps_slots_moves in = hps_slots_all(t->slots);
    size_t n = (size_t)hps_slots_count(t->slots), stride = t->stride;
    float *slot = hps_mem_new(n, row_bytes(t));

    t->dev->ops->sync(t->dev);
    memcpy(to, t->backing, (size_t)t->nrow * row_bytes(t));
    t->dev->ops->copy_to_host(t->dev, slot, t->row, n * row_bytes(t));
    for (size_t i = 0; i < in.nout; i++)
        memcpy(to + (size_t)in.out_row[i] * stride, slot + (size_t)in.out_slot[i] * stride,
               row_bytes(t));
    hps_mem_free(slot);
}

static void set(struct hps_table *t, long long first, long long n, const float *x)
{
    hps_slots_forget(t->slots);
    memcpy(t->backing + (size_t)first * t->stride, x, (size_t)n * row_bytes(t));
}

const struct hps_tier_ops hps_tier_host = { .name = "host",
                                            .alloc = alloc_rows,
                                            .free = free_rows,
                                            .host = host,
                                            .fetch = fetch,
                                            .evict = evict,
                                            .resize = resize,
                                            .copy = copy,
                                            .set = set };
