/* lookup.h - what a layer with a table gets for one micro-batch: the bags of ids, their rows, and
 * where the gradients of the rows go. The parameter server makes it (ps/ps.h), a layer hands it to
 * the operations of a device. Plain data, for C and CUDA C. */
#ifndef HPS_HW_LOOKUP_H
#define HPS_HW_LOOKUP_H

#include "base/both.h"
#include "hw/ops.h"

/* How the row of an id is found. */
enum hps_lookup_form {
    HPS_ROWS_BY_INDEX,  /* by the unique row index of each id                                  */
    HPS_ROWS_IN_ORDER,  /* not by id: by_row lists the bags of each row. On a host             */
    HPS_ROWS_IN_TABLE,  /* by the number of each id's row in the table. On a host              */
    HPS_POOLED_SUMS     /* by index, of partial pooled sums that owners made. On a host        */
};

/* The rows of a step. The row with unique index p is number at[p] of `table`, whose rows are
 * `stride` floats apart, or, where at is NULL or at[p] < 0, number p of `gathered`. Of a table
 * whose rows are kept encoded, rows are found by number alone (HPS_ROWS_IN_TABLE). */
struct hps_rows {
    const float *gathered;      /* (nrow, dim) */
    const float *table;
    size_t stride;
    const int *at;              /* (nrow) */
    const unsigned char *encoded;           /* in place of `table`; or NULL */
    const struct hps_row_format *format;    /* of it                        */
};

/* The transpose of the bags: the row with unique index row[i] is in the bags
 * bag[start[i]] .. bag[start[i+1] - 1], each numbered b * nslot + slot, in the order of ids. Host
 * memory; row NULL: it was not made. */
struct hps_row_bags {
    size_t n;
    const int *row;             /* (n) distinct */
    const int *start;           /* (n + 1) */
    const int *bag;
};

/* Hot rows, those that many bags have: the last n rows of by_row. Their ids are not in `index`,
 * not in nid and not in by_row's bags; bag i = slot * B + example has the hot rows
 * number[begin[i]] .. number[begin[i+1] - 1], in the order of its ids. There are few, so that a
 * loop over bags has them in the cache. */
struct hps_hot_bags {
    int n;
    const int *number;
    const int *begin;           /* (nslot * B + 1) */
};

/* Gradients of the rows of one step. The first layer that has some overwrites all of them, later
 * ones add. Where there is one layer alone, it may instead state of what the gradients are sums
 * (deferred gradients). */
struct hps_row_grad {
    float *row;                         /* (nrow, dim), device memory                            */
    size_t nrow;
    bool written;                       /* `row` or `deferred` was written                       */
    bool may_defer;                     /* one layer and one micro-batch alone read these rows   */
    struct hps_row_sums deferred;       /* valid where deferred.row is not NULL                  */
};

/* Must gradients be added to grad->row (else they overwrite it)? Marks them as written. Local. */
static inline bool hps_row_grad_adds(struct hps_row_grad *grad)
{
    bool add = grad->written;

    grad->written = true;
    return add;
}

/* One bag of ids for each example and slot, in CSR form: bag (slot, example) begins at id
 * offset[slot * B + example]. `single`: each bag has exactly one id, and offset may be NULL. */
struct hps_lookup {
    int nslot, B;
    size_t nid;
    const int *offset;          /* (nslot * B + 1) */
    bool single;
    enum hps_lookup_form form;
    union {
        const int *index;       /* by index, pooled sums: (nid) unique row index of each id      */
        struct {
            const int *row;     /* (nid) number of each id's row in rows.table                   */
            bool cold;          /* without hot rows: most rows occur once and are not cached     */
        } in_table;
    } of;
    struct hps_row_bags by_row;
    struct hps_hot_bags hot;
    struct hps_rows rows;
    struct hps_row_grad *grad;  /* NULL: no training */
};

/* Row of unique index p, `dim` floats. */
HPS_BOTH static inline const float *hps_lookup_row(const struct hps_rows *rows, int p, size_t dim)
{
    int at = rows->at ? rows->at[p] : -1;

    return at >= 0 ? rows->table + (size_t)at * rows->stride : rows->gathered + (size_t)p * dim;
}

#endif
