/* table.h - a shard of embedding rows, optimiser states beside them; the update of touched rows.
 * Which rows it has: ps/cyclic.h.
 *
 * A device that has not room for all rows has some of them in slots, the others wait in the host's
 * memory: which, is the tier's to say (ps/slots.h), and who moves them before a step ps/staging.h.
 * Local rows are then told to gather and apply by their slots. */
#ifndef HPS_PS_TABLE_H
#define HPS_PS_TABLE_H

#include "net/net.h"
#include "net/opt.h"
#include "ps/cyclic.h"

struct hps_snapshot;
struct hps_slots;

struct hps_table {
    const struct hps_table_shape *shape;    /* borrowed */
    int part, parts;                        /* I am owner `part` of `parts` */
    long long nrow;                         /* mine     */
    int dim;
    size_t stride;                          /* floats from row to row: hps_rule_stride */
    struct hps_dev *dev;                    /* borrowed */
    float *row;                             /* (nrow, stride) device memory; of slots where ... */
    float *backing;                         /* (nrow, stride) host memory has the rest, or NULL */
    struct hps_slots *tier;                  /* then: what is where; borrowed */
    struct hps_snapshot *snap;              /* who still reads rows as they were; or NULL */
};

/* Rows initialised from (seed, table, global row), states as `opt` says; on the device, or, with a
 * tier, at home behind its slots: none is in a slot. HPS_DECK with a message when more than 2^31 -
 * 1 rows come to this owner; *table is NULL then. Local. */
enum hps_status hps_table_new(struct hps_table **table, const struct hps_net *net, int index,
                              int part, int parts, struct hps_dev *dev,
                              const struct hps_train_opt *opt, uint64_t seed,
                              struct hps_slots *tier);
void hps_table_free(struct hps_table *table);

/* Rows come to their slots or go home, queued: (n) row and slot, device memory. With a tier. */
void hps_table_fetch(struct hps_table *table, size_t n, const int *row, const int *slot);
void hps_table_return(struct hps_table *table, size_t n, const int *row, const int *slot);
/* With so many slots from now on, empty. */
void hps_table_slots(struct hps_table *table, int slots);
/* All rows as they are, to (nrow, stride) in host memory; waits. And the other way: from there, or
 * from hps_table_host, where they were written. Local. */
void hps_table_copy(struct hps_table *table, float *to);
void hps_table_set(struct hps_table *table, const float *from);
struct hps_shard hps_table_shard(const struct hps_table *table);   /* Pure. */
/* Where the table keeps its rows in host memory; NULL: it does not. Pure. */
float *hps_table_host(const struct hps_table *table);

/* Weights of local rows at[i], out (n, dim). `at`, `out` and gradients are device memory. */
void hps_table_gather(struct hps_table *table, size_t n, const int *at, float *out);
/* Sums of weights, out (n, dim): sum i of those of the local rows row[begin[i] .. begin[i+1]-1].
 * On a host, queued: what it reads stays until ops->sync. */
void hps_table_sums(struct hps_table *table, size_t n, const int *begin, const int *row,
                    float *out);
/* The rule on distinct local rows at[i] with the gradient of each. */
void hps_table_apply(struct hps_table *table, const struct hps_rule *rule, size_t n, const int *at,
                     const struct hps_row_sums *grad);

#endif
