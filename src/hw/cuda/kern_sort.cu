/* kern_sort.cu - CUB's radix sort behind a C launcher. */
#include <cub/device/device_radix_sort.cuh>

#include "hw/cuda/kern_impl.h"

extern "C" int hps_kern_sort(void *stream, const struct hps_kern_sort *s, void *temp,
                             size_t *bytes)
{
    return (int)cub::DeviceRadixSort::SortPairs(temp, *bytes, s->key, s->key_out, s->value,
                                                s->value_out, (int)s->n, 0, 32,
                                                (cudaStream_t)stream);
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
