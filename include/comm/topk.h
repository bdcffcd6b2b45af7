/* topk.h - the largest of many numbers, as a message: which they are, and their values.
 *
 * A message of k of n numbers has k values of 4 bytes and their indices in ascending order, in
 * Elias and Fano's code: of each index the lower b = log2(n / k) bits, and the upper ones as a
 * bitmap of k + n / 2^b bits. So it has the same bytes each time; of one number in a hundred 5.1
 * bytes for each. */
#ifndef HPS_COMM_TOPK_H
#define HPS_COMM_TOPK_H

#include <stddef.h>
#include <stdint.h>

/* How many of n numbers are that share of them: 1 at least, unless n is 0. Pure. */
size_t hps_topk_count(size_t n, double share);
/* The words of a message of k of n numbers. Pure. */
size_t hps_topk_words(size_t n, size_t k);

/* Move the k <= n numbers of largest magnitude out of x (n): to `message` (hps_topk_words), while
 * x has 0 in their places. Of equal magnitudes those at the lower index go first, and NaN counts
 * as the largest. n is below 2^31. Local. */
void hps_topk_take(size_t n, float *x, size_t k, uint32_t *message);
/* x (n) += the numbers of a message. Local. */
void hps_topk_add(size_t n, size_t k, const uint32_t *message, float *x);

#endif
