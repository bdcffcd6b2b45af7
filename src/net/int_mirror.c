/* int_mirror.c - numbers made on the host and read on the device. */
#include "net/int_mirror.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

/* Room for `cap` numbers in pinned memory, with the n that there are. */
static void move(struct hps_int_mirror *a, size_t cap, size_t n)
{
    int *to = a->dev->ops->pin(a->dev, cap * sizeof *to);

    if (n > 0) memcpy(to, a->host, n * sizeof *to);
    if (a->shown)
        a->dev->ops->unpin(a->dev, a->host);
    else
        hps_mem_free(a->host);
    a->host = to;
    a->cap = cap;
}

void hps_int_mirror_lend(struct hps_int_mirror *a, int *(*room)(void *of, size_t n), void *of)
{
    assert(!a->host && !a->dev);
    a->room = room;
    a->of = of;
}

void hps_int_mirror_grow(struct hps_int_mirror *a, size_t n)
{
    if (a->room) {
        a->host = a->room(a->of, n);
        return;
    }
    if (!a->dev) {
        hps_mem_grow(&a->host, &a->cap, n, sizeof *a->host);
        return;
    }
    hps_dev_wait(a->dev, a->shown);
    if (n > a->cap) move(a, n > a->cap + a->cap / 2 ? n : a->cap + a->cap / 2, a->cap);
}

/* The first time on this device: there is room for half as many more, then and later. */
static void adopt(struct hps_int_mirror *a, size_t n, struct hps_dev *dev)
{
    a->dev = dev;
    move(a, a->cap + a->cap / 2, n);
    a->shown = dev->ops->event_new(dev);
}

const int *hps_int_mirror_show(struct hps_int_mirror *a, size_t n, struct hps_dev *dev)
{
    if (dev->host) return a->host;
    assert(!a->room);
    if (!a->dev) adopt(a, n, dev);
    if (a->cap > a->device_cap) {
        dev->ops->free(dev, a->device);
        a->device_cap = a->cap;
        a->device = dev->ops->alloc(dev, a->cap * sizeof *a->device);
    }
    dev->ops->copy_to_device_async(dev, HPS_STREAM_FEED, a->device, a->host, n * sizeof *a->host);
    dev->ops->event_record(dev, a->shown, HPS_STREAM_FEED);
    return a->device;
}

void hps_int_mirror_free(struct hps_int_mirror *a, struct hps_dev *dev)
{
    if (a->room) return;
    if (!a->dev) {
        hps_mem_free(a->host);
        return;
    }
    hps_dev_wait(dev, a->shown);
    dev->ops->unpin(dev, a->host);
    dev->ops->free(dev, a->device);
    dev->ops->event_free(dev, a->shown);
}
