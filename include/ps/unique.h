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
struct hps_unique_opt {
    int nlayer;                             /* ids of the slots of these layers              */
    const struct hps_layer *const *layer;   /* (nlayer) the list is copied, layers borrowed  */
    long long rows;                         /* row r of 0..rows-1 ...                        */
    int parts;                              /* ... belongs to hps_cyclic_owner(r, parts)     */
    int M;                                  /* micro-batches of a step                       */
    bool index;                             /* all lookups are by index, as they are on a device
                                               that is no host                               */
    bool alone;                             /* I own all rows and nobody else reads them     */
};
/* Lookups that need not be by index are in order or, alone, in the table, and by index where that
 * is faster. The device is borrowed; its threads do the work. */
struct hps_unique *hps_unique_new(const struct hps_unique_opt *opt, struct hps_dev *dev);
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
