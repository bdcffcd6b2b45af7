/* cuda_aware.c - asks the MPI library whether it is CUDA-aware. */
#include "comm/cuda_aware.h"

#include <stdlib.h>
#include <string.h>

#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

static bool library_is(void)
{
#if defined(MPIX_CUDA_AWARE_SUPPORT)
    return MPIX_Query_cuda_support() == 1;
#else
    return false;
#endif
}

bool hps_cuda_aware(void)
{
    const char *word = getenv("HETERPS_CUDA_AWARE");

    if (word && *word) return strcmp(word, "1") == 0;
    return library_is();
}
