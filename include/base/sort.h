/* sort.h - a few numbers in ascending order, and their median. */
#ifndef HPS_BASE_SORT_H
#define HPS_BASE_SORT_H

#include <stddef.h>

/* Sort x (n), the smallest first. Local. */
void hps_sort_ascending(double *x, size_t n);
/* Sort x (n), n >= 1, and return the median, for an even n the mean of the middle two. Local. */
double hps_sort_median(double *x, size_t n);

/* In x (n) ascending: the index of the first that is above `at`; n: none is. Pure. */
size_t hps_sort_first_above(const double *x, size_t n, double at);

#endif
