/* mpi_check.c - a failed MPI call, in words. */
#include "base/mpi_check.h"

#include <stdio.h>

#include "base/quit.h"
#include "base/world.h"

void hps_mpi_check(int rc, const char *call, const char *file, int line)
{
    char text[MPI_MAX_ERROR_STRING];
    int n;

    if (rc == MPI_SUCCESS) return;
    if (!hps_world_parallel() || MPI_Error_string(rc, text, &n) != MPI_SUCCESS)
        snprintf(text, sizeof text, "error %d", rc);
    hps_die_late(file, line, "%s: %s", call, text);
}
