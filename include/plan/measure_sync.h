/* measure_sync.h - seconds of a layer's parameter communication between two units of a type. */
#ifndef HPS_PLAN_MEASURE_SYNC_H
#define HPS_PLAN_MEASURE_SYNC_H

#include "plan/measure_layer.h"

/* The first two ranks of each type do what training does: a sum of dense gradients, an exchange of
 * half the rows there and their gradients back. sync (L, T) [out] for types of two ranks and more,
 * others stay as they are; dense sums are scaled by `step_share`. rows (L, T): distinct rows that a
 * type's unit reads. Collective over world. */
void hps_measure_sync(double *sync, const double *rows, const struct hps_net *net,
                      const struct hps_pool *pool, double step_share, MPI_Comm world);

#endif
