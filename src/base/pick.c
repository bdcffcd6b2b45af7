/* pick.c - numbers of two among the numbers of many, without branches. */
#include "base/pick.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

void hps_pick_two_plainly(size_t n, const uint64_t *key, uint64_t q, int bits, int *restrict to_q,
                          int *restrict to_r, size_t *nq, size_t *nr)
{
    const uint64_t low = ((uint64_t)1 << bits) - 1;
    size_t at_q = *nq, at_r = *nr;

    for (size_t i = 0; i < n; i++) {
        int number = (int)(key[i] & low);
        uint64_t whose = key[i] >> bits;
        to_q[at_q] = to_r[at_r] = number;
        at_q += whose == q;
        at_r += whose == q + 1;
    }
    *nq = at_q;
    *nr = at_r;
}

#ifdef __x86_64__
enum { LANES = 8 };

_Static_assert((int)HPS_PICK_SPARE >= (int)LANES, "a vector is written whole");

/* Compilers do not make a compression of such a loop. It is made in a register: to memory it is
 * slow on some machines (AMD's Zen 4). */
__attribute__((target("avx512f,avx512vl,popcnt")))
static void pick_wide(size_t n, const uint64_t *key, uint64_t q, int bits, int *to_q, int *to_r,
                      size_t *nq, size_t *nr)
{
    const __m512i is_q = _mm512_set1_epi64((long long)q);
    const __m512i is_r = _mm512_set1_epi64((long long)q + 1);
    const __m512i low = _mm512_set1_epi64((1LL << bits) - 1);
    const __m128i shift = _mm_cvtsi32_si128(bits);
    size_t at_q = *nq, at_r = *nr;

    for (size_t i = 0; i < n; i += LANES) {
        __mmask8 there = (__mmask8)(n - i < LANES ? (1u << (n - i)) - 1 : 0xff);
        __m512i keys = _mm512_maskz_loadu_epi64(there, key + i);
        __m512i whose = _mm512_srl_epi64(keys, shift);
        __m256i number = _mm512_cvtepi64_epi32(_mm512_and_si512(keys, low));
        __mmask8 of_q = _mm512_mask_cmpeq_epi64_mask(there, whose, is_q);
        __mmask8 of_r = _mm512_mask_cmpeq_epi64_mask(there, whose, is_r);
        _mm256_storeu_si256((__m256i *)(void *)(to_q + at_q),
                            _mm256_maskz_compress_epi32(of_q, number));
        _mm256_storeu_si256((__m256i *)(void *)(to_r + at_r),
                            _mm256_maskz_compress_epi32(of_r, number));
        at_q += (size_t)__builtin_popcount(of_q);
        at_r += (size_t)__builtin_popcount(of_r);
    }
    *nq = at_q;
    *nr = at_r;
}

#endif

void hps_pick_two(size_t n, const uint64_t *key, uint64_t q, int bits, int *to_q, int *to_r,
                  size_t *nq, size_t *nr)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512vl")) {
        pick_wide(n, key, q, bits, to_q, to_r, nq, nr);
        return;
    }
#endif
    hps_pick_two_plainly(n, key, q, bits, to_q, to_r, nq, nr);
}
