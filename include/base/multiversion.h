/* multiversion.h - loops compiled once for each vector width and chosen when the program is loaded,
 * so that one binary serves all nodes of a cluster. All versions give the same bits: no
 * contraction. For static functions (clang gives the resolver of others a local name), each with a
 * name that no multiversioned function of another file has (clang exports the resolver to the
 * linker). */
#ifndef HPS_BASE_MULTIVERSION_H
#define HPS_BASE_MULTIVERSION_H

#if defined __x86_64__ && defined __gnu_linux__
#define HPS_MULTIVERSION __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define HPS_MULTIVERSION
#endif

/* For functions that multiversioned ones call: they are compiled into each version. */
#define HPS_INLINE __attribute__((always_inline)) static inline

/* In front of a loop over numbers that do not overlap: vectors, where a compiler that unrolls a
 * short loop first forgets what `restrict` said. */
#ifdef _OPENMP
#define HPS_VECTORS _Pragma("omp simd")
#else
#define HPS_VECTORS
#endif

#endif
