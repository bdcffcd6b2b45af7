/* measure_layer.h - seconds of each layer of a net on this rank's device, for three batch sizes. */
#ifndef HPS_PLAN_MEASURE_LAYER_H
#define HPS_PLAN_MEASURE_LAYER_H

#include "plan/measure.h"

struct hps_measured {
    double batch[3], seconds[3]; /* Bo, Bo/2, Bo/4 examples and what they took, update included */
    double rows;                 /* distinct rows that Bo examples read (embedding)              */
};

/* m (L) [out]. Tables are stood in for by at most 256 MiB of their rows. Local. */
enum hps_status hps_measure_layers(struct hps_measured *m, const struct hps_net *net,
                                   struct hps_dev *dev, const struct hps_measure_opt *opt, int Bo);

#endif
