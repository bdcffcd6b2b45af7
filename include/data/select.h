/* select.h - the n-th largest of any number of keys in a file, in bounded memory. */
#ifndef HPS_DATA_SELECT_H
#define HPS_DATA_SELECT_H

#include "base/status.h"

/* Create an unnamed file in the folder of `beside`; -1 with a message on failure. */
int hps_select_scratch(const char *beside);
/* Append data[0..n) to a file; HPS_OUTPUT with a message about `beside`. */
enum hps_status hps_select_write(int fd, const char *beside, const void *data, size_t n);

/* Find the n largest of `total` doubles in `fd`, none of them NaN (1 <= n < total): those above
 * *threshold, and all but *ties of those equal to it. */
enum hps_status hps_select_largest(int fd, long long total, long long n, double *threshold,
                                   long long *ties);

#endif
