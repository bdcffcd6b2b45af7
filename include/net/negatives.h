/* negatives.h - negative sampling: classes drawn for each example, and batches with them, in a slot
 * behind the dataset's for each layer that draws. What is drawn is addressed by (seed, step, layer,
 * example): the same on any layout. */
#ifndef HPS_NET_NEGATIVES_H
#define HPS_NET_NEGATIVES_H

#include "net/net.h"

/* The class at `index` of a stream, 0..classes-1. Uniform; or log-uniform, c with the probability
 * log((c + 2) / (c + 1)) / log(classes + 1), about Zipf's law where classes are sorted by how
 * frequent they are. Pure. */
long long hps_negatives_class(const struct hps_negatives *negatives, uint64_t key, uint64_t index);

struct hps_negatives_batch;
/* For the layers of the net that draw and are `mine` (L), batches of M. Borrows the net. NULL: none
 * of them draws. */
struct hps_negatives_batch *hps_negatives_new(const struct hps_net *net, const bool *mine, int M);
void hps_negatives_free(struct hps_negatives_batch *negatives); /* NULL is fine */

/* The micro-batches (M) of a step with the slots that were drawn, under `key` of (seed, step): of
 * each example the class that it has, then the negatives. Valid until the call after the next one,
 * as the reader's, whose batch it points into. Negatives or batch NULL: `batch`. Local. */
const struct hps_batch *hps_negatives_step(struct hps_negatives_batch *negatives,
                                           const struct hps_batch *batch, uint64_t key);

#endif
