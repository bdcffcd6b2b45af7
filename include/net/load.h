/* load.h - what the host made for a step and the device reads: packed in pinned memory and brought
 * in one copy on the stream FEED, while the device computes something else. On a host nothing
 * moves.
 *
 * A step is begin, add of each piece, bring. */
#ifndef HPS_NET_LOAD_H
#define HPS_NET_LOAD_H

#include "data/data.h"
#include "hw/dev.h"

struct hps_load {               /* zeroed memory is a valid start */
    char *host, *device;
    size_t cap, n;              /* bytes */
    struct hps_event *brought;
};
#define HPS_LOAD_PIECE 64       /* pieces begin at multiples of it */

/* For `pieces` pieces of `bytes` in all. Waits until what was brought before has been read from the
 * host; that the device has done with it is for the caller to see to. Grows rarely. Local. */
void hps_load_begin(struct hps_load *load, struct hps_dev *dev, size_t bytes, size_t pieces);
/* Where the device will have what is at `from` now (on a host: there). NULL of NULL. Local. */
const void *hps_load_add(struct hps_load *load, struct hps_dev *dev, const void *from,
                         size_t bytes);
/* Queue the copy on FEED. Local. */
void hps_load_bring(struct hps_load *load, struct hps_dev *dev);
/* All three, of the columns of a step's micro-batches (M) that layers read as they are; raw (M): of
 * each, as the device has them. Local. */
struct hps_load_raw {
    const long long *example;
    const float *label, *dense;
};
void hps_load_batch(struct hps_load *load, struct hps_dev *dev, int M,
                    const struct hps_batch *batch, struct hps_load_raw *raw);
void hps_load_free(struct hps_load *load, struct hps_dev *dev);

#endif
