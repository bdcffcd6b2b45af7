/* sacks.h - the ids of a step, slot by slot: in which sack each is, whose row it names, and how
 * threads part them.
 *
 * A sack is one bag of one slot of a layer in a micro-batch; those of a step are numbered through.
 * Those of a bag by example, then slot: a slot of n has first, first + n, ... Bags are numbered by
 * micro-batch, then layer. */
#ifndef HPS_MODEL_SACKS_H
#define HPS_MODEL_SACKS_H

#include "base/work.h"
#include "model/data.h"
#include "model/net.h"

struct hps_sacks_slot {
    const struct hps_layer *layer;
    int i;                              /* of the layer's slots                          */
    struct hps_ids id;
    const int *offset;                  /* (B + 1), NULL: one id each                    */
    int B;
    size_t first, at;                   /* its first sack; the step's ids from `at` on are its */
    int q;                              /* the bag that its sacks are of                 */
};

struct hps_sacks {
    int parts, M, nlayer, nslot;        /* nslot: of a step                                    */
    const struct hps_layer **layer;     /* (nlayer)                                            */
    long long rows;
    int local_bits, key_bits;           /* a key: owner, then the row's number there           */
    uint32_t part_inverse;              /* block / parts = block * inverse >> shift for each of */
    int part_shift;                     /* the blocks of rows; 0: they are too many for that    */
    struct hps_sacks_slot *slot;        /* (nslot)                                             */
    size_t nid, nsack;
    size_t *end;                        /* (M * nlayer) sacks up to the end of a bag           */
    struct hps_work work;               /* of a step, on so many ids                           */
};

/* Ids of the slots of `nlayer` layers (the list is copied), in M micro-batches; rows are 0..rows-1
 * and belong to the owners that hps_table_owner says. */
void hps_sacks_init(struct hps_sacks *s, int nlayer, const struct hps_layer *const *layer,
                    long long rows, int M, int parts);
void hps_sacks_done(struct hps_sacks *s);

static inline size_t hps_sacks_bags(const struct hps_sacks *s)
{
    return (size_t)s->M * (size_t)s->nlayer;
}

/* The step's batches (M; NULL: none), to be worked on by so many threads; of bag (M, nlayer) its
 * nslot, B, nid and single are set [out]. More ids than an int can number end the run. */
void hps_sacks_list(struct hps_sacks *s, const struct hps_batch *batch, int nthread,
                    struct hps_bag *bag);

/* Part t of the work, in whole sacks: the examples b0..b1-1 of a slot, which have its ids
 * from..to-1. Parts follow each other in the order of the step's ids. Pure. */
struct hps_sacks_span {
    int b0, b1;
    size_t from, to;
};
struct hps_sacks_span hps_sacks_span(const struct hps_sacks *s, const struct hps_sacks_slot *slot,
                                     int t);

/* Keys of n ids of a slot from `at` on. */
void hps_sacks_keys(const struct hps_sacks *s, const struct hps_sacks_slot *slot, size_t at,
                    size_t n, uint64_t *key);

#endif
