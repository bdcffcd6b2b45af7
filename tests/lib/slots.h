/* slots.h - made-up ids for the tests of places and partial sums: of a slot with one id an example,
 * and of one with many, few of which are named often. */
#ifndef HPS_TESTS_SLOTS_H
#define HPS_TESTS_SLOTS_H

#include "net/net.h"

enum { SLOTS_M = 2, SLOTS_LAYERS = 2, MAX_SLOTS_BAG = 12 };

enum slots_kind {
    SLOTS_SKEWED,
    SLOTS_FLAT,                 /* each id once at most      */
    SLOTS_SMALL                 /* the table has few rows    */
};

/* Layer 0 reads slots 0 (one id) and 1 (0 to MAX_SLOTS_BAG ids), layer 1 slot 1 alone, folded. */
struct slots {
    struct hps_layer layer[SLOTS_LAYERS];
    const struct hps_layer *use[SLOTS_LAYERS];
    struct hps_batch batch[SLOTS_M];
    struct hps_ids ids[SLOTS_M][2];
    const int *offsets[SLOTS_M][2];
    uint32_t *single[SLOTS_M];
    long long *multi[SLOTS_M];
    int *offset[SLOTS_M];
    int slot[2];
    long long rows;             /* of the table               */
    long long base[2], modulo[2], base1, modulo1;
};

/* Batches of B examples or some fewer for `nlayer` layers that share a table of so many rows (FLAT:
 * as many as there may be ids, SMALL: it has fewer); `turn`: others, and of other sizes. */
struct slots *slots_make(int nlayer, enum slots_kind kind, long long rows, int B, int turn);
void slots_free(struct slots *s);

/* The row of an id of the layer's i-th slot. */
long long slots_row(const struct hps_layer *l, int i, long long id);

#endif
