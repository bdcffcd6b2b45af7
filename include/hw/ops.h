/* ops.h - the operands of device operations: matrix views, lists and sums of rows. Plain data
 * without MPI or a library, for C and CUDA C. */
#ifndef HPS_HW_OPS_H
#define HPS_HW_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A matrix view: (B, width) numbers on the device, in fp32, or in bf16 where an operation says that
 * it takes such. `data` and `rounded` NULL: this output is not computed. */
struct hps_tensor {
    float *data;
    size_t ld;                  /* numbers from row to row                                   */
    int width;
    bool add;                   /* an output: accumulate into data instead of overwriting it */
    uint16_t *rounded;          /* the numbers in bf16, in place of `data`                   */
};

/* A view with `ld` numbers from row to row; a contiguous one. Of const data: for reading only.
 * Pure. */
static inline struct hps_tensor hps_tensor_view(const float *data, size_t ld, int width)
{
    return (struct hps_tensor){ .data = (float *)(size_t)data, .ld = ld, .width = width };
}
static inline struct hps_tensor hps_tensor_of(const float *data, int width)
{
    return hps_tensor_view(data, (size_t)width, width);
}

/* Columns first .. first + n - 1 of x, to overwrite or to read. Pure. */
static inline struct hps_tensor hps_tensor_columns(struct hps_tensor x, size_t first, int n)
{
    return (struct hps_tensor){ .data = x.data ? x.data + first : NULL, .ld = x.ld, .width = n,
                                .rounded = x.rounded ? x.rounded + first : NULL };
}

/* Do two views begin at the same number? Pure. */
static inline bool hps_tensor_begin_alike(struct hps_tensor x, struct hps_tensor y)
{
    return x.data == y.data && x.rounded == y.rounded;
}

enum hps_act { HPS_ACT_NONE, HPS_ACT_RELU, HPS_ACT_SIGMOID, HPS_ACT_TANH, HPS_ACT_GELU };

enum hps_pool_kind { HPS_POOL_SUM, HPS_POOL_MEAN };       /* inside a slot  */
enum hps_combine { HPS_COMBINE_CONCAT, HPS_COMBINE_SUM }; /* over the slots */

/* n rows of a table in device memory: the i-th is number at[i]. Rows are `stride` floats apart and
 * begin with their `dim` weights. */
struct hps_row_list {
    size_t stride;
    int dim;
    size_t n;
    const int *at;              /* (n) device memory */
};

/* The same of a table whose rows are kept encoded (hw/row_format.h), on a host. */
struct hps_row_format;
struct hps_encoded_rows {
    const struct hps_row_format *format;
    void *row;
    size_t n;
    const int *at;              /* (n) */
    const uint32_t *key;        /* (n) of the rounding of each; NULL: to read */
};

/* n sums of vectors of length dim: the i-th is over the vectors from[start[i]] ..
 * from[start[i+1] - 1] of `row`, at least one. start and from NULL: vector i itself. Device
 * memory. */
struct hps_row_sums {
    const float *row;           /* (.., dim) */
    const int *start, *from;
};

#endif
