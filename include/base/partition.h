/* partition.h - the keys of three owners, picked out of the keys of many. */
#ifndef HPS_BASE_PARTITION_H
#define HPS_BASE_PARTITION_H

#include <stddef.h>
#include <stdint.h>

enum { HPS_PARTITION_WAYS = 3, HPS_PARTITION_SPARE = 8 };

/* The owner of a key is key >> bits. For k = 0, 1, 2 the lower bits (31 at most) of owner q + k's
 * keys are stored in to[k] from at[k] on, in their order, and at[k] grows by their number. Each
 * to[k] has a capacity of n + HPS_PARTITION_SPARE numbers behind at[k], all of which may be
 * written; they do not overlap. By AVX-512 where the machine has it, with the same result. */
void hps_partition(size_t n, const uint64_t *key, uint64_t q, int bits,
                   int *const to[HPS_PARTITION_WAYS], size_t at[HPS_PARTITION_WAYS]);
/* The same without vectors. */
void hps_partition_scalar(size_t n, const uint64_t *key, uint64_t q, int bits,
                          int *const to[HPS_PARTITION_WAYS], size_t at[HPS_PARTITION_WAYS]);

#endif
