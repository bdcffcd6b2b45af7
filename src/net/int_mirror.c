/* int_mirror.c - host/device mirror of an integer array. */
#include "net/int_mirror.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

/* Move the first n numbers to pinned memory for `cap`. */
static void move_to_pinned(struct hps_int_mirror *a, size_t cap, size_t n)
{
    int *to = a->dev->ops->pin(a->dev, cap * sizeof *to);

    if (n > 0) memcpy(to, a->host, n * sizeof *to);
    if (a->copied)
        a->dev->ops->unpin(a->dev, a->host);
    else
        hps_mem_free(a->host);
    a->host = to;
    a->cap = cap;
}

void hps_int_mirror_borrow(struct hps_int_mirror *a, int *(*alloc_host)(void *arg, size_t n),
                           void *arg)
{
    assert(!a->host && !a->dev);
    a->alloc_host = alloc_host;
    a->arg = arg;
}

void hps_int_mirror_grow(struct hps_int_mirror *a, size_t n)
{
    if (a->alloc_host) {
        a->host = a->alloc_host(a->arg, n);
        return;
    }
    if (!a->dev) {
        hps_mem_grow(&a->host, &a->cap, n, sizeof *a->host);
        return;
    }
    hps_dev_wait(a->dev, a->copied);
    if (n > a->cap) move_to_pinned(a, hps_mem_room(a->cap, n), a->cap);
}

/* The first copy to a device: from now on the host array is pinned, and half as large again. */
static void bind(struct hps_int_mirror *a, size_t n, struct hps_dev *dev)
{
    a->dev = dev;
    move_to_pinned(a, a->cap + a->cap / 2, n);
    a->copied = dev->ops->event_new(dev);
}

const int *hps_int_mirror_to_device(struct hps_int_mirror *a, size_t n, struct hps_dev *dev)
{
    if (dev->host) return a->host;
    assert(!a->alloc_host);
    if (!a->dev) bind(a, n, dev);
    if (a->cap > a->device_cap) {
        dev->ops->free(dev, a->device);
        a->device_cap = a->cap;
        a->device = dev->ops->alloc(dev, a->cap * sizeof *a->device);
    }
    dev->ops->copy_to_device_async(dev, HPS_STREAM_FEED, a->device, a->host, n * sizeof *a->host);
    dev->ops->event_record(dev, a->copied, HPS_STREAM_FEED);
    return a->device;
}

void hps_int_mirror_free(struct hps_int_mirror *a, struct hps_dev *dev)
{
    if (a->alloc_host) return;
    if (!a->dev) {
        hps_mem_free(a->host);
        return;
    }
    hps_dev_wait(dev, a->copied);
    dev->ops->unpin(dev, a->host);
    dev->ops->free(dev, a->device);
    dev->ops->event_free(dev, a->copied);
}
