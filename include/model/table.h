/* table.h - a shard of embedding rows, optimiser states beside them; the update of touched rows.
 *
 * Rows are dealt to k owners in blocks of HPS_TABLE_BLOCK rows: block b of a table belongs to owner
 * b % k. Which rows exist where is arithmetic, so a checkpoint is keyed by global row and loads on
 * any k. */
#ifndef HPS_MODEL_TABLE_H
#define HPS_MODEL_TABLE_H

#include "model/net.h"
#include "model/opt.h"

#define HPS_TABLE_BLOCK 64

struct hps_snap;

/* Who has a global row, and its place there. Pure. */
static inline int hps_table_owner(long long row, int k)
{
    return (int)(row / HPS_TABLE_BLOCK % k);
}
static inline long long hps_table_local(long long row, int k)
{
    return row / HPS_TABLE_BLOCK / k * HPS_TABLE_BLOCK + row % HPS_TABLE_BLOCK;
}
long long hps_table_nlocal(long long rows, int part, int k);    /* rows of an owner. Pure. */

struct hps_table {
    const struct hps_table_shape *shape;    /* borrowed */
    int part, parts;                        /* I am owner `part` of `parts` */
    long long nrow;                         /* mine     */
    int dim;
    size_t stride;                          /* floats from row to row: hps_rule_stride */
    struct hps_dev *dev;                    /* borrowed */
    float *row;                             /* (nrow, stride) device memory */
    struct hps_snap *snap;                  /* who still reads rows as they were; or NULL */
};

/* Rows initialised from (seed, table, global row), states as `opt` says. HPS_DECK with a message
 * when more than 2^31 - 1 rows come to this owner; *table is NULL then. Local. */
enum hps_status hps_table_new(struct hps_table **table, const struct hps_net *net, int index,
                              int part, int parts, struct hps_dev *dev,
                              const struct hps_train_opt *opt, uint64_t seed);
void hps_table_free(struct hps_table *table);

/* Weights of local rows at[i], out (n, dim). `at`, `out` and gradients are device memory. */
void hps_table_gather(struct hps_table *table, size_t n, const int *at, float *out);
/* The rule on distinct local rows at[i] with the gradient of each. */
void hps_table_apply(struct hps_table *table, const struct hps_rule *rule, size_t n, const int *at,
                     const struct hps_row_sums *grad);

#endif
