/* cpu_bags_impl.h - bags of rows on a CPU, as their two directions see them. For src/hw/cpu_bags*.c
 * only. */
#ifndef HPS_HW_CPU_CPU_BAGS_IMPL_H
#define HPS_HW_CPU_CPU_BAGS_IMPL_H

#include "hw/cpu/cpu_impl.h"
#include "hw/lookup.h"

#define HPS_BAGS_BLOCK 64       /* examples in work at once: what they write stays in the cache */
#define HPS_BAGS_NEAR 16        /* bags to prefetch in front of the one in work                 */
#define HPS_BAGS_PART 2048      /* rows that a thread takes at once                             */

struct hps_bags {
    struct hps_lookup lookup;
    size_t dim;
    bool mean, concat;
    float *hot;                 /* forward: hot rows side by side                       */
    float *grad;                /* backward */
    bool add, dense, once;      /* bags lie side by side in y; each has a place and one id   */
    double per_slot;
    int nid;                    /* numbers in `from`, up to the bag's last                  */
    float *apart;               /* by row on n threads: (n - 1) y of their own              */
    float *named;               /* by part of the bags: gradients of hot rows           */
    int nnamed;                 /* parts                                                    */
    struct hps_tensor y;        /* or dy    */
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
        .once = lookup->single && (concat || lookup->nslot == 1),
        .nid = lookup->by_row.row ? lookup->by_row.start[lookup->by_row.n] : 0
    };
}

/* Where the ids of sack `at`, slot * B + b, begin. */
static inline size_t hps_bags_start(const struct hps_lookup *lookup, size_t at)
{
    return lookup->single ? at : (size_t)lookup->offset[at];
}

/* How often a sack, and all of them, name hot rows. */
static inline size_t hps_bags_names_of(const struct hps_lookup *lookup, size_t at)
{
    return lookup->hot.n > 0 ? (size_t)(lookup->hot.begin[at + 1] - lookup->hot.begin[at]) : 0;
}
static inline size_t hps_bags_names(const struct hps_lookup *lookup)
{
    size_t n = (size_t)lookup->nslot * (size_t)lookup->B;

    return lookup->hot.n > 0 ? (size_t)(lookup->hot.begin[n] - lookup->hot.begin[0]) : 0;
}

/* What each row of a sack counts. */
static inline float hps_bags_share(const struct hps_bags *j, size_t at)
{
    size_t n = 0;

    if (j->mean)
        n = hps_bags_start(&j->lookup, at + 1) - hps_bags_start(&j->lookup, at) +
            hps_bags_names_of(&j->lookup, at);
    return n > 0 ? 1.0f / (float)n : 1.0f;
}

/* ---- by row ---- */

/* Bags lie side by side, and rows are added as they are: the usual case, compiled by itself. */
static inline bool hps_bags_plain(const struct hps_bags *j)
{
    return j->dense && !j->mean;
}

/* Where bag number `from` begins in y: side by side, or after a division that is exact for numbers
 * below 2^31. */
HPS_INLINE size_t hps_bags_spot(const struct hps_bags *j, int from, bool plain, size_t dim)
{
    if (plain || j->dense) return (size_t)from * dim;
    int b = (int)(((double)from + 0.5) * j->per_slot), s = from - b * j->lookup.nslot;
    return (size_t)b * j->y.ld + (j->concat ? (size_t)s * dim : 0);
}

/* The bag that is added to, or read, a while after the k-th. */
HPS_INLINE int hps_bags_ahead(const struct hps_bags *j, int k)
{
    return j->lookup.by_row.bag[k + HPS_BAGS_NEAR < j->nid ? k + HPS_BAGS_NEAR : k];
}

HPS_INLINE float hps_bags_share_of(const struct hps_bags *j, int from)
{
    int b = from / j->lookup.nslot, s = from - b * j->lookup.nslot;

    return hps_bags_share(j, (size_t)s * (size_t)j->lookup.B + (size_t)b);
}

/* The first of the bag's rows whose ids, and those of all before it, are at least t n-ths. */
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
