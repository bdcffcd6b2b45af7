/* sort.h - numbers by size, and the one in their middle. */
#ifndef HPS_BASE_SORT_H
#define HPS_BASE_SORT_H

#include <stddef.h>

/* x (n), the least first. Local. */
void hps_sort_rising(double *x, size_t n);
/* The median of x (n), n >= 1, which is sorted: of an even n the mean of the two. Local. */
double hps_sort_median(double *x, size_t n);

#endif
