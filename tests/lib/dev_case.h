/* dev_case.h - matrices with gaps between their rows, to hold a device's operation against its
 * twin: what lies between the rows must stay as it was. */
#ifndef HPS_TESTS_DEV_CASE_H
#define HPS_TESTS_DEV_CASE_H

#include "device.h"
#include "twin.h"

/* A float matrix with a gap behind each row, and the same numbers as doubles without gaps. */
struct matrix {
    int B, width;
    size_t ld;
    float *f;
    double *d;
};

/* Filled with numbers in [-1, 1), other ones each time; `gap` floats behind each row. */
struct matrix matrix(int B, int width, int gap);
void matrix_done(struct matrix *m);
struct hps_tensor tensor(const struct matrix *m);
struct hps_tensor adding(const struct matrix *m, bool add);     /* added to, else overwritten */

/* m's floats are the doubles `want`, to 1e-5 of the largest (at least of 1), and its gaps are
 * whole: else the test fails. */
void matrix_check(const struct matrix *m, const double *want);

struct hps_dev open_dev(int nthread);

/* What write(dev, to, arg) writes to a tensor in bf16 are the rounded numbers of `y`, which it
 * wrote in fp32, and gaps are whole: emulated, and by the processor's own bf16. Else the test
 * fails. A device that keeps no tensor in bf16 is left out. */
void rounded_check(struct hps_dev *dev, const struct matrix *y,
                   void (*write)(struct hps_dev *dev, struct hps_tensor to, const void *arg),
                   const void *arg);

/* call(&dev, ...) on devices of 1, 2 and 3 threads; on a card, whose kernels use none, once. */
#define EACH_DEV(call, ...)                                                                        \
    for (int nthread = 1; nthread <= HPS_TEST_THREADS; nthread++) {                                \
        struct hps_dev dev = open_dev(nthread);                                                    \
        call(&dev, __VA_ARGS__);                                                                   \
        dev.ops->close(&dev);                                                                      \
    }

#endif
