#include "base/sort.h"

#include <assert.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void hps_sort_ascending(double *x, size_t n)
{
    qsort(x, n, sizeof *x, by_size);
}

double hps_sort_median(double *x, size_t n)
{
    assert(n > 0);
    hps_sort_ascending(x, n);
    return (x[n / 2] + x[(n - 1) / 2]) / 2;
}

size_t hps_sort_first_above(const double *x, size_t n, double at)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t mid = (low + high) / 2;
        if (x[mid] > at)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}
