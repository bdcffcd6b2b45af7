/* both.h - HPS_BOTH before a function that a GPU's kernels call too; nothing to a C compiler.
 * HPS_BOTH_INLINE: such a function is part of the loop that calls it. */
#ifndef HPS_BASE_BOTH_H
#define HPS_BASE_BOTH_H

#ifdef __CUDACC__
#define HPS_BOTH __host__ __device__
#define HPS_BOTH_INLINE static __host__ __device__ __forceinline__
#else
#define HPS_BOTH
#define HPS_BOTH_INLINE static inline __attribute__((always_inline))
#endif

#endif
