/* cuda_aware.h - whether MPI takes device memory as it takes the host's. */
#ifndef HPS_COMM_CUDA_AWARE_H
#define HPS_COMM_CUDA_AWARE_H

#include <stdbool.h>

/* Then messages go from device to device without a copy on the host. As the MPI library says of
 * itself; HETERPS_CUDA_AWARE=0 or 1 in the environment knows better (a library may be able to where
 * its transport is not). Each rank decides for itself: what travels is the same. Local. */
bool hps_cuda_aware(void);

#endif
