/* cuda_range.c - ranges on the timeline of a profiler by NVTX, a library of headers that costs
 * nothing without a profiler. */
#include "hw/cuda/cuda_impl.h"

#if defined(__has_include)
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define RANGES
#endif
#endif

void hps_cuda_range(const char *name)
{
#ifdef RANGES
    if (name)
        (void)nvtxRangePushA(name);
    else
        (void)nvtxRangePop();
#else
    (void)name;
#endif
}
