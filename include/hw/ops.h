/* ops.h - the operands of device operations: matrix views, lists and sums of rows. Plain data
 * without MPI or a library, for C and CUDA C. */
#ifndef HPS_HW_OPS_H
#define HPS_HW_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A matrix view: (B, width) float on the device. */
struct hps_tensor {
    float *data;                /* NULL: this output is not computed                       */
    size_t ld;
    int width;
    bool add;                   /* an output: accumulate into data instead of overwriting it */
};

/* A contiguous view. Of const data: for reading only. Pure. */
static inline struct hps_tensor hps_tensor_of(const float *data, int width)
{
    return (struct hps_tensor){ (float *)(size_t)data, (size_t)width, width, false };
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

/* n sums of vectors of length dim: the i-th is over the vectors from[start[i]] ..
 * from[start[i+1] - 1] of `row`, at least one. start and from NULL: vector i itself. Device
 * memory. */
struct hps_row_sums {
    const float *row;           /* (.., dim) */
    const int *start, *from;
};

#endif
