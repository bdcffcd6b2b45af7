/* shm.h - memory that ranks of one host share: a rank reads what its shared-memory peers have
 * written, without a copy; messages between them say when it may.
 *
 * Each peer has buffers of its own, all with the same capacity in rows. A buffer of all peers is
 * one range of address space, with mine in front, so that one row number tells the peer and its
 * row; only pages in use take memory. */
#ifndef HPS_COMM_SHM_H
#define HPS_COMM_SHM_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

enum { HPS_SHM_MAX_ROWS = 1 << 30 }; /* rows of all peers in a buffer */

struct hps_shm;
/* Share n buffers with the members of comm on my host that can share theirs with me. dim (n) has
 * the numbers of 4 bytes in a row of each buffer, the same for all members. A member that passes
 * `may` false, has HETERPS_SHARED_MEMORY=0 in its environment or a limit on the size of files or of
 * address space (ulimit) shares nothing; a member whom the system refuses the memory warns. With
 * HETERPS_SHARED_RANKS=N in the environment of a host's first member, each N consecutive members
 * count as a host. NULL for a member without peers, and for MPI_COMM_NULL. Collective over comm. */
struct hps_shm *hps_shm_new(bool may, int n, const int *dim, MPI_Comm comm);
/* No buffer may be in use. Collective over the peers; NULL is fine. */
void hps_shm_free(struct hps_shm *shm);

/* Is member q a shared-memory peer? The same answer on both sides. A rank that has peers is one of
 * them itself; where `shm` is NULL no member is. Pure. */
bool hps_shm_is(const struct hps_shm *shm, int q);
/* The number of the first row of peer q, the same for all buffers; mine is 0. Pure. */
int hps_shm_first(const struct hps_shm *shm, int q);
/* The capacity in rows of each peer's part of a buffer. Pure. */
size_t hps_shm_rows(const struct hps_shm *shm);
/* Peer q's part of buffer b, with at least `rows` rows: the first rank that needs them extends it.
 * It never moves. Without memory, or beyond the capacity in rows, the run ends. Local. */
float *hps_shm_at(struct hps_shm *shm, int q, int b, size_t rows);
static inline int *hps_shm_ints(struct hps_shm *shm, int q, int b, size_t rows)
{
    return (int *)(void *)hps_shm_at(shm, q, b, rows);
}

/* Memory fences around messages: after release, the receiver of a message that I send sees what I
 * wrote before; after a message has come and acquire, I see what its sender wrote before. Local. */
void hps_shm_release(void);
void hps_shm_acquire(void);

#endif
