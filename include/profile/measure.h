/* measure.h - measures the profile of a net on a pool: one rank of each type measures every layer,
 * and links give the communication.
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

struct hps_storage_opt;

struct hps_measure_opt {
    const struct hps_train_opt *train;
    const struct hps_data *data; /* its first examples are used       */
    long long batch;             /* of a step                         */
    int microbatches;
    int workers;                 /* each with such a batch; measured is one */
    bool shuffle;
    long long examples;              /* of an epoch                       */
    double epochs, throughput_limit; /* of the profile                    */
    bool present;                    /* limit types to the ranks present  */
    const struct hps_storage_opt *storage;  /* memory has all rows, of small tables        */
    const struct hps_storage_opt *files;    /* as the deck has it: where rows are in files */
    double max_rows_bytes;           /* of the rows of a unit, in memory; 0: all  */
    int prefetch;                    /* steps that are read ahead         */
    int server_type;                 /* of the dedicated servers; -1: any */
    double servers;                  /* 0: none; INFINITY: as a plan chooses */
};

/* Measure on ranks of each type and broadcast the profile. First each layer by itself; then a rank
 * of each type, two of it, two of unlike types, and workers with a server, train some steps of the
 * whole net (profile/measure_trial.h), to which the layers are fitted (profile/fit.h): what a step
 * pays beside them, contention of ranks on a host, and the reader thread are in these. A run of
 * less than 16 steps is shorter than these steps, and does without. Ranks of different hardware on
 * one host measure one after the other; ranks of equal hardware measure at the same time, a core
 * each, as they will train. Waiting ranks sleep. The status is equal on all ranks. Collective over
 * world. */
enum hps_status hps_measure_profile(struct hps_profile **profile, const struct hps_net *net,
                                    const struct hps_pool *pool, struct hps_dev *dev,
                                    const struct hps_measure_opt *opt, MPI_Comm world);

/* Set what a recorded profile takes from the pool and the deck: names, prices, limits and memory
 * of the types, the servers, the workers, and the micro-batches of a step. Pure. */
void hps_measure_types(struct hps_profile *profile, const struct hps_pool *pool,
                       const struct hps_measure_opt *opt);

#endif
