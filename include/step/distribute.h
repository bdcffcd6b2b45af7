/* distribute.h - send items to the ranks that own them, any number of items. */
#ifndef HPS_STEP_DISTRIBUTE_H
#define HPS_STEP_DISTRIBUTE_H

#include <mpi.h>
#include <stddef.h>

/* Send `count[r]` items of `size` bytes to each rank r, and receive those that other ranks send.
 *   from   items, grouped by rank: first those for rank 0, then those for rank 1, ...
 *   count  (ranks of comm) how many items are for each rank
 *   *n     [out] how many items came, in no order that a caller may rely on
 * The exchange is done in rounds, so counts beyond an int are fine and the buffers besides the
 * result stay under 32 MiB. MPI_COMM_NULL is one rank. Returns the items, which the caller frees
 * with hps_mem_free.
 * Collective over comm. */
void *hps_distribute(const void *from, size_t size, const long long *count, long long *n,
                     MPI_Comm comm);

#endif
