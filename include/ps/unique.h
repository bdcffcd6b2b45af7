/* unique.h - the distinct rows that the ids of a step need: each has a unique row index; bags refer
 * to the indices, and each index knows the bags that it is in.
 *
 * Indices are given micro-batch by micro-batch (a row belongs to the first one that needs it),
 * inside that by owner and by the row's number there: so tables are walked upwards. */
#ifndef HPS_PS_UNIQUE_H
#define HPS_PS_UNIQUE_H

#include "data/data.h"
#include "net/int_mirror.h"
#include "net/net.h"

struct hps_unique;
/* Ids of the slots of `nlayer` layers, in M micro-batches; rows are 0..rows-1 and belong to the
 * owners that hps_cyclic_owner says. With `index` all lookups are by index; else they are in order
 * or, on a host with one owner, in its table, and by index where that is faster or the device is no
 * host. Layers (the list is copied) and device are borrowed; the work is done by its threads. */
struct hps_unique *hps_unique_new(int nlayer, const struct hps_layer *const *layer, long long rows,
                                  int M, int parts, bool index, struct hps_dev *dev);
void hps_unique_free(struct hps_unique *unique);

/* The memory of a step's numbers; zeroed memory is a valid start. */
struct hps_unique_room {
    struct hps_int_mirror row;           /* (first[M]) each row's number at its owner, by index */
    struct hps_int_mirror index, offset; /* of all lookups                                      */
    struct hps_int_mirror place, start, from; /* hps_row_bags of all lookups, on the host only   */
    struct hps_int_mirror name;   /* hot rows of bags, and where each bag's begin        */
    struct hps_int_mirror direct; /* each id's row in the table                          */
};
void hps_unique_room_free(struct hps_unique_room *room, struct hps_dev *dev);

/* The unique rows of the step's batches (M; NULL: none). first (M + 1): those of micro-batch m
 * begin at first[m]; nrecv (M, parts): how many of them each owner has; lookup (M, nlayer) [out],
 * not touched without batches: its numbers are in `room`, in host memory. What comes out does not
 * depend on the number of threads. */
void hps_unique_find(struct hps_unique *unique, const struct hps_batch *batch,
                     struct hps_unique_room *room, int *first, int *nrecv,
                     struct hps_lookup *lookup);
/* The lookups, as found, as the device sees them. */
void hps_unique_show(const struct hps_unique *unique, struct hps_unique_room *room,
                     struct hps_lookup *lookup);

#endif
