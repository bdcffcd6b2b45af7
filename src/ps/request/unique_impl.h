/* unique_impl.h - the state of a step; for src/ps/request/unique*.c only. */
#ifndef HPS_PS_REQUEST_UNIQUE_IMPL_H
#define HPS_PS_REQUEST_UNIQUE_IMPL_H

#include "base/radix.h"
#include "ps/csr.h"
#include "ps/unique.h"

struct hps_unique {
    struct hps_dev *dev;
    bool wanted, index;                 /* lookups are by index: always; in this step       */
    bool direct;                        /* rows are read in the table, which has one owner  */
    struct hps_csr csr;
    struct hps_radix *radix;
    size_t bag_cap, count_cap;
    int lookup_bits, bag_bits, offset_bits; /* fields of a word's tail: the lookup, the bag, and for
                                               an index the position in the bag                 */
    int *bag;                           /* (nbag) first id of each bag                      */
    size_t *pair_at;                    /* (M * nlayer) first pair of its micro-batch       */
    struct hps_lookup *lookup;          /* of the step                                      */
    struct hps_unique_memory *memory;
    size_t *count;                      /* (nwork, counters) counts, then next numbers      */
};

/* Pairs of a micro-batch and an owner. Pure. */
static inline size_t hps_unique_pairs(const struct hps_unique *p)
{
    return (size_t)p->csr.M * (size_t)p->csr.parts;
}

/* The counts of a task: rows by pair; rows and ids by lookup. Later the next number of each. */
struct hps_unique_counts {
    size_t *rows, *lookup_rows, *lookup_ids;
};
/* How many these are, padded so that no two tasks share a cache line. Pure. */
static inline size_t hps_unique_counters(const struct hps_unique *p)
{
    return hps_parallel_apart(hps_unique_pairs(p) + 2 * hps_csr_lookups(&p->csr), sizeof(size_t));
}
struct hps_unique_counts hps_unique_counts(const struct hps_unique *p, int t);

/* The passes, for task t: count its ids; put them into buckets; sort these and count rows; number
 * the rows. */
void hps_unique_count_part(void *unique, int t);
void hps_unique_put_part(void *unique, int t);
void hps_unique_sort_part(void *unique, int t);
void hps_unique_number_part(void *unique, int t);

#endif
