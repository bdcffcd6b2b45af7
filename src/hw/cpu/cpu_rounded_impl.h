/* cpu_rounded_impl.h - products in bf16 of fully connected layers: rounded rows, packed weights,
 * and each thread's scratch for a block of rows. For src/hw/cpu/cpu_dense.c. */
#ifndef HPS_HW_CPU_CPU_ROUNDED_IMPL_H
#define HPS_HW_CPU_CPU_ROUNDED_IMPL_H

#include "hw/bf16.h"
#include "hw/cpu/cpu_impl.h"

/* The scratch of a thread has the rounded numbers of x at 0, those of dy, and a product that is
 * copied. */
struct hps_cpu_rounded {
    const struct hps_bf16_lib *lib;     /* NULL: products are fp32              */
    const char *w, *w_transposed;       /* packed                               */
    char *scratch;
    size_t dy_at, product_at;           /* in the scratch of a thread           */
    size_t stride;                      /* from one thread's to the next one's  */
};

/* The library for products of this precision; NULL: they are fp32. */
const struct hps_bf16_lib *hps_cpu_bf16_lib(const struct hps_dev *dev,
                                            enum hps_precision precision);
/* Take the scratch for blocks of `rows` rows, with a product of width `copied` (0: none); r->lib is
 * set. `packed`: as hps_cpu_fc_pack left it. */
void hps_cpu_rounded_begin(struct hps_dev *dev, struct hps_cpu_rounded *r, const void *packed,
                           size_t rows, size_t in, size_t out, size_t copied);
/* In the scratch of the calling thread. */
void *hps_cpu_rounded_scratch(const struct hps_cpu_rounded *r, size_t at);
/* Rows of x from `first` on in bf16: where they are, or rounded into the scratch at `at`, without
 * gaps. */
struct hps_cpu_rounded_rows {
    const uint16_t *data;
    size_t ld;
};
struct hps_cpu_rounded_rows hps_cpu_rounded_rows(const struct hps_cpu_rounded *r, size_t at,
                                                 struct hps_tensor x, size_t first, size_t rows);
/* Rows first .. of c = a b, or c += a b where c.add is set: a (rows, k), b packed. */
void hps_cpu_rounded_product(const struct hps_cpu_rounded *r, size_t first, size_t rows,
                             struct hps_cpu_rounded_rows a, size_t k, const void *b,
                             struct hps_tensor c);
/* Rows of dy (.., width) *= relu' of those of y, which is in bf16; db += their column sums. */
void hps_cpu_relu_back_rounded(size_t rows, struct hps_tensor y, struct hps_tensor dy, float *db);

#endif
