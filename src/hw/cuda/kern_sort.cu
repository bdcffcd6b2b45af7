/* kern_sort.cu - CUB's radix sort behind a C launcher. */
#include <cub/device/device_radix_sort.cuh>

#include "hw/cuda/kern_impl.h"

extern "C" int hps_kern_sort(void *stream, size_t n, const int *key, int *key_out,
                             const int *value, int *value_out, void *temp, size_t *bytes)
{
    return (int)cub::DeviceRadixSort::SortPairs(temp, *bytes, key, key_out, value, value_out,
                                                (int)n, 0, 32, (cudaStream_t)stream);
}

struct count_up {
    int *to;

    __device__ void operator()(size_t i, int) const { to[i] = (int)i; }
};

extern "C" int hps_kern_count_up(void *stream, size_t n, int *to)
{
    count_up f = { to };
    return run_each(stream, n, 1, f);
}
