/* negatives.h - negative sampling: classes are drawn for each example, and each layer that samples
 * has a slot behind those of the dataset for them. The draws are addressed by (seed, step, layer,
 * example), so they are the same on any layout. */
#ifndef HPS_NET_NEGATIVES_H
#define HPS_NET_NEGATIVES_H

#include "net/net.h"

/* Draw number `index` of the stream `key`: a class 0..classes-1, uniform or log-uniform.
 * Log-uniform is class c with probability log((c + 2) / (c + 1)) / log(classes + 1), about Zipf's
 * law where the classes are sorted by descending frequency. Pure. */
long long hps_negatives_draw(const struct hps_negatives *negatives, uint64_t key, uint64_t index);

struct hps_negatives_sampler;
/* A sampler for those layers of the net that sample and are `mine` (L), for steps of M
 * micro-batches. Borrows the net. NULL if no such layer samples. */
struct hps_negatives_sampler *hps_negatives_new(const struct hps_net *net, const bool *mine, int M);
void hps_negatives_free(struct hps_negatives_sampler *sampler); /* NULL is fine */

/* The micro-batches (M) of a step with the slots of negatives added: the positive class of each
 * example, then its negatives, drawn by `key` of (seed, step). They point into `batch` and stay
 * valid, as a reader's do, until the call after the next one. Returns `batch` where sampler or
 * batch is NULL. Local. */
const struct hps_batch *hps_negatives_batches(struct hps_negatives_sampler *sampler,
                                              const struct hps_batch *batch, uint64_t key);

#endif
