/* status.c - the worst of all. */
#include "base/status.h"

#include "base/mpi_check.h"

enum hps_status hps_agree(MPI_Comm comm, enum hps_status mine)
{
    int code = (int)mine, worst;

    if (comm == MPI_COMM_NULL) return mine;
    HPS_MPI(MPI_Allreduce(&code, &worst, 1, MPI_INT, MPI_MAX, comm));
    return (enum hps_status)worst;
}
