/* measure.h - the profile of a net on a pool: one rank of each type measures every layer, links
 * give the rest.
 *
 * For Bo examples on one unit (design 4): oct = forward + backward of a layer, the work on its
 * rows, its update scaled by Bo/batch; alpha from a fit a + b B over Bo, Bo/2, Bo/4; sync, recv,
 * send from messages between two units, or from the link. */
#ifndef HPS_PROFILE_MEASURE_H
#define HPS_PROFILE_MEASURE_H

#include "hw/pool.h"
#include "net/net.h"
#include "net/opt.h"
#include "plan/profile.h"

struct hps_measure_opt {
    const struct hps_train_opt *train;
    const struct hps_data *data; /* whose first examples are used     */
    long long batch;             /* of a step                         */
    int microbatches;
    bool shuffle;
    long long examples;              /* of an epoch                       */
    double epochs, throughput_limit; /* of the profile                    */
    bool present;                    /* limit types to the ranks present  */
};

/* Measured where the types are, told to all. Unlike hardware on one host takes turns; like ranks on
 * it measure at once, a core each, as they will train; those that wait sleep. Collective over
 * world; errors are shared. */
enum hps_status hps_measure_profile(struct hps_profile **profile, const struct hps_net *net,
                                    const struct hps_pool *pool, struct hps_dev *dev,
                                    const struct hps_measure_opt *opt, MPI_Comm world);

/* The types' side of a profile from the pool: names, prices, limits, memory, and how a step is cut
 * (for a profile that was recorded). Pure. */
void hps_measure_types(struct hps_profile *profile, const struct hps_pool *pool,
                       const struct hps_measure_opt *opt);

#endif
