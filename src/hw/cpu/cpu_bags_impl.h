/* cpu_bags_impl.h - bags of rows on a CPU, as their two directions see them. For src/hw/cpu_bags*.c
 * only. */
#ifndef HPS_HW_CPU_CPU_BAGS_IMPL_H
#define HPS_HW_CPU_CPU_BAGS_IMPL_H

#include "hw/cpu/cpu_impl.h"

#define HPS_BAGS_BLOCK 64       /* examples in work at once: what they write stays in the cache */
#define HPS_BAGS_NEAR 16        /* bags to prefetch in front of the one in work                 */
#define HPS_BAGS_PART 2048      /* rows that a thread takes at once                             */

struct hps_bags {
    struct hps_bag bag;
    size_t dim;
    bool mean, concat;
    const float *rows;          /* forward  */
    float *popular;             /* forward: popular rows side by side                       */
    float *grad;                /* backward */
    bool add, dense, once;      /* bags lie side by side in y; each has a place and one id   */
    double per_slot;
    int nid;                    /* numbers in `from`, up to the bag's last                  */
    float *apart;               /* by row on n threads: (n - 1) y of their own              */
    float *named;               /* by part of the bags: gradients of popular rows           */
    int nnamed;                 /* parts                                                    */
    struct hps_tensor y;        /* or dy    */
};

static inline struct hps_bags hps_bags_of(const struct hps_bag *bag, int dim,
                                          enum hps_pool_kind pool, enum hps_combine combine,
                                          struct hps_tensor y)
{
    bool concat = combine == HPS_COMBINE_CONCAT;

    return (struct hps_bags){ .bag = *bag, .dim = (size_t)dim, .mean = pool == HPS_POOL_MEAN,
                              .concat = concat, .y = y, .per_slot = 1.0 / bag->nslot,
                              .dense = (concat || bag->nslot == 1) &&
                                       y.ld == (size_t)bag->nslot * (size_t)dim,
                              .once = bag->single && (concat || bag->nslot == 1),
                              .nid = bag->place ? bag->start[bag->nplace] : 0 };
}

/* Where the ids of sack `at`, slot * B + b, begin. */
static inline size_t hps_bags_start(const struct hps_bag *bag, size_t at)
{
    return bag->single ? at : (size_t)bag->offset[at];
}

/* How often a sack, and all of them, name popular rows. */
static inline size_t hps_bags_names_of(const struct hps_bag *bag, size_t at)
{
    return bag->npopular > 0 ? (size_t)(bag->name_begin[at + 1] - bag->name_begin[at]) : 0;
}
static inline size_t hps_bags_names(const struct hps_bag *bag)
{
    size_t n = (size_t)bag->nslot * (size_t)bag->B;

    return bag->npopular > 0 ? (size_t)(bag->name_begin[n] - bag->name_begin[0]) : 0;
}

/* What each row of a sack counts. */
static inline float hps_bags_share(const struct hps_bags *j, size_t at)
{
    size_t n = 0;

    if (j->mean)
        n = hps_bags_start(&j->bag, at + 1) - hps_bags_start(&j->bag, at) +
            hps_bags_names_of(&j->bag, at);
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
    if (plain || j->dense)
        return (size_t)from * dim;
    int b = (int)(((double)from + 0.5) * j->per_slot), s = from - b * j->bag.nslot;
    return (size_t)b * j->y.ld + (j->concat ? (size_t)s * dim : 0);
}

/* The bag that is added to, or read, a while after the k-th. */
HPS_INLINE int hps_bags_ahead(const struct hps_bags *j, int k)
{
    return j->bag.from[k + HPS_BAGS_NEAR < j->nid ? k + HPS_BAGS_NEAR : k];
}

HPS_INLINE float hps_bags_share_of(const struct hps_bags *j, int from)
{
    int b = from / j->bag.nslot, s = from - b * j->bag.nslot;

    return hps_bags_share(j, (size_t)s * (size_t)j->bag.B + (size_t)b);
}

/* The first of the bag's rows whose ids, and those of all before it, are at least t n-ths. */
static inline size_t hps_bags_cut(const struct hps_bag *bag, int t, int n)
{
    size_t low = 0, high = bag->nplace, nid = (size_t)(bag->start[high] - bag->start[0]);
    int want = (int)(nid / (size_t)n * (size_t)t);

    if (t == n)
        return high;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (bag->start[middle] - bag->start[0] < want)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
