/* kway_merge.h - sorted runs, one behind the other, become one sorted list. */
#ifndef HPS_BASE_KWAY_MERGE_H
#define HPS_BASE_KWAY_MERGE_H

#include <stddef.h>
#include <stdint.h>

/* nrun > 0 runs in `word`: run i is word[at[i]] .. word[at[i + 1] - 1], at[0] = 0, each sorted by
 * word >> shift. Returns all of them sorted, in `word` or in `spare` (as long as word); of equal
 * ones those of earlier runs come first. The content of `at` (nrun + 1) is lost. */
const uint64_t *hps_kway_merge(uint64_t *word, uint64_t *spare, int nrun, size_t *at, int shift);

#endif
