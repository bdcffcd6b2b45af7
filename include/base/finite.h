/* finite.h - NaN and infinity among numbers. */
#ifndef HPS_BASE_FINITE_H
#define HPS_BASE_FINITE_H

#include <stddef.h>

/* Index of the first of n numbers that is not finite; n: all are. Pure. */
size_t hps_first_not_finite(const float *x, size_t n);

#endif
