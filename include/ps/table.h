/* table.h - a shard of embedding rows, optimiser states beside them; the update of touched rows.
 * Which rows it has: ps/cyclic.h. Where they are kept: ps/tier.h; with slots, gather, sums and
 * apply take the slots of local rows in place of their numbers. */
#ifndef HPS_PS_TABLE_H
#define HPS_PS_TABLE_H

#include "comm/messages.h"
#include "hw/row_format.h"
#include "net/net.h"
#include "net/opt.h"
#include "ps/cyclic.h"
#include "ps/tier.h"

struct hps_row_store;
struct hps_slots;
struct hps_snapshot;

/* How rows of a shard get their initial values: those of table `index` of the net, which is
 * borrowed. */
struct hps_table_start {
    const struct hps_net *net;
    int index;
    struct hps_rule rule;
    uint64_t key;                           /* hps_net_rows_key */
};

struct hps_table {
    const struct hps_table_shape *shape;    /* borrowed */
    int part, parts;                        /* I am owner `part` of `parts`; none: part >= parts */
    long long nrow;                         /* mine     */
    int dim;
    size_t stride;                          /* floats from row to row: hps_rule_stride */
    struct hps_dev *dev;                    /* borrowed */
    struct hps_table_start start;
    const struct hps_tier_ops *tier;        /* where rows are kept */
    struct hps_row_format format;           /* how rows are kept     */
    float *row;                             /* (nrow, stride) device memory; or (slots, stride) */
    unsigned char *encoded;                 /* in place of `row`, where the format is not plain:
                                               (nrow, format.bytes) host memory */
    uint64_t key;                           /* of roundings by chance */
    uint32_t *row_key;                      /* (nrow_key) scratch     */
    size_t nrow_key;
    float *sample;                          /* scratch, or NULL      */
    struct hps_message_count rounding;      /* the error of some roundings */
    float *backing;                         /* (nrow, stride) where slots have some rows; or NULL */
    struct hps_row_store *store;            /* in its place, on a host; borrowed, or NULL */
    struct hps_slots *slots;                /* which; borrowed, or NULL */
    struct hps_snapshot *snapshot;              /* reads rows as they were; or NULL */
};

struct hps_table_opt {
    int part, parts;
    const struct hps_train_opt *train;
    uint64_t seed;                          /* of the initial values, and of roundings */
    const struct hps_tier_ops *tier;
    struct hps_slots *slots;                /* where the tier has them, else NULL; borrowed */
    enum hps_number weights, states;        /* how rows are kept */
};
/* Rows of table `index` of the net, initialised from (seed, table, global row), states as `train`
 * says; none is in a slot, and on a host with slots there are none before they are made (
 * ps/row_store.h). A device that keeps fp32 alone (hw/row_ops.h) does so. HPS_DECK with a
 * message when more than 2^31 - 1 rows come to this owner; *table is NULL then. Net and device are
 * borrowed. Local. */
enum hps_status hps_table_new(struct hps_table **table, const struct hps_net *net, int index,
                              struct hps_dev *dev, const struct hps_table_opt *opt);
void hps_table_free(struct hps_table *table);

/* Where its rows lie, as they are kept: (nrow, format.bytes), or the slots. Pure. */
static inline unsigned char *hps_table_memory(const struct hps_table *table)
{
    return table->encoded ? table->encoded : (unsigned char *)(void *)table->row;
}
struct hps_shard hps_table_shard(const struct hps_table *table);   /* Pure. */
/* n whole rows from the local row `first` on, to or from x (n, stride); not where rows have slots
 * or are on a device that is no host. Encoded rows that did not change are the same again.
 * Local. */
void hps_table_read(const struct hps_table *table, long long first, long long n, float *x);
void hps_table_write(struct hps_table *table, long long first, long long n, const float *x);
/* A local row as it is before the first update, as it is kept; x (stride) is scratch. Local;
 * thread-safe. */
void hps_table_make(const struct hps_table *table, int row, float *x, unsigned char *to);
/* For lookups that find rows by their local number (hw/lookup.h). Borrowed. */
struct hps_rows hps_table_rows(const struct hps_table *table);
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
