/* int_mirror.h - numbers made on the host and read on the device; one memory where the two are one.
 */
#ifndef HPS_NET_INT_MIRROR_H
#define HPS_NET_INT_MIRROR_H

#include "hw/dev.h"

struct hps_int_mirror {
    int *host, *device;         /* device: NULL where the host's serves */
    size_t cap, device_cap;
    struct hps_dev *dev;        /* since it was shown to one that is no host: host is pinned */
    struct hps_event *shown;
    int *(*room)(void *of, size_t n);   /* whose memory it is; NULL: its own */
    void *of;
};

/* Room for n on the host; keeps what is there. Zeroed memory is a valid start. To be asked for
 * before the numbers are written: it waits until those that were shown have been copied. Local. */
void hps_int_mirror_grow(struct hps_int_mirror *ints, size_t n);
/* Before anything else, for a host: it is memory of somebody else's, which room(of, n) finds for n
 * or more numbers. `host` is what room found last, whatever is there. Local. */
void hps_int_mirror_lend(struct hps_int_mirror *ints, int *(*room)(void *of, size_t n), void *of);
/* The first n as the device sees them behind its stream FEED, which copies them; valid until the
 * next grow or show. `host` may move. Nobody on the device reads what was shown before. Local. */
const int *hps_int_mirror_show(struct hps_int_mirror *ints, size_t n, struct hps_dev *dev);
void hps_int_mirror_free(struct hps_int_mirror *ints, struct hps_dev *dev);

#endif
