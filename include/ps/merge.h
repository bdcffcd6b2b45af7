/* merge.h - sums of rows, and row by row which sums it is in: what an owner of rows makes of the
 * ids that it receives (pooled.h), so that a row gets its gradient from all of them at once. */
#ifndef HPS_PS_MERGE_H
#define HPS_PS_MERGE_H

#include "net/int_mirror.h"

/* Sum i is of the rows row[begin[i] .. begin[i+1]-1]; a row may be in it twice. */
struct hps_merge_list {
    int n;
    const int *begin, *row;             /* (n + 1), (begin[n]) borrowed */
};

/* The distinct rows, upwards, and of row[i] the sums from[start[i] .. start[i+1]-1], upwards: those
 * of all lists are numbered through, list by list. Zeroed memory is a valid start. */
struct hps_merged {
    int n;
    size_t nid;
    struct hps_int_mirror row, start, from; /* (n), (n + 1), (nid) */
};
/* Room for the rows of n ids; no list is NULL then. */
void hps_merged_grow(struct hps_merged *to, size_t n);
void hps_merged_free(struct hps_merged *to, struct hps_dev *dev);

struct hps_merge;
/* Of `nlist` lists with rows below `rows`. Local, as are the others. */
struct hps_merge *hps_merge_new(long long rows, int nlist);
void hps_merge_free(struct hps_merge *merge);
/* list (nlist); what comes out does not depend on the number of threads. Together they have no more
 * ids than an int can number. */
void hps_merge_lists(struct hps_merge *merge, const struct hps_merge_list *list, int nthread,
                     struct hps_merged *to);

#endif
