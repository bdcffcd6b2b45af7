/* both.h - HPS_BOTH before a function that a GPU's kernels call too; nothing to a C compiler. */
#ifndef HPS_BASE_BOTH_H
#define HPS_BASE_BOTH_H

#ifdef __CUDACC__
#define HPS_BOTH __host__ __device__
#else
#define HPS_BOTH
#endif

#endif
