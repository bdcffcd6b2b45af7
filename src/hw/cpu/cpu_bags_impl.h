/* cpu_bags_impl.h - what the forward and the backward of pooled bags share on a CPU. */
#ifndef HPS_HW_CPU_CPU_BAGS_IMPL_H
#define HPS_HW_CPU_CPU_BAGS_IMPL_H

#include "hw/cpu/cpu_rounded_impl.h"
#include "hw/lookup.h"

#define HPS_BAGS_BLOCK 64       /* examples of a block: their outputs stay in the cache  */
#define HPS_BAGS_PREFETCH 16    /* bags that are prefetched ahead                        */
#define HPS_BAGS_TASK 2048      /* rows of a task                                        */

struct hps_bags {
    struct hps_lookup lookup;
    size_t dim;
    bool mean, concat;
    float *hot;                 /* forward: the hot rows, contiguous                     */
    float *grad;                /* backward: of the rows                                 */
    bool add;                   /* backward: to grad                                     */
    bool dense;                 /* the outputs of bags are contiguous in y               */
    bool one_id;                /* each output is of one bag with one id                 */
    double per_slot;
    int nid;                    /* by_row: ids of all rows                               */
    float *private_y;           /* by row on n threads: a y for each thread but the first */
    float *hot_grad;            /* (nhot_grad, hot rows, dim) partial gradients          */
    int nhot_grad;              /* tasks that sum up gradients of hot rows               */
    struct hps_tensor y;        /* backward: dy                                          */
    size_t first;               /* forward: the example of y's first row                 */
    uint16_t *rounded;          /* forward: the output in bf16; y is scratch memory      */
    size_t ldrounded;
    const struct hps_bf16_lib *bf16;
    float *block;               /* each thread's scratch for a block of examples         */
    size_t block_stride;        /* bytes                                                 */
};

static inline struct hps_bags hps_bags_of(const struct hps_lookup *lookup, int dim,
                                          enum hps_pool_kind pool, enum hps_combine combine,
                                          struct hps_tensor y)
{
    bool concat = combine == HPS_COMBINE_CONCAT;

    return (struct hps_bags){
        .lookup = *lookup,
        .dim = (size_t)dim,
        .mean = pool == HPS_POOL_MEAN,
        .concat = concat,
        .y = y,
        .per_slot = 1.0 / lookup->nslot,
        .dense = (concat || lookup->nslot == 1) && y.ld == (size_t)lookup->nslot * (size_t)dim,
        .one_id = lookup->single && (concat || lookup->nslot == 1),
        .nid = lookup->by_row.row ? lookup->by_row.start[lookup->by_row.n] : 0
    };
}

/* The first id of bag `at`, slot * B + b. */
static inline size_t hps_bags_start(const struct hps_lookup *lookup, size_t at)
{
    return lookup->single ? at : (size_t)lookup->offset[at];
}

/* The number of ids of hot rows in a bag, and in all bags. */
static inline size_t hps_bags_hot_of(const struct hps_lookup *lookup, size_t at)
{
    return lookup->hot.n > 0 ? (size_t)(lookup->hot.begin[at + 1] - lookup->hot.begin[at]) : 0;
}
static inline size_t hps_bags_hot_count(const struct hps_lookup *lookup)
{
    size_t n = (size_t)lookup->nslot * (size_t)lookup->B;

    return lookup->hot.n > 0 ? (size_t)(lookup->hot.begin[n] - lookup->hot.begin[0]) : 0;
}

/* The weight of each row of a bag. */
static inline float hps_bags_share(const struct hps_bags *j, size_t at)
{
    size_t n = 0;

    if (j->mean)
        n = hps_bags_start(&j->lookup, at + 1) - hps_bags_start(&j->lookup, at) +
            hps_bags_hot_of(&j->lookup, at);
    return n > 0 ? 1.0f / (float)n : 1.0f;
}

/* ---- by row ---- */

/* Contiguous outputs and sums: the common case, compiled by itself. */
static inline bool hps_bags_plain(const struct hps_bags *j)
{
    return j->dense && !j->mean;
}

/* Where the output of bag number `from` begins in y. The division by a multiplication is exact for
 * numbers below 2^31. */
HPS_INLINE size_t hps_bags_output(const struct hps_bags *j, int from, bool plain, size_t dim)
{
    if (plain || j->dense) return (size_t)from * dim;
    int b = (int)(((double)from + 0.5) * j->per_slot), s = from - b * j->lookup.nslot;
    return (size_t)b * j->y.ld + (j->concat ? (size_t)s * dim : 0);
}

/* The bag to prefetch while the k-th id is processed. */
HPS_INLINE int hps_bags_ahead(const struct hps_bags *j, int k)
{
    return j->lookup.by_row.bag[k + HPS_BAGS_PREFETCH < j->nid ? k + HPS_BAGS_PREFETCH : k];
}

HPS_INLINE float hps_bags_share_of(const struct hps_bags *j, int from)
{
    int b = from / j->lookup.nslot, s = from - b * j->lookup.nslot;

    return hps_bags_share(j, (size_t)s * (size_t)j->lookup.B + (size_t)b);
}

/* The first row of by_row for task t of n, so that tasks have equally many ids. */
static inline size_t hps_bags_cut(const struct hps_lookup *lookup, int t, int n)
{
    size_t low = 0, high = lookup->by_row.n,
           nid = (size_t)(lookup->by_row.start[high] - lookup->by_row.start[0]);
    int want = (int)(nid / (size_t)n * (size_t)t);

    if (t == n) return high;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (lookup->by_row.start[middle] - lookup->by_row.start[0] < want)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
