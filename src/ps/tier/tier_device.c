/* tier_device.c - the device's memory has all rows of a shard. Where the device is the host, that
 * is host memory. */
#include <string.h>

#include "ps/table.h"
#include "ps/tier.h"

static size_t bytes_of(const struct hps_table *t)
{
    return (size_t)t->nrow * t->stride * sizeof *t->row;
}

static void alloc_rows(struct hps_table *t)
{
    if (hps_row_format_is_plain(&t->format))
        t->row = t->dev->ops->alloc(t->dev, bytes_of(t));
    else
        t->encoded = t->dev->ops->alloc(t->dev, (size_t)t->nrow * t->format.bytes);
}

static void free_rows(struct hps_table *t)
{
    t->dev->ops->free(t->dev, t->row);
    t->dev->ops->free(t->dev, t->encoded);
}

static float *host(const struct hps_table *t)
{
    return t->dev->host ? t->row : NULL;
}

static void copy(struct hps_table *t, float *to)
{
    t->dev->ops->sync(t->dev);
    if (t->dev->host)
        memcpy(to, t->row, bytes_of(t));
    else
        t->dev->ops->copy_to_host(t->dev, to, t->row, bytes_of(t));
}

static enum hps_status read_rows(struct hps_table *t, long long first, long long n, float *x)
{
    hps_table_read(t, first, n, x);
    return HPS_OK;
}

static void set(struct hps_table *t, long long first, long long n, const float *x)
{
    if (t->dev->host)
        hps_table_write(t, first, n, x);
    else
        t->dev->ops->copy_to_device(t->dev, t->row + (size_t)first * t->stride, x,
                                    (size_t)n * t->stride * sizeof *x);
}

const struct hps_tier_ops hps_tier_device = {
    .name = "device", .alloc = alloc_rows, .free = free_rows, .host = host, .read = read_rows,
    .copy = copy, .set = set
};
