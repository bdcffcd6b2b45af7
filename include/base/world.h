/* world.h - begin and end of the program, and which of its ranks this process is. */
#ifndef HPS_BASE_WORLD_H
#define HPS_BASE_WORLD_H

#include <mpi.h>
#include <stdbool.h>

#include "base/status.h"

/* Start the program. `parallel`: initialise MPI (threads: SERIALIZED) and set its error handlers to
 * return, so that HPS_MPI sees failures; otherwise MPI is never touched and the world is one rank.
 * Returns the communicator of all ranks, MPI_COMM_NULL when not parallel. Collective over all
 * ranks. */
MPI_Comm hps_begin(int *argc, char ***argv, bool parallel);

/* End the program in order; returns the exit code for main. Collective over all ranks. */
int hps_end(enum hps_status status);

/* True between hps_begin and hps_end of a parallel program: MPI may be called. Local. */
bool hps_world_parallel(void);
int hps_rank(void);         /* this process in the world; 0 when not parallel. Local. */
int hps_nrank(void);        /* ranks in the world; 1 when not parallel. Local. */
const char *hps_host(void); /* of this process, as the batch system names it. Local. */

#endif
