/* pick.h - numbers of two among the numbers of many. */
#ifndef HPS_BASE_PICK_H
#define HPS_BASE_PICK_H

#include <stddef.h>
#include <stdint.h>

enum { HPS_PICK_SPARE = 8 };

/* Of n keys, key >> bits says whose it is. The lower bits (31 at most) of those of q go to to_q
 * from number *nq on, in their order, those of q + 1 to to_r from *nr on; both counts grow by how
 * many these are. There each has room for n + HPS_PICK_SPARE numbers, all of which may be written,
 * and they lie apart. By AVX-512 where the machine has it: the same numbers. */
void hps_pick_two(size_t n, const uint64_t *key, uint64_t q, int bits, int *to_q, int *to_r,
                  size_t *nq, size_t *nr);
/* The same, one number after the other. */
void hps_pick_two_plainly(size_t n, const uint64_t *key, uint64_t q, int bits, int *to_q, int *to_r,
                          size_t *nq, size_t *nr);

#endif
