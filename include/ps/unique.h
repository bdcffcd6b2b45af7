/* unique.h - the distinct rows that the ids of a step need: each has a place, bags point at the
 * places, and each place knows the bags that it is in.
 *
 * Places are dealt micro-batch by micro-batch (a row belongs to the first one that needs it),
 * inside that sorted by owner and by the row's number there: so tables are walked upwards. */
#ifndef HPS_PS_UNIQUE_H
#define HPS_PS_UNIQUE_H

#include "data/data.h"
#include "net/int_mirror.h"
#include "net/net.h"

struct hps_unique;
/* Ids of the slots of `nlayer` layers, in M micro-batches; rows are 0..rows-1 and belong to the
 * owners that hps_cyclic_owner says. Bags have an index where it is wanted, or else better: at
 * least they are there by row, or (not on a host) have one. Where none is wanted, on a host, ids of
 * one owner have their rows' numbers in `lies`. Layers (the list is copied) and device
 * are borrowed; the work is done by its threads. */
struct hps_unique *hps_unique_new(int nlayer, const struct hps_layer *const *layer, long long rows,
                                  int M, int parts, bool index, struct hps_dev *dev);
void hps_unique_free(struct hps_unique *places);

/* Where a step's numbers lie; zeroed memory is a valid start. */
struct hps_unique_room {
    struct hps_int_mirror row;           /* (first[M]) each row's number at its owner, by place */
    struct hps_int_mirror index, offset; /* of all bags, as bags have them                      */
    struct hps_int_mirror place, start, from; /* the same by row, on the host only */
    struct hps_int_mirror name; /* popular rows of bags, and where each one's begin    */
    struct hps_int_mirror lies; /* each id's row, there too                            */
};
void hps_unique_room_free(struct hps_unique_room *room, struct hps_dev *dev);

/* The places of the step's batches (M; NULL: none). first (M + 1): places of micro-batch m begin at
 * first[m]; ask (M, parts): how many of them each owner has; bag (M, nlayer) [out], not touched
 * without batches: its numbers are in `room`, in host memory. What comes out does not depend on the
 * number of threads. */
void hps_unique_find(struct hps_unique *places, const struct hps_batch *batch,
                     struct hps_unique_room *room, int *first, int *ask, struct hps_lookup *lookup);
/* The bags, as found, as the device sees them. */
void hps_unique_show(const struct hps_unique *places, struct hps_unique_room *room,
                     struct hps_lookup *lookup);

#endif
