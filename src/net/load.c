/* load.c - arrays packed one behind another, and their copy. */
#include "net/load.h"

#include <assert.h>
#include <string.h>

static size_t aligned(size_t bytes)
{
    return (bytes + HPS_LOAD_ALIGN - 1) / HPS_LOAD_ALIGN * HPS_LOAD_ALIGN;
}

void hps_load_begin(struct hps_load *l, struct hps_dev *dev, size_t bytes, size_t narray)
{
    size_t need = aligned(bytes) + narray * HPS_LOAD_ALIGN;

    l->n = 0;
    if (dev->host) return;
    if (!l->copied) l->copied = dev->ops->event_new(dev);
    hps_dev_wait(dev, l->copied);
    if (need <= l->cap) return;
    dev->ops->unpin(dev, l->host);
    dev->ops->free(dev, l->device);
    l->cap = need + need / 2;
    l->host = dev->ops->pin(dev, l->cap);
    l->device = dev->ops->alloc(dev, l->cap);
}

const void *hps_load_add(struct hps_load *l, struct hps_dev *dev, const void *src, size_t bytes)
{
    if (dev->host || !src) return src;
    assert(l->n + bytes <= l->cap);
    memcpy(l->host + l->n, src, bytes);
    const char *at = l->device + l->n;
    l->n += aligned(bytes);
    return at;
}

void hps_load_copy(struct hps_load *l, struct hps_dev *dev)
{
    if (dev->host) return;
    dev->ops->copy_to_device_async(dev, HPS_STREAM_FEED, l->device, l->host,
                                   l->n < l->cap ? l->n : l->cap);
    dev->ops->event_record(dev, l->copied, HPS_STREAM_FEED);
}

void hps_load_batch(struct hps_load *l, struct hps_dev *dev, int M, const struct hps_batch *batch,
                    struct hps_load_raw *raw)
{
    size_t D = (size_t)batch->data->D, rows = 0;

    for (int m = 0; m < M; m++)
        rows += (size_t)batch[m].B;
    hps_load_begin(l, dev, rows * (sizeof(long long) + (1 + D) * sizeof(float)), 3 * (size_t)M);
    for (int m = 0; m < M; m++) {
        const struct hps_batch *b = &batch[m];
        size_t B = (size_t)b->B;
        raw[m].example = hps_load_add(l, dev, b->example, B * sizeof *b->example);
        raw[m].label = hps_load_add(l, dev, b->label, B * sizeof *b->label);
        raw[m].dense = hps_load_add(l, dev, b->dense, B * D * sizeof *b->dense);
    }
    hps_load_copy(l, dev);
}

void hps_load_free(struct hps_load *l, struct hps_dev *dev)
{
    if (dev->host || !l->copied) return;
    hps_dev_wait(dev, l->copied);
    dev->ops->unpin(dev, l->host);
    dev->ops->free(dev, l->device);
    dev->ops->event_free(dev, l->copied);
}
