/* lookup.h - what a layer with a table gets for one micro-batch: its bags of ids, the rows that
 * belong to them, and where the gradients of these rows go. The parameter server makes it
 * (ps/ps.h); a layer hands it to the operations of a device. Plain data: C and CUDA C read it
 * alike. */
#ifndef HPS_HW_LOOKUP_H
#define HPS_HW_LOOKUP_H

#include "base/both.h"
#include "hw/ops.h"

/* How the rows of a bag's ids are found. */
enum hps_lookup_form {
    HPS_ROWS_BY_INDEX, /* each id has the unique index of its row                             */
    HPS_ROWS_IN_ORDER, /* no id has: each row, in order, knows its bags (by_row). On a host   */
    HPS_ROWS_IN_TABLE, /* each id has its row's number in the table. On a host                */
    HPS_POOLED_SUMS    /* by index, of partial sums that owners made of a bag's rows; a host  */
};

/* The rows of a step by unique row index p: number at[p] of `table`, whose rows are `stride` floats
 * apart; where at is NULL or at[p] < 0, number p of `gathered`. */
struct hps_rows {
    const float *gathered; /* (nrow, dim) */
    const float *table;
    size_t stride;
    const int *at; /* (nrow) */
};

/* The transpose of the bags: row[i], a unique row index, is in the bags (b * nslot + slot)
 * bag[start[i] .. start[i+1]-1], in the order of ids. Host memory; row NULL: nobody made it. */
struct hps_row_bags {
    size_t n;
    const int *row;   /* (n) all different */
    const int *start; /* (n + 1) */
    const int *bag;
};

/* The last n rows of by_row are hot: many bags have them, and neither the index, nor nid, nor
 * by_row's bags count them. Bag (slot, example) has hot rows number[begin[i] .. begin[i+1]-1],
 * i = slot * B + example, in the order of its ids: who goes from bag to bag has them in a cache. */
struct hps_hot_bags {
    int n;
    const int *number;
    const int *begin; /* (nslot * B + 1) */
};

/* Gradients of the rows of one step. The first layer that has some overwrites all of them, the
 * others add; with one alone, that layer may name what they are sums of instead. */
struct hps_row_grad {
    float *row;                         /* (nrow, dim), device memory                            */
    size_t nrow;
    bool written;                       /* somebody wrote: row, or deferred                      */
    bool may_defer;                     /* only one layer and one micro-batch read these rows    */
    struct hps_row_sums deferred;       /* set where deferred.row is not NULL                    */
};

/* Are gradients to be added to grad->row (else all of it is overwritten)? They are written from now
 * on. Local. */
static inline bool hps_row_grad_adds(struct hps_row_grad *grad)
{
    bool add = grad->written;

    grad->written = true;
    return add;
}

/* One bag of ids per example and slot, in CSR form: bag (slot, example) begins at id
 * offset[slot * B + example]. `single`: each has exactly one id, and offset may be NULL. */
struct hps_lookup {
    int nslot, B;
    size_t nid;
    const int *offset; /* (nslot * B + 1) */
    bool single;
    enum hps_lookup_form form;
    union {
        const int *index; /* by index, pooled sums: (nid) unique row index of each id */
        struct {
            const int *row; /* (nid) each id's row in rows.table                     */
            bool cold;      /* hot rows are not among them, most are met once        */
        } in_table;
    } of;
    struct hps_row_bags by_row;
    struct hps_hot_bags hot;
    struct hps_rows rows;
    struct hps_row_grad *grad; /* NULL: nothing is learned */
};

/* Row of unique index p, `dim` floats. */
HPS_BOTH static inline const float *hps_lookup_row(const struct hps_rows *rows, int p, size_t dim)
{
    int at = rows->at ? rows->at[p] : -1;

    return at >= 0 ? rows->table + (size_t)at * rows->stride : rows->gathered + (size_t)p * dim;
}

#endif
