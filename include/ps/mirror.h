/* mirror.h - device memory and its mirror on the host, for messages; one memory where the device is
 * the host. */
#ifndef HPS_PS_MIRROR_H
#define HPS_PS_MIRROR_H

#include "hw/dev.h"

struct hps_mirror {       /* zeroed memory is a valid start */
    float *device, *host; /* host NULL where it is lone */
    bool lone;            /* nothing of it goes through the host */
    bool lent;            /* memory of somebody else's           */
    size_t cap, host_cap;
};
void hps_mirror_free(struct hps_mirror *mirror, struct hps_dev *dev);
/* It is that memory now, which stays its owner's; on a host. */
void hps_mirror_lend(struct hps_mirror *mirror, void *memory);

/* Room for n floats; what was there is lost. */
void hps_mirror_grow(struct hps_mirror *mirror, struct hps_dev *dev, size_t n);
/* The first n floats come to the host, before it returns. */
void hps_mirror_to_host(struct hps_mirror *mirror, struct hps_dev *dev, size_t n);
/* n floats from `at` on go to the device, before what it does next. */
void hps_mirror_to_device(struct hps_mirror *mirror, struct hps_dev *dev, size_t at, size_t n);

#endif
