/* csr.h - the ids of a step as bags in CSR form: which bag each id is in, whose row it names, and
 * how threads share the work.
 *
 * A bag is the ids of one example in one slot of a layer. The bags of a step are numbered through;
 * those of one layer in one micro-batch (a lookup) by example, then slot, so that a slot of n has
 * the bags first, first + n, ... Lookups are numbered by micro-batch, then layer. */
#ifndef HPS_PS_CSR_H
#define HPS_PS_CSR_H

#include "base/parallel.h"
#include "data/data.h"
#include "net/net.h"

struct hps_csr_slot {
    const struct hps_layer *layer;
    int i;                              /* of the layer's slots                          */
    struct hps_ids id;
    const int *offset;                  /* (B + 1), NULL: one id each                    */
    int B;
    size_t first, at; /* its first bag; the number of its first id     */
    int q;            /* the lookup that its bags are of               */
};

struct hps_csr {
    int parts, M, nlayer, nslot;        /* nslot: of a step                                    */
    const struct hps_layer **layer;     /* (nlayer)                                            */
    long long rows;
    int local_bits, key_bits;           /* a key: owner, then the row's number there           */
    uint32_t part_inverse;              /* block / parts = block * inverse >> shift for each of */
    int part_shift;                     /* the blocks of rows; 0: they are too many for that    */
    struct hps_csr_slot *slot;          /* (nslot)                                             */
    size_t nid, nbag;
    size_t *end;                        /* (M * nlayer) bags up to the end of a lookup        */
    struct hps_parallel work;           /* of a step, on so many ids                           */
};

/* Ids of the slots of `nlayer` layers (the list is copied), in M micro-batches; rows are 0..rows-1
 * and belong to the owners that hps_cyclic_owner says. */
void hps_csr_init(struct hps_csr *s, int nlayer, const struct hps_layer *const *layer,
                  long long rows, int M, int parts);
void hps_csr_done(struct hps_csr *s);

static inline size_t hps_csr_lookups(const struct hps_csr *s)
{
    return (size_t)s->M * (size_t)s->nlayer;
}

/* Bags in front of lookup q. Pure, as listed. */
static inline size_t hps_csr_front(const struct hps_csr *s, size_t q)
{
    return q > 0 ? s->end[q - 1] : 0;
}

/* The step's batches (M; NULL: none), to be worked on by so many threads; of lookup (M, nlayer)
 * its nslot, B, nid and single are set [out]. More ids than an int can number end the run. */
void hps_csr_list(struct hps_csr *s, const struct hps_batch *batch, int nthread,
                  struct hps_lookup *lookup);

/* A walk over the ids of part t of the work, in the order of the step's ids; parts have whole bags
 * and follow each other. It goes by chunks: ids of one slot in one micro-batch.
 *     hps_csr_walk(s, &w, m0, m1, t);
 *     while (hps_csr_next(s, &w)) ... */
enum { HPS_CSR_CHUNK = 256 };
struct hps_csr_walk {
    int t;
    size_t i, end;                      /* the next slot, of those before end         */
    const struct hps_csr_slot *slot;    /* the chunk's                                */
    size_t id_end;                          /* the part's ids and examples of it end here */
    int example_end;
    size_t from, n;                     /* the chunk: ids of the slot                 */
    int b0, b1;                         /* examples whose ids begin in the chunk      */
    uint64_t key[HPS_CSR_CHUNK];        /* (n) of the chunk's ids                     */
};
/* Of micro-batches m0 .. m1-1. */
void hps_csr_walk(const struct hps_csr *s, struct hps_csr_walk *w, int m0, int m1, int t);
/* The next chunk; false: there is none, and the walk is over. Every example of a slot is of one
 * chunk of it, also where it has no ids. */
bool hps_csr_next(const struct hps_csr *s, struct hps_csr_walk *w);

/* Keys of n ids of a slot, from id `at` of it on. */
void hps_csr_keys(const struct hps_csr *s, const struct hps_csr_slot *slot, size_t at, size_t n,
                  uint64_t *key);
/* The first of the slot's examples that are of part t of the work, and behind the last. Pure. */
int hps_csr_part(const struct hps_csr *s, const struct hps_csr_slot *slot, int t, int *end);
/* A slot's number of ids up to example b. Pure. */
static inline size_t hps_csr_before(const struct hps_csr_slot *slot, int b)
{
    return (size_t)(slot->offset ? slot->offset[b] : b);
}

#endif
