/* merge.h - from the rows of each sum to the sums of each row: an owner merges the ids that it
 * receives (pooled.h) by row, so that a row's gradient is added up in one pass. */
#ifndef HPS_PS_MERGE_H
#define HPS_PS_MERGE_H

#include "net/int_mirror.h"

/* Sum i adds the rows row[begin[i] .. begin[i+1]-1]; a row may occur twice. */
struct hps_merge_list {
    int n;
    const int *begin, *row;             /* (n + 1), (begin[n]) borrowed */
};

/* The unique rows in ascending order; row[i] is in the sums sum[start[i] .. start[i+1]-1],
 * ascending, which are numbered through all lists. Zeroed memory is a valid start. */
struct hps_merged {
    int n;
    size_t nid;
    struct hps_int_mirror row, start, sum; /* (n), (n + 1), (nid) */
};
/* Make the arrays large enough for n ids; none is NULL then. Local. */
void hps_merged_grow(struct hps_merged *to, size_t n);
void hps_merged_free(struct hps_merged *to, struct hps_dev *dev);

struct hps_merge;
/* For `nlist` lists of rows below `rows`. Local, as are the others. */
struct hps_merge *hps_merge_new(long long rows, int nlist);
void hps_merge_free(struct hps_merge *merge);
/* Merge list (nlist), which together have at most INT_MAX ids. The result does not depend on the
 * number of threads. */
void hps_merge_lists(struct hps_merge *merge, const struct hps_merge_list *list, int nthread,
                     struct hps_merged *to);

#endif
