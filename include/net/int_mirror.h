/* int_mirror.h - host/device mirror of an integer array: the host writes it, the device reads it.
 * On a device that is a host both are one memory. */
#ifndef HPS_NET_INT_MIRROR_H
#define HPS_NET_INT_MIRROR_H

#include "hw/dev.h"

/* Zeroed memory is a valid start. */
struct hps_int_mirror {
    int *host, *device;         /* device NULL: the device reads the host's      */
    size_t cap, device_cap;
    struct hps_dev *dev;        /* where it has been copied to: host is pinned   */
    struct hps_event *copied;   /* the last copy to the device is done           */
    int *(*alloc_host)(void *arg, size_t n);    /* owner of host; NULL: the mirror */
    void *arg;
};

/* Make the host array hold at least n numbers; its contents stay. Call it before writing: it blocks
 * until the last copy to the device is done. Local. */
void hps_int_mirror_grow(struct hps_int_mirror *mirror, size_t n);
/* Use memory of the caller on a host: alloc_host(arg, n) returns an array for at least n numbers.
 * Only before the first grow. `host` is what alloc_host returned last. Local. */
void hps_int_mirror_borrow(struct hps_int_mirror *mirror, int *(*alloc_host)(void *arg, size_t n),
                           void *arg);
/* Queue the copy of the first n numbers on the stream FEED and return the device's array, valid
 * until the next grow or copy; the device must have finished with the copy before. `host` may move.
 * Local. */
const int *hps_int_mirror_to_device(struct hps_int_mirror *mirror, size_t n, struct hps_dev *dev);
void hps_int_mirror_free(struct hps_int_mirror *mirror, struct hps_dev *dev);

#endif
