/* fake_mpi.h - an MPI whose ranks are fibers (fibers.h) of one process: the calls that training
 * makes, under their own names, so that a test which links this runs the program's object files as
 * they are. What MPI leaves open is drawn by the seed: when a message or a collective completes, on
 * which side first; whether a send keeps a copy of its buffer or reads it when the receiver is
 * there; what is in a buffer before it has been received. Every collective waits for all members,
 * as MPI allows. A wrong use (collectives that do not match, a message too long, a message nobody
 * received, a request nobody waited for) ends the program. */
#ifndef HPS_TESTS_FAKE_MPI_H
#define HPS_TESTS_FAKE_MPI_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

struct fake_mpi {
    int n;                              /* ranks, FIBERS_MAX at most                        */
    uint64_t seed;
    int host;                           /* so many ranks in turn are on one host            */
    int eager;                          /* of 256 sends so many keep a copy                 */
    void (*body)(int rank, MPI_Comm world, void *arg);
    void *arg;
};
/* Run all ranks until they have returned. False: none can go on; then nothing else may be run. */
bool fake_mpi_run(const struct fake_mpi *f);
/* What is under way, one line a rank, on standard error. */
void fake_mpi_print(void);

#endif
