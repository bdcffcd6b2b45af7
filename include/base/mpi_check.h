/* mpi_check.h - no result of an MPI call is ignored. */
#ifndef HPS_BASE_MPI_CHECK_H
#define HPS_BASE_MPI_CHECK_H

#include <mpi.h>

/* Every MPI call stands inside this macro: a failure prints rank, call, MPI's text and place, and
 * ends all ranks as hps_die_late does. */
#define HPS_MPI(call) hps_mpi_check((call), #call, __FILE__, __LINE__)
void hps_mpi_check(int rc, const char *call, const char *file, int line);

#endif
