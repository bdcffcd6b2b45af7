/* multiversion.h - loops compiled once for each vector width and chosen when the program is loaded,
 * so that one binary serves all nodes of a cluster. The clones give the same bits: no contraction.
 * For static functions (clang gives the chosen one of those that are not a name of its own), each
 * with a name that no clone of another file has (clang shows the linker who chooses). */
#ifndef HPS_BASE_MULTIVERSION_H
#define HPS_BASE_MULTIVERSION_H

#if defined __x86_64__ && defined __gnu_linux__
#define HPS_MULTIVERSION __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define HPS_MULTIVERSION
#endif

/* What clones call is compiled within each. */
#define HPS_INLINE __attribute__((always_inline)) static inline

/* In front of a loop over numbers that do not overlap: vectors, where a compiler that unrolls a
 * short loop first forgets what `restrict` said. */
#ifdef _OPENMP
#define HPS_VECTORS _Pragma("omp simd")
#else
#define HPS_VECTORS
#endif

#endif
