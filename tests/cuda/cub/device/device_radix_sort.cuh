/* device_radix_sort.cuh - stands in for CUB where no GPU is: a stable sort of pairs. */
#ifndef HPS_TESTS_CUB_H
#define HPS_TESTS_CUB_H

#include <algorithm>
#include <numeric>
#include <vector>

#include "cuda_runtime.h"

namespace cub {
struct DeviceRadixSort {
    template <class K, class V>
    static cudaError_t SortPairs(void *temp, size_t &bytes, const K *key, K *key_out,
                                 const V *value, V *value_out, int n, int, int,
                                 cudaStream_t stream)
    {
        if (!temp) {
            bytes = 1;
            return cudaSuccess;
        }
        return hps_shim_launch(stream, false, dim3(1), dim3(1), [=]() {
            std::vector<int> order((size_t)n);
            std::iota(order.begin(), order.end(), 0);
            std::stable_sort(order.begin(), order.end(),
                             [=](int a, int b) { return key[a] < key[b]; });
            for (int i = 0; i < n; i++) {
                key_out[i] = key[order[(size_t)i]];
                value_out[i] = value[order[(size_t)i]];
            }
        });
    }
};
}

#endif
