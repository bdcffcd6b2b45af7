/* pooled.h - bags as sums of partial sums: each owner sums what a bag has of its rows, and who
 * reads the bag adds these up. Where bags hold many ids that is less than their rows (row-wise
 * sharding of pooled embeddings: Ivchenko et al., TorchRec, RecSys 2022).
 *
 * The partial sums of a step have places as rows have (unique.h): by micro-batch, then owner, then
 * in the order of the ids: layer, slot, example. Every owner has one for each. Popular rows
 * (hot_rows.h) are asked for by themselves, behind an owner's sums: each is a sum of its own, which
 * bags add as often as they name it. So their owner does not work for all who do. On a host. */
#ifndef HPS_PS_POOLED_H
#define HPS_PS_POOLED_H

#include "ps/merge.h"
#include "ps/unique.h"

struct hps_pooled;
/* As hps_unique_new. The layers read their bags as plain sums of rows (hps_layer_kind.sums). */
struct hps_pooled *hps_pooled_new(int nlayer, const struct hps_layer *const *layer, long long rows,
                                  int M, int parts, struct hps_dev *dev);
void hps_pooled_free(struct hps_pooled *partials);

/* The places of the step's batches (M; NULL: none). first (M + 1): places of micro-batch m begin at
 * first[m]; ask (M, parts): how many of them each owner has; bag (M, nlayer) [out], not touched
 * without batches: of partial sums, in both directions, and popular rows, by name; its numbers are
 * in `room`.
 * What owners are told: q of micro-batch m (M, parts) length[m * parts + q] numbers in `to`, which
 * grows, at[m * parts + q] and behind it; an owner's follow each other. For n sums n + 1 numbers
 * where each one's rows begin, then the rows as it numbers them; nothing where n = 0. The numbers
 * do not depend on the number of threads. */
void hps_pooled_find(struct hps_pooled *partials, const struct hps_batch *batch,
                     struct hps_unique_room *room, int *first, int *ask, struct hps_lookup *lookup,
                     int *length, size_t *at, struct hps_int_mirror *to);

/* The n sums that an owner is told of a micro-batch, as a list, which points there. Pure. */
struct hps_merge_list hps_pooled_list(int n, const int *told);

#endif
