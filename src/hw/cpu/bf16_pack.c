/* bf16_pack.c - packs a matrix of weights for products in bf16: blocks of 32 rows and 64 columns,
 * in which two rows lie side by side, number by number, as the products of a processor read them.
 * oneDNN packs any form, at a fifth of this rate. */
#include <string.h>
#if defined __x86_64__
#include <immintrin.h>
#endif

#include "base/quit.h"
#include "hw/cpu/bf16_impl.h"

#if defined __x86_64__

#define NATIVE __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))

enum { K = 32, N = 64, LANES = 16 };            /* of a block; numbers of a vector of floats */

static inline __mmask16 lanes(size_t at, size_t end)
{
    return at >= end ? 0 : end - at >= LANES ? 0xffff : (__mmask16)((1u << (end - at)) - 1);
}

/* Rows k0 and k0 + 1 of 16 columns, number by number. */
NATIVE static inline __m512i two_rows(const struct hps_bf16_blocks *b, const float *w, size_t k0,
                                      size_t n0)
{
    const __m512i order = _mm512_set_epi16(
        31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5, 20, 4,
        19, 3, 18, 2, 17, 1, 16, 0);
    __mmask16 some = lanes(n0, b->n);
    const float *row = w + k0 * b->n + n0;
    __m512 low = _mm512_maskz_loadu_ps(k0 < b->k ? some : 0, row);
    __m512 high = _mm512_maskz_loadu_ps(k0 + 1 < b->k ? some : 0, row + b->n);

    return _mm512_permutexvar_epi16(order, (__m512i)_mm512_cvtne2ps_pbh(high, low));
}

NATIVE static void pack_block(const struct hps_bf16_blocks *b, const float *w, size_t k0,
                              size_t n0, uint16_t *to)
{
    for (size_t k = 0; k < K; k += 2)
        for (size_t n = 0; n < N; n += LANES)
            _mm512_storeu_si512(to + k * N + 2 * n, two_rows(b, w, k0 + k, n0 + n));
}

/* Columns of 16 rows of pairs: r[i] becomes the i-th pair of each. */
NATIVE static inline void transpose(__m512i *r)
{
    __m512i a[LANES];

    for (int i = 0; i < LANES; i += 2) {
        a[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        a[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
    for (int i = 0; i < LANES; i += 4)
        for (int h = 0; h < 2; h++) {
            r[i + 2 * h] = _mm512_unpacklo_epi64(a[i + h], a[i + 2 + h]);
            r[i + 2 * h + 1] = _mm512_unpackhi_epi64(a[i + h], a[i + 2 + h]);
        }
    for (int j = 0; j < 4; j++) {       /* r[i + j] has columns j, 4 + j, .. of rows i to i + 3 */
        __m512i even[2], odd[2];
        for (int h = 0; h < 2; h++) {
            even[h] = _mm512_shuffle_i32x4(r[8 * h + j], r[8 * h + 4 + j], 0x88);
            odd[h] = _mm512_shuffle_i32x4(r[8 * h + j], r[8 * h + 4 + j], 0xdd);
        }
        a[j] = _mm512_shuffle_i32x4(even[0], even[1], 0x88);
        a[4 + j] = _mm512_shuffle_i32x4(odd[0], odd[1], 0x88);
        a[8 + j] = _mm512_shuffle_i32x4(even[0], even[1], 0xdd);
        a[12 + j] = _mm512_shuffle_i32x4(odd[0], odd[1], 0xdd);
    }
    memcpy(r, a, sizeof a);
}

/* Of w that is stored as (n, k): a column of the block is a row of w, whose pairs lie in order. */
NATIVE static void pack_transposed(const struct hps_bf16_blocks *b, const float *w, size_t k0,
                                   size_t n0, uint16_t *to)
{
    __mmask16 first = lanes(k0, b->k), second = lanes(k0 + LANES, b->k);
    __m512i r[LANES];

    for (size_t n = 0; n < N; n += LANES) {
        for (size_t i = 0; i < LANES; i++) {
            bool in = n0 + n + i < b->n;
            const float *row = w + (n0 + n + i) * b->k + k0;
            r[i] = (__m512i)_mm512_cvtne2ps_pbh(
                _mm512_maskz_loadu_ps(in ? second : 0, row + LANES),
                _mm512_maskz_loadu_ps(in ? first : 0, row));
        }
        transpose(r);
        for (size_t p = 0; p < LANES; p++)
            _mm512_storeu_si512(to + 2 * p * N + 2 * n, r[p]);
    }
}

void hps_bf16_pack_blocks(const struct hps_bf16_blocks *b, bool transposed, const float *w,
                          uint16_t *to)
{
    for (size_t n = 0; n < b->n; n += N)
        for (size_t k = 0; k < b->k; k += K) {
            uint16_t *block = to + n / N * b->n_stride + k / K * b->k_stride;
            if (transposed)
                pack_transposed(b, w, k, n, block);
            else
                pack_block(b, w, k, n, block);
        }
}

#else

void hps_bf16_pack_blocks(const struct hps_bf16_blocks *b, bool transposed, const float *w,
                          uint16_t *to)
{
    (void)b, (void)transposed, (void)w, (void)to;
    HPS_DIE("no bf16 on this processor");
}

#endif
