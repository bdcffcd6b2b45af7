/* partition.c - numbers of three among the numbers of many, without branches. */
#include "base/partition.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

void hps_partition_scalar(size_t n, const uint64_t *key, uint64_t q, int bits,
                          int *const to[HPS_PARTITION_WAYS], size_t at[HPS_PARTITION_WAYS])
{
    const uint64_t low = ((uint64_t)1 << bits) - 1;
    int *restrict to0 = to[0], *restrict to1 = to[1], *restrict to2 = to[2];
    size_t at0 = at[0], at1 = at[1], at2 = at[2];

    for (size_t i = 0; i < n; i++) {
        int number = (int)(key[i] & low);
        uint64_t whose = (key[i] >> bits) - q;
        to0[at0] = to1[at1] = to2[at2] = number;
        at0 += whose == 0;
        at1 += whose == 1;
        at2 += whose == 2;
    }
    at[0] = at0;
    at[1] = at1;
    at[2] = at2;
}

#ifdef __x86_64__
enum { LANES = 8 };

_Static_assert((int)HPS_PARTITION_SPARE >= (int)LANES, "a vector is written whole");

/* Those of `numbers` that are meant, to `to`; returns how many. Compilers do not make a compression
 * of such a loop. It is made in a register: to memory it is slow on some machines (AMD's Zen 4). */
__attribute__((target("avx512f,avx512vl,popcnt"), always_inline))
static inline size_t keep(__mmask8 meant, __m256i numbers, int *to)
{
    _mm256_storeu_si256((__m256i *)(void *)to, _mm256_maskz_compress_epi32(meant, numbers));
    return (size_t)__builtin_popcount(meant);
}

/* clang-format off */
__attribute__((target("avx512f,avx512vl,popcnt")))
static void partition_wide(size_t n, const uint64_t *key, uint64_t q, int bits,
                           int *const to[HPS_PARTITION_WAYS], size_t at[HPS_PARTITION_WAYS])
/* clang-format on */
{
    const __m512i is0 = _mm512_set1_epi64((long long)q), is1 = _mm512_set1_epi64((long long)q + 1);
    const __m512i is2 = _mm512_set1_epi64((long long)q + 2);
    const __m512i low = _mm512_set1_epi64((1LL << bits) - 1);
    const __m128i shift = _mm_cvtsi32_si128(bits);
    size_t at0 = at[0], at1 = at[1], at2 = at[2];

    for (size_t i = 0; i < n; i += LANES) {
        __mmask8 there = (__mmask8)(n - i < LANES ? (1u << (n - i)) - 1 : 0xff);
        __m512i keys = _mm512_maskz_loadu_epi64(there, key + i);
        __m512i whose = _mm512_srl_epi64(keys, shift);
        __m256i number = _mm512_cvtepi64_epi32(_mm512_and_si512(keys, low));
        at0 += keep(_mm512_mask_cmpeq_epi64_mask(there, whose, is0), number, to[0] + at0);
        at1 += keep(_mm512_mask_cmpeq_epi64_mask(there, whose, is1), number, to[1] + at1);
        at2 += keep(_mm512_mask_cmpeq_epi64_mask(there, whose, is2), number, to[2] + at2);
    }
    at[0] = at0;
    at[1] = at1;
    at[2] = at2;
}

#endif

void hps_partition(size_t n, const uint64_t *key, uint64_t q, int bits,
                   int *const to[HPS_PARTITION_WAYS], size_t at[HPS_PARTITION_WAYS])
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512vl")) {
        partition_wide(n, key, q, bits, to, at);
        return;
    }
#endif
    hps_partition_scalar(n, key, q, bits, to, at);
}
