/* partition.h - numbers of three among the numbers of many. */
#ifndef HPS_BASE_PARTITION_H
#define HPS_BASE_PARTITION_H

#include <stddef.h>
#include <stdint.h>

enum { HPS_PARTITION_WAYS = 3, HPS_PARTITION_SPARE = 8 };

/* Of n keys, key >> bits says whose it is. The lower bits (31 at most) of those of q + k go to
 * to[k] from number at[k] on, in their order, and at[k] grows by how many these are, for k = 0, 1,
 * 2. There each has room for n + HPS_PARTITION_SPARE numbers, all of which may be written, and they
 * lie apart. By AVX-512 where the machine has it: the same numbers. */
void hps_partition(size_t n, const uint64_t *key, uint64_t q, int bits,
                   int *const to[HPS_PARTITION_WAYS], size_t at[HPS_PARTITION_WAYS]);
/* The same, one number after the other. */
void hps_partition_scalar(size_t n, const uint64_t *key, uint64_t q, int bits,
                          int *const to[HPS_PARTITION_WAYS], size_t at[HPS_PARTITION_WAYS]);

#endif
