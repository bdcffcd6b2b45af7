/* shm.h - memory that ranks of one host have in common: what one writes there the others read, and
 * no message copies it. When that may be done, messages say.
 *
 * Each member who is near has buffers of its own, all with room for as many rows. A buffer of all
 * of them is one piece of address space, with mine in front, so that one number says whose row it
 * is; only what is used takes memory. */
#ifndef HPS_COMM_SHM_H
#define HPS_COMM_SHM_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

enum { HPS_SHM_MOST = 1 << 30 }; /* rows of all who are near, in a buffer */

struct hps_shm;
/* Which members of comm are on my host, and see memory of mine as I see theirs: n buffers with rows
 * of so many numbers of 4 bytes, the same for all members. Who passes `may` false, has
 * HETERPS_SHARED_MEMORY=0 in its environment or a limit on the size of files or of address space
 * (ulimit) has none; one whom the system refuses it says so. HETERPS_SHARED_RANKS=N in that of a
 * host's first member: N of them in a row are as if on a host of their own. NULL where nobody is
 * near, and for MPI_COMM_NULL. Collective over comm. */
struct hps_shm *hps_shm_new(bool may, int n, const int *dim, MPI_Comm comm);
/* Nothing of it is used any more. Collective over those who are near; NULL is fine. */
void hps_shm_free(struct hps_shm *near);

/* Is member q near? The same answer on both sides; I am, where anybody is. Of NULL: nobody. */
bool hps_shm_is(const struct hps_shm *near, int q);
/* The number of the first row of member q, who is near; mine is 0. The same for all buffers. */
int hps_shm_first(const struct hps_shm *near, int q);
/* So many rows each of those who are near can have in a buffer. */
size_t hps_shm_rows(const struct hps_shm *near);
/* Member q's buffer b, with `rows` of its rows at least: who needs them first makes it so long. It
 * never moves. No memory, or more rows than a member can have, ends the run. Local. */
float *hps_shm_at(struct hps_shm *near, int q, int b, size_t rows);
static inline int *hps_shm_ints(struct hps_shm *near, int q, int b, size_t rows)
{
    return (int *)(void *)hps_shm_at(near, q, b, rows);
}

/* Around the messages: what I wrote before is seen by who gets a message that I send behind it, and
 * what others wrote before a message that I got is seen behind it. */
void hps_shm_release(void);
void hps_shm_acquire(void);

#endif
