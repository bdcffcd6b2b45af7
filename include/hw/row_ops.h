/* row_ops.h - device operations on bags of ids and rows of tables: one table a backend. The
 * rules of hw/dev.h hold for each operation. */
#ifndef HPS_HW_ROW_OPS_H
#define HPS_HW_ROW_OPS_H

#include "hw/lookup.h"
#include "hw/rule.h"

struct hps_dev;

struct hps_row_ops {
    /* Pool bags of rows: y (B, nslot * dim) or (B, dim), may be in bf16: sums are fp32, and are
     * rounded once. An empty bag gives 0. */
    void (*bag_forward)(struct hps_dev *dev, const struct hps_lookup *lookup, int dim,
                        enum hps_pool_kind pool, enum hps_combine combine, struct hps_tensor y);
    /* Gradients of the rows, to lookup->grad->row: `add` to them, or overwrite all of them. The
     * sum of each row is in the order of the ids. */
    void (*bag_backward)(struct hps_dev *dev, const struct hps_lookup *lookup, int dim,
                         enum hps_pool_kind pool, enum hps_combine combine, struct hps_tensor dy,
                         bool add);

    /* On rows of a table, hps_rule_stride floats each. gather: out (n, dim) = their weights. apply:
     * update each by the rule with its gradient; no row is listed twice. */
    void (*gather)(struct hps_dev *dev, const float *table, struct hps_row_list rows, float *out);
    void (*apply)(struct hps_dev *dev, const struct hps_rule *rule, float *table,
                  struct hps_row_list rows, const struct hps_row_sums *grad);
    /* The same of rows that are kept encoded. NULL: the device has fp32 rows alone. */
    void (*gather_encoded)(struct hps_dev *dev, struct hps_encoded_rows rows, float *out);
    void (*apply_encoded)(struct hps_dev *dev, const struct hps_rule *rule,
                          struct hps_encoded_rows rows, const struct hps_row_sums *grad);
    /* to[to_at[i]] = from[from_at[i]], rows of `stride` floats; to_at has no repeats. One of the
     * two tables may be mapped memory. */
    void (*move)(struct hps_dev *dev, size_t stride, size_t n, const int *from_at,
                 const float *from, const int *to_at, float *to);
    /* to (n, dim) = the sums, each in order. */
    void (*sum)(struct hps_dev *dev, int dim, size_t n, const struct hps_row_sums *sums,
                float *to);
};

#endif
