/* places_own.h - for src/model/places*.c only: a step under way. */
#ifndef HPS_MODEL_PLACES_OWN_H
#define HPS_MODEL_PLACES_OWN_H

#include <limits.h>

#include "base/radix.h"
#include "model/places.h"

/* A sack: one bag of one slot of a layer in a micro-batch; those of a step are numbered through.
 * Those of a bag by example, then slot: a slot of n has first, first + n, ...; its ids are those of
 * the step from `at` on. */
struct hps_places_slot {
    const struct hps_layer *layer;
    int i;                              /* of the layer's slots */
    struct hps_ids id;
    const int *offset;                  /* (B + 1), NULL: one id each */
    int B;
    size_t first, at;
    int q;                              /* the bag that its sacks are of */
};

struct hps_places {
    struct hps_dev *dev;
    bool wanted, index;                 /* by the user; in the step under way               */
    bool lie;                           /* rows are read where they lie, all of one owner   */
    int parts, M, nlayer, nslot;        /* nslot: of a step                                 */
    const struct hps_layer **layer;
    long long rows;
    int local_bits, key_bits;           /* a key: owner, then the row's number there        */
    uint32_t part_inverse;              /* block / parts = block * inverse >> shift for each of */
    int part_shift;                     /* the blocks of rows; 0: they are too many for that    */
    struct hps_radix *radix;
    struct hps_places_slot *slot;             /* (nslot)                                          */
    int nwork;                          /* parts of the work                                */
    size_t nid, nsack, sack_cap, count_cap;
    int bag_bits, sack_bits, place_bits;    /* of a tail: the bag, its sack, and for an index the
                                               place in that */
    int *sack;                          /* (nsack) its first id                             */
    size_t *end;                        /* (M * nlayer) sacks up to the end of a bag        */
    size_t *pair_at;                    /* (M * nlayer) pairs before those of its micro-batch */
    struct hps_bag *bag;                /* of the step under way                            */
    struct hps_places_room *room;
    size_t *count;                      /* (nwork, counters) how many, then which is next   */
};

static inline size_t hps_places_pairs(const struct hps_places *p)
{
    return (size_t)p->M * (size_t)p->parts;
}

static inline size_t hps_places_bags(const struct hps_places *p)
{
    return (size_t)p->M * (size_t)p->nlayer;
}

/* What a part counts: rows by micro-batch and owner; rows and ids by bag. Later the next of
 * each. */
struct hps_places_counts {
    size_t *rows, *bag_rows, *bag_ids;
};
/* How many numbers that are, and to the next part's: no cache line is of two. */
static inline size_t hps_places_counters(const struct hps_places *p)
{
    const size_t lines = 128 / sizeof(size_t);  /* a pair of lines is fetched at once */

    return (hps_places_pairs(p) + 2 * hps_places_bags(p) + lines - 1) / lines * lines;
}
struct hps_places_counts hps_places_counts(const struct hps_places *p, int t);

/* Of part t: count and put its ids; sort and count its rows; place them. */
void hps_places_count_part(struct hps_places *p, int t);
void hps_places_put_part(struct hps_places *p, int t);
void hps_places_sort_part(struct hps_places *p, int t);
void hps_places_place_part(struct hps_places *p, int t);

#endif
