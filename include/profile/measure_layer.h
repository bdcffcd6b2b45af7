/* measure_layer.h - seconds of each layer of a net on this rank's device, for three batch sizes. */
#ifndef HPS_PROFILE_MEASURE_LAYER_H
#define HPS_PROFILE_MEASURE_LAYER_H

#include "profile/measure.h"

/* Seconds of a micro-batch of batch[i] examples: Bo, Bo/2, Bo/4. */
struct hps_measured {
    double batch[3];
    double work_s[3];           /* forward, backward and its share of the update              */
    double rows_s[3];           /* finding and fetching the rows of its ids (embedding)       */
    double forward_s, once_s;   /* parts of work_s[0]: forward; what is done once a step      */
    double rows;                /* distinct rows that Bo examples read (embedding)            */
};

/* Real micro-batches go through the whole net as in training, so that each layer finds caches and
 * memory as it will. m (L) [out]. Tables are stood in for by at most 256 MiB of their rows.
 * Local. */
enum hps_status hps_measure_layers(struct hps_measured *m, const struct hps_net *net,
                                   struct hps_dev *dev, const struct hps_measure_opt *opt, int Bo);

#endif
