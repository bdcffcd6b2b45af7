/* unique.h - the unique rows that the ids of a step need. Each has a unique row index; bags refer
 * to rows by it, and the transpose lists the bags of each row.
 *
 * Indices ascend by micro-batch (the first one that needs the row), then owner, then the row's
 * number there, so that tables are read in ascending order. */
#ifndef HPS_PS_UNIQUE_H
#define HPS_PS_UNIQUE_H

#include "data/data.h"
#include "net/int_mirror.h"
#include "net/net.h"

struct hps_unique;
/* For the ids of the slots of `nlayer` layers in steps of M micro-batches; row r of 0..rows-1
 * belongs to owner hps_cyclic_owner(r, parts). With `index`, or on a device that is no host, all
 * lookups are by index; else in order or, with one owner, in its table, and by index where that is
 * faster. Layers (the list is copied) and device are borrowed; the threads of the device do the
 * work. */
struct hps_unique *hps_unique_new(int nlayer, const struct hps_layer *const *layer, long long rows,
                                  int M, int parts, bool index, struct hps_dev *dev);
void hps_unique_free(struct hps_unique *unique);

/* The arrays that the lookups of a step point to; zeroed memory is a valid start. */
struct hps_unique_memory {
    struct hps_int_mirror row;           /* (first[M]) number at its owner, by unique index     */
    struct hps_int_mirror index, offset; /* of all lookups                                      */
    struct hps_int_mirror row_index, bag_start, bag; /* hps_row_bags of all lookups; host only */
    struct hps_int_mirror hot;    /* hot rows of bags, and where each bag's begin        */
    struct hps_int_mirror direct; /* each id's row in the table                          */
};
void hps_unique_memory_free(struct hps_unique_memory *memory, struct hps_dev *dev);

/* The unique rows of the step's batches (M; NULL: none). first (M + 1): those of micro-batch m
 * begin at first[m]; nrecv (M, parts): how many of them each owner has; lookup (M, nlayer) [out],
 * not touched without batches: its numbers are in `memory`, in host memory. What comes out does not
 * depend on the number of threads. */
void hps_unique_find(struct hps_unique *unique, const struct hps_batch *batch,
                     struct hps_unique_memory *memory, int *first, int *nrecv,
                     struct hps_lookup *lookup);
/* Copy the arrays of the lookups to the device, and let the lookups point there. */
void hps_unique_to_device(const struct hps_unique *unique, struct hps_unique_memory *memory,
                     struct hps_lookup *lookup);

#endif
