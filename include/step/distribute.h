/* distribute.h - things to the ranks that own them, any number of them. */
#ifndef HPS_STEP_DISTRIBUTE_H
#define HPS_STEP_DISTRIBUTE_H

#include <mpi.h>
#include <stddef.h>

/* Send `count[r]` things of `size` bytes to each rank r; take what the others send.
 *   from   things, grouped by rank: first those for rank 0, then those for rank 1, ...
 *   count  (ranks of comm) how many are for each
 *   *n     [out] how many came, in no order that may be relied upon
 * Goes in rounds, so numbers beyond an int are fine and the buffers besides the result stay under
 * 32 MiB. MPI_COMM_NULL: one rank. Returns the things, to free with hps_mem_free.
 * Collective over comm. */
void *hps_distribute(const void *from, size_t size, const long long *count, long long *n,
                     MPI_Comm comm);

#endif
