/* load.h - the inputs of a step, packed in pinned memory and copied to the device at once on the
 * stream FEED, while the device computes the step before. On a host nothing is copied.
 *
 * A step is begin, add of each array, copy. */
#ifndef HPS_NET_LOAD_H
#define HPS_NET_LOAD_H

#include "data/data.h"
#include "hw/dev.h"

struct hps_load {               /* zeroed memory is a valid start */
    char *host, *device;
    size_t cap, n;              /* bytes */
    struct hps_event *copied;
};
#define HPS_LOAD_ALIGN 64       /* bytes; arrays begin at multiples of it */

/* Make room for `narray` arrays of `bytes` in all. Blocks until the last copy is done; the device
 * must have finished with what it copied. Local. */
void hps_load_begin(struct hps_load *load, struct hps_dev *dev, size_t bytes, size_t narray);
/* Pack `bytes` bytes from `src`. Returns where the device will have them: on a host src itself;
 * NULL if src is NULL. Local. */
const void *hps_load_add(struct hps_load *load, struct hps_dev *dev, const void *src,
                         size_t bytes);
/* Queue the copy of all arrays on FEED. Local. */
void hps_load_copy(struct hps_load *load, struct hps_dev *dev);
/* The dataset's columns of a micro-batch in device memory; NULL where no layer reads one. */
struct hps_load_raw {
    const long long *example;   /* (B)    */
    const float *label, *dense; /* (B), (B, D) */
};
/* Begin, add and copy for these columns of a step's micro-batches: batch (M), raw (M) [out].
 * Local. */
void hps_load_batch(struct hps_load *load, struct hps_dev *dev, int M,
                    const struct hps_batch *batch, struct hps_load_raw *raw);
void hps_load_free(struct hps_load *load, struct hps_dev *dev);

#endif
