/* tier_file.c - host memory has slots for some rows of a shard, a file the others (ps/row_store.h),
 * which the tables of a request have together. */
#include "ps/row_store.h"
#include "ps/table.h"
#include "ps/tier.h"

static void alloc_rows(struct hps_table *t)
{
    void *slots = t->dev->ops->alloc(t->dev, (size_t)hps_slots_count(t->slots) * t->format.bytes);

    if (hps_row_format_is_plain(&t->format))
        t->row = slots;
    else
        t->encoded = slots;
}

static void free_rows(struct hps_table *t)
{
    t->dev->ops->free(t->dev, t->row);
    t->dev->ops->free(t->dev, t->encoded);
}

static float *host(const struct hps_table *t)
{
    (void)t;
    return NULL;
}

static enum hps_status read_rows(struct hps_table *t, long long first, long long n, float *x)
{
    return hps_row_store_read(t->store, t, first, n, x);
}

static void set(struct hps_table *t, long long first, long long n, const float *x)
{
    hps_row_store_write(t->store, t, first, n, x);
}

const struct hps_tier_ops hps_tier_file = { .name = "file",
                                            .alloc = alloc_rows,
                                            .free = free_rows,
                                            .host = host,
                                            .read = read_rows,
                                            .set = set };
