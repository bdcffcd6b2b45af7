/* measure_sync.h - measures a layer's communication between two units of a type, in two parts:
 * that of rows, which more units share; and that of dense gradients, of requests and of partial
 * pooled sums (where CPU ranks send those, exchange: bags), which more units do not reduce: over
 * more than two units, sums are up to twice as many. A table that a stage of GPUs reads as well
 * is priced by each type alone. */
#ifndef HPS_PROFILE_MEASURE_SYNC_H
#define HPS_PROFILE_MEASURE_SYNC_H

#include "profile/measure_layer.h"

struct hps_storage_opt;

/* Seconds to transfer `bytes` over a link, half of them in each direction. Pure. */
double hps_measure_transfer_s(struct hps_link link, double bytes);

/* Set the profile's sync and beta of layer l and type t by a link's rates, for a layer with so many
 * distinct rows on two units of Bo/2 examples each; messages travel as `storage` says, but between
 * GPUs as fp32. Work done once a step is scaled to Bo. Pure. */
void hps_measure_sync_link(struct hps_profile *p, const struct hps_net *net, int l, int t,
                           struct hps_link link, double rows,
                           const struct hps_storage_opt *storage);

/* The index of a rank among the first two of its type; -1: it is neither, or there is no second.
 * Pure. */
int hps_measure_pair_index(const struct hps_pool *pool, int rank);

/* The first two ranks of each type communicate as in a training: they sum dense gradients,
 * exchange half the rows (or partial pooled sums) and their gradients, and send requests. Two
 * GPUs that form a group (hw/gpu_group.h) use NCCL; all others send messages between their
 * hosts, an upper bound of what ranks that share memory take. Sets the profile's sync and beta
 * of types with at least two ranks; the others are unchanged. rows (L, T): distinct rows that a
 * unit of a type reads. Collective over world. */
void hps_measure_sync(struct hps_profile *p, const double *rows, const struct hps_net *net,
                      const struct hps_pool *pool, struct hps_dev *dev,
                      const struct hps_storage_opt *storage, MPI_Comm world);

#endif
