/* ids.h - made-up batches for the tests of routes and stores: ids by (step, rank, micro-batch), so
 * that every rank knows what every other one reads. */
#ifndef HPS_TESTS_IDS_H
#define HPS_TESTS_IDS_H

#include "net/net.h"

/* Slots 0 and 1 have one id an example; slot 2 any number. Layer `both` reads 0 and 1, `bags` all
 * of them, slot 1 twice, taken modulo 40 the second time. */
enum { IDS_SLOTS = 3, IDS_LAYERS = 2, MAX_IDS_M = 5, MAX_IDS_B = 9, MAX_IDS_BAG = 4 };
enum { IDS_BUCKETS = 900, IDS_ROWS = 3 * IDS_BUCKETS + 40 };

struct ids {
    struct hps_layer layer[IDS_LAYERS];
    const struct hps_layer *use[IDS_LAYERS];
};
void ids_layers(struct ids *ids);

/* Memory of one micro-batch. */
struct ids_batch {
    long long id[IDS_SLOTS][MAX_IDS_B * MAX_IDS_BAG];
    int offset[MAX_IDS_B + 1];
    struct hps_ids ids[IDS_SLOTS];
    const int *offsets[IDS_SLOTS];
};
/* Micro-batch m of `step` at member r: 0 to MAX_IDS_B examples, few ids often, many seldom. */
void ids_make(struct ids_batch *own, struct hps_batch *batch, long long step, int r, int m);

/* The table row of the id at place `at` of the i-th slot of layer l. */
long long ids_row(const struct hps_layer *l, const struct hps_batch *batch, int i, int at);
/* Ids of its i-th slot. */
int ids_count(const struct hps_layer *l, const struct hps_batch *batch, int i);

/* How many places a bag of sums points at, and the k-th: partial sums, then hot rows. */
int ids_nplace(const struct hps_lookup *lookup, int bag);
int ids_place(const struct hps_lookup *lookup, int bag, int k);

/* Gradients grad (n, dim) as sums: of each place's one half stands at its place from the front, the
 * other from behind. What `deferred` points to is good until the next call; n is at most IDS_ROWS,
 * dim at most IDS_DIM. */
enum { IDS_DIM = 8 };
void ids_defer(int n, int dim, const float *grad, struct hps_row_sums *deferred);

#endif
