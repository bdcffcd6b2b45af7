/* measure_sync.h - seconds of a layer's communication between two units of a type: of rows, which
 * more units share; of dense gradients, of what peers tell each other and of sums of rows, where
 * CPU ranks send those (exchange: bags), which more units do not lessen: sums of more than two
 * units are up to twice as many. A table that a GPU's stage reads too is priced by each type
 * alone. */
#ifndef HPS_PROFILE_MEASURE_SYNC_H
#define HPS_PROFILE_MEASURE_SYNC_H

#include "profile/measure_layer.h"

/* Seconds of so many bytes over a link, half of them there and half back. Pure. */
double hps_measure_carry_s(struct hps_link link, double bytes);

/* Of a layer with so many distinct rows, on two units with half the Bo examples each, computed for
 * a link: the profile's sync and beta of layer l, type t. What is done once a step is scaled to
 * Bo. Pure. */
void hps_measure_sync_link(struct hps_profile *p, const struct hps_net *net, int l, int t,
                           struct hps_link link, double rows);

/* The first two ranks of each type do what training does: a sum of dense gradients, an exchange of
 * half the rows, or of sums of rows, there and of their gradients back, and of what peers tell. Two
 * GPUs that may work as a group (hw/gpu_group.h) sum and exchange from card to card, all others
 * between their hosts by messages: no less than they take where ranks share memory. The profile's
 * sync and beta for types of two ranks and more [out], others stay as they are. rows (L, T):
 * distinct rows that a type's unit reads. Collective over world. */
void hps_measure_sync(struct hps_profile *p, const double *rows, const struct hps_net *net,
                      const struct hps_pool *pool, struct hps_dev *dev, MPI_Comm world);

#endif
