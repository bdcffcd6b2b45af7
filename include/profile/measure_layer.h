/* measure_layer.h - seconds of each layer of a net on this rank's device, for three batch sizes. */
#ifndef HPS_PROFILE_MEASURE_LAYER_H
#define HPS_PROFILE_MEASURE_LAYER_H

#include "profile/measure.h"

/* Seconds of a micro-batch of batch[i] examples: Bo, Bo/2, Bo/4. */
struct hps_measured {
    double batch[3];
    double work_s[3];           /* forward, backward and its share of the update              */
    double rows_s[3];           /* requesting and pulling the rows of its ids (embedding)     */
    double forward_s, once_s;   /* parts of work_s[0]: forward; what is done once a step      */
    double rows;                /* distinct rows of Bo examples' ids, or sums of bags, where
                                   owners give these (embedding)                             */
};

/* Real micro-batches go through the whole net as in training, so that each layer finds caches and
 * memory as it will. The parameter server is that of a stage of one unit. So a host reads rows
 * where they lie, as part of the forward; a GPU, and layers that cannot, gather them in the pull.
 * Units that share a stage gather each other's rows before the forward, which then reads them
 * sooner; the two together take about as long. Each layer has a table of its own. Those of layers
 * that read one table of the net have 256 MiB together; where it has more, smaller ones stand in
 * for it (profile/measure_table.h), in which some rows are one, so that `rows` is somewhat less.
 * m (L) [out]. Local. */
enum hps_status hps_measure_layers(struct hps_measured *m, const struct hps_net *net,
                                   struct hps_dev *dev, const struct hps_measure_opt *opt, int Bo);

#endif
