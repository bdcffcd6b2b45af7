/* unique_impl.h - for src/ps/request/unique*.c only: a step under way. */
#ifndef HPS_PS_REQUEST_UNIQUE_IMPL_H
#define HPS_PS_REQUEST_UNIQUE_IMPL_H

#include "base/radix.h"
#include "ps/csr.h"
#include "ps/unique.h"

struct hps_unique {
    struct hps_dev *dev;
    bool wanted, index;                 /* by the user; in the step under way               */
    bool direct;                        /* rows are read in the table, all of one owner   */
    struct hps_csr csr;
    struct hps_radix *radix;
    size_t bag_cap, count_cap;
    int lookup_bits, bag_bits, place_bits; /* of a tail: the lookup, its bag, and for an index the
                                            place in that */
    int *bag;                              /* (nbag) its first id                             */
    size_t *pair_at;                    /* (M * nlayer) pairs before those of its micro-batch */
    struct hps_lookup *lookup;          /* of the step under way                            */
    struct hps_unique_room *room;
    size_t *count;                      /* (nwork, counters) how many, then which is next   */
};

static inline size_t hps_unique_pairs(const struct hps_unique *p)
{
    return (size_t)p->csr.M * (size_t)p->csr.parts;
}

/* What a part counts: rows by micro-batch and owner; rows and ids by bag. Later the next of
 * each. */
struct hps_unique_counts {
    size_t *rows, *lookup_rows, *lookup_ids;
};
/* How many numbers that are, and to the next part's: no cache line is of two. */
static inline size_t hps_unique_counters(const struct hps_unique *p)
{
    return hps_parallel_apart(hps_unique_pairs(p) + 2 * hps_csr_lookups(&p->csr), sizeof(size_t));
}
struct hps_unique_counts hps_unique_counts(const struct hps_unique *p, int t);

/* Of part t of the work: count and put its ids; sort and count its rows; place them. */
void hps_unique_count_part(void *places, int t);
void hps_unique_put_part(void *places, int t);
void hps_unique_sort_part(void *places, int t);
void hps_unique_place_part(void *places, int t);

#endif
