/* select.h - the n-th largest of any number of keys in a file, in bounded memory. */
#ifndef HPS_DATA_SELECT_H
#define HPS_DATA_SELECT_H

#include "base/status.h"

/* A file without a name in the folder of `beside`, which is made; -1 and a message when it cannot
 * be. */
int hps_select_scratch(const char *beside);
/* All of data[0..n) to the end of a file; HPS_OUTPUT with a message about `beside`. */
enum hps_status hps_select_write(int fd, const char *beside, const void *data, size_t n);

/* Of the `total` doubles in `fd`, none of them NaN, the `n` largest (1 <= n < total) are those
 * above *threshold and those equal to it but for *ties. */
enum hps_status hps_select_largest(int fd, long long total, long long n, double *threshold,
                                   long long *ties);

#endif
