/* status.h - what a verb answers, the same on every rank where ranks act on it together. */
#ifndef HPS_BASE_STATUS_H
#define HPS_BASE_STATUS_H

#include <mpi.h>

/* One value for each exit code of the manual: the program exits with the status of its verb. */
enum hps_status {
    HPS_OK = 0,
    HPS_USAGE = 64,  /* the command line is wrong                                     */
    HPS_DECK = 65,   /* the deck or the data is wrong; no feasible plan; loss is not finite */
    HPS_INPUT = 66,  /* an input is missing or cannot be read                         */
    HPS_FAIL = 70,   /* a bug, a failed library call, a stall                         */
    HPS_OUTPUT = 73, /* an output cannot be written, or the run directory is in use   */
    HPS_AGAIN = 75   /* stopped early with a whole checkpoint: submit again           */
};

/* The worst status of all ranks of `comm` (the largest code), the same on every rank afterwards.
 * Collective over comm; with MPI_COMM_NULL the answer is `mine`. */
enum hps_status hps_agree(MPI_Comm comm, enum hps_status mine);

#endif
