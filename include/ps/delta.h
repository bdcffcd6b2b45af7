/* delta.h - numbers of rows as differences, each in as few bytes as it needs: 7 bits a byte, the
 * low ones first, the eighth says that more follow. For a list of n numbers at most 5 n bytes;
 * ascending rows that are 128 apart on average take one or two. Pure. */
#ifndef HPS_PS_DELTA_H
#define HPS_PS_DELTA_H

#include <stddef.h>

/* What a list is: rows, each larger than the one before; the same, of which some are marked, given
 * as ~row; any numbers. */
enum hps_delta { HPS_DELTA_ROWS, HPS_DELTA_MARKED, HPS_DELTA_ANY };
enum { HPS_DELTA_MAX = 5 };             /* bytes of a number */

/* Encode x (n); returns the bytes. `to` has room for HPS_DELTA_MAX n of them. */
size_t hps_delta_encode(enum hps_delta list, size_t n, const int *x, unsigned char *to);
/* Decode n numbers; returns the bytes that they took. */
size_t hps_delta_decode(enum hps_delta list, size_t n, const unsigned char *from, int *x);

#endif
