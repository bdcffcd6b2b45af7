/* measure_layer.h - measures the layers of a net on this rank's device, for three batch sizes. */
#ifndef HPS_PROFILE_MEASURE_LAYER_H
#define HPS_PROFILE_MEASURE_LAYER_H

#include "profile/measure.h"

/* Seconds of a micro-batch of batch[i] examples: Bo, Bo/2, Bo/4. */
struct hps_layer_time {
    double batch[3];
    double work_s[3];           /* forward, backward and a share of the update                */
    double rows_s[3];           /* requesting and pulling rows (embedding)                    */
    double forward_s, once_s;   /* parts of work_s[0]: forward; work done once a step         */
    double rows;                /* distinct rows of Bo examples' ids, or partial pooled sums,
                                   where owners send these (embedding)                       */
};

/* Train a little: real micro-batches pass through the whole net, so that each layer finds caches
 * and memory as in a training. The parameter server is that of a stage of one unit: a host reads
 * rows in place in the forward, a GPU and some layers gather them in the pull. (Several units
 * gather each other's rows before the forward, which is then faster; the sum is about the same.)
 * Each layer has a table of its own. Layers that read the same table of the net have 256 MiB
 * together; a larger table is replaced by a smaller one (profile/measure_table.h) in which some
 * rows coincide, so that `rows` is somewhat smaller. m (L) [out]. Local. */
enum hps_status hps_measure_layers(struct hps_layer_time *m, const struct hps_net *net,
                                   struct hps_dev *dev, const struct hps_measure_opt *opt, int Bo);

#endif
