/* pooled.h - partial pooled sums: each owner sums what a bag has of its rows, and the reader of the
 * bag adds these sums. Where bags hold many ids, that is less to send than their rows (row-wise
 * sharding of pooled embeddings: Ivchenko et al., TorchRec, RecSys 2022).
 *
 * The partial sums of a step have unique indices as rows have (unique.h): by micro-batch, then
 * owner, then in the order of the ids: layer, slot, example. Every owner has one for each bag. Hot
 * rows (hot_rows.h) are requested by themselves, behind an owner's sums: bags add each as often as
 * they have it, so that its owner does not do that work for all readers. On a host. */
#ifndef HPS_PS_POOLED_H
#define HPS_PS_POOLED_H

#include "ps/merge.h"
#include "ps/unique.h"

struct hps_pooled;
/* As hps_unique_new. The layers read their bags as plain sums of rows (hps_layer_type.wants_sums).
 */
struct hps_pooled *hps_pooled_new(int nlayer, const struct hps_layer *const *layer, long long rows,
                                  int M, int parts, struct hps_dev *dev);
void hps_pooled_free(struct hps_pooled *pooled);

/* The sums of a step; all arrays are the caller's. */
struct hps_pooled_step {
    int *first;                 /* (M + 1) those of micro-batch m begin at first[m]              */
    int *nrecv;                 /* (M, parts) how many of them each owner has                    */
    struct hps_lookup *lookup;  /* (M, nlayer) pooled sums, in both directions, and hot rows; not
                                   touched without batches                                       */
    struct hps_unique_memory *memory;   /* of the arrays of the lookups                          */
};
/* What is sent to owners: to owner q for micro-batch m length[m * parts + q] numbers, from
 * at[m * parts + q] on; an owner's follow each other. For n sums there are n + 1 numbers where the
 * rows of each begin, then the rows as the owner numbers them; nothing where n = 0. */
struct hps_pooled_request {
    int *length;                /* (M, parts); the caller's, as is `at` */
    size_t *at;
    struct hps_int_mirror *to;  /* grows                                */
};
/* The sums of the step's batches (M; NULL: none). The numbers do not depend on the number of
 * threads. */
void hps_pooled_find(struct hps_pooled *pooled, const struct hps_batch *batch,
                     const struct hps_pooled_step *step, const struct hps_pooled_request *request);

/* The n sums of a micro-batch that an owner received, as a list, which points there. Pure. */
struct hps_merge_list hps_pooled_list(int n, const int *received);

#endif
