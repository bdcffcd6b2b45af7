/* ints.c - numbers made on the host and read on the device. */
#include "model/ints.h"

#include "base/mem.h"

void hps_ints_grow(struct hps_ints *a, size_t n)
{
    hps_mem_grow(&a->host, &a->cap, n, sizeof *a->host);
}

const int *hps_ints_show(struct hps_ints *a, size_t n, struct hps_dev *dev)
{
    if (dev->host)
        return a->host;
    if (n > a->device_cap) {
        if (a->device)
            dev->ops->free(dev, a->device);
        a->device_cap = a->cap;
        a->device = dev->ops->alloc(dev, a->cap * sizeof *a->device);
    }
    if (n > 0)
        dev->ops->put(dev, a->device, a->host, n * sizeof *a->host);
    return a->device;
}

void hps_ints_free(struct hps_ints *a, struct hps_dev *dev)
{
    hps_mem_free(a->host);
    if (a->device)
        dev->ops->free(dev, a->device);
}
