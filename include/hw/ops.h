/* ops.h - what the operations of a device work on: views of matrices, sums of rows. Plain data
 * without MPI or a library: C and CUDA C read it alike. */
#ifndef HPS_HW_OPS_H
#define HPS_HW_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A matrix view: (B, width) float on the device. */
struct hps_tensor {
    float *data;                /* NULL: not there (an unwanted gradient)                  */
    size_t ld;
    int width;
    bool add;                   /* a gradient that is written here is added to what is there */
};

/* A contiguous view; what is const is only read through it. Pure. */
static inline struct hps_tensor hps_tensor_of(const float *data, int width)
{
    return (struct hps_tensor){ (float *)(size_t)data, (size_t)width, width, false };
}

enum hps_act { HPS_ACT_NONE, HPS_ACT_RELU, HPS_ACT_SIGMOID, HPS_ACT_TANH, HPS_ACT_GELU };

enum hps_pool_kind { HPS_POOL_SUM, HPS_POOL_MEAN };       /* inside a slot  */
enum hps_combine { HPS_COMBINE_CONCAT, HPS_COMBINE_SUM }; /* over the slots */

/* n rows of a table in device memory: the i-th is row at[i], `stride` floats from row to row, `dim`
 * weights first. */
struct hps_row_list {
    size_t stride;
    int dim;
    size_t n;
    const int *at;              /* (n) device memory */
};

/* n vectors of dim, each a sum: the i-th of vectors from[start[i]] .. from[start[i+1]-1] of `row`,
 * at least one; start and from NULL: vector i itself. Device memory. */
struct hps_row_sums {
    const float *row;           /* (.., dim) */
    const int *start, *from;
};

#endif
