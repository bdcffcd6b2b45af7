/* mirror.c - device memory and its mirror on the host. */
#include "ps/mirror.h"

#include "base/mem.h"

void hps_mirror_free(struct hps_mirror *b, struct hps_dev *dev)
{
    if (b->device && !b->lent) dev->ops->free(dev, b->device);
    if (!dev->host) hps_mem_free(b->host);
}

void hps_mirror_lend(struct hps_mirror *b, void *memory)
{
    b->device = b->host = memory;
    b->lent = true;
}

void hps_mirror_grow(struct hps_mirror *b, struct hps_dev *dev, size_t n)
{
    if (n > b->cap) {
        if (b->device) dev->ops->free(dev, b->device);
        b->cap = hps_mem_room(b->cap, n);
        b->device = dev->ops->alloc(dev, b->cap * sizeof *b->device);
    }
    if (dev->host)
        b->host = b->device;
    else if (!b->lone)
        hps_mem_grow(&b->host, &b->host_cap, n, sizeof *b->host);
}

void hps_mirror_to_host(struct hps_mirror *b, struct hps_dev *dev, size_t n)
{
    if (dev->host || n == 0) return;
    dev->ops->copy_to_host(dev, b->host, b->device, n * sizeof *b->host);
    dev->ops->sync(dev);
}

void hps_mirror_to_device(struct hps_mirror *b, struct hps_dev *dev, size_t at, size_t n)
{
    if (!dev->host && n > 0)
        dev->ops->copy_to_device(dev, b->device + at, b->host + at, n * sizeof *b->host);
}
