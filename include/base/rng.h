/* rng.h - random numbers addressed by (seed, stream, index): no state, the same in any split.
 * The mixer is SplitMix64's finaliser (Steele, Lea, Flood 2014) over key + index * golden ratio. */
#ifndef HPS_BASE_RNG_H
#define HPS_BASE_RNG_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/both.h"

/* A key for a stream: streams of one seed are independent. Streams have names ("layer h1",
 * "shuffle"), so that a new layer changes no other layer's numbers. Pure. */
uint64_t hps_rng_key(uint64_t seed, const char *stream);

static inline HPS_BOTH uint64_t hps_rng_mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* A mixer of 32 bits, fast in vectors: lowbias32 of Wellons ("Prospecting for hash functions",
 * 2018). The macro mixes a variable in place, which may be a vector. */
#define HPS_RNG_MIX32(x)                                                                           \
    ((x) ^= (x) >> 16, (x) *= 0x7feb352du, (x) ^= (x) >> 15, (x) *= 0x846ca68bu, (x) ^= (x) >> 16)
static inline HPS_BOTH uint32_t hps_rng_mix32(uint32_t x)
{
    HPS_RNG_MIX32(x);
    return x;
}

/* 64 random bits at `index` of the stream. Pure. */
static inline HPS_BOTH uint64_t hps_rng_bits(uint64_t key, uint64_t index)
{
    return hps_rng_mix(key + (index + 1) * 0x9e3779b97f4a7c15u);
}

/* A stream of streams: per step, per row. Pure. */
static inline HPS_BOTH uint64_t hps_rng_sub(uint64_t key, uint64_t index)
{
    return hps_rng_mix(hps_rng_bits(key, index) ^ 0xa0761d6478bd642fu);
}

/* Uniform in [0, 1), 24 bits (float) and 53 bits (double). Pure. */
static inline HPS_BOTH float hps_rng_unit(uint64_t key, uint64_t index)
{
    return (float)(hps_rng_bits(key, index) >> 40) * 0x1p-24f;
}
static inline HPS_BOTH double hps_rng_real(uint64_t key, uint64_t index)
{
    return (double)(hps_rng_bits(key, index) >> 11) * 0x1p-53;
}
/* A whole number in 0..n-1. */
static inline HPS_BOTH uint64_t hps_rng_below(uint64_t key, uint64_t index, uint64_t n)
{
    return (uint64_t)(hps_rng_real(key, index) * (double)n);
}

/* Standard normal (Box-Muller over the two halves of one index). Pure. */
double hps_rng_normal(uint64_t key, uint64_t index);

/* With fewer rounds pairs of neighbours are not equally likely in ranges of a few bits. */
#define HPS_RNG_ROUNDS 10

static inline HPS_BOTH uint64_t hps_rng_feistel(uint64_t key, uint64_t x, int half)
{
    uint64_t mask = ((uint64_t)1 << half) - 1;
    uint64_t left = x >> half, right = x & mask;

    for (uint64_t round = 0; round < HPS_RNG_ROUNDS; round++) {
        uint64_t next = left ^ (hps_rng_bits(key, round << 32 | right) & mask);
        left = right;
        right = next;
    }
    return left << half | right;
}

/* Bits of one half of the numbers below n, at least one. Pure. */
static inline HPS_BOTH int hps_rng_half(uint64_t n)
{
    int half = 1;

    while ((uint64_t)1 << 2 * half < n)
        half++;
    return half;
}

/* The image of `index` under a random permutation of 0..n-1 (balanced Feistel network with cycle
 * walking: no memory, any n < 2^62). 0 <= index < n. Pure. */
static inline HPS_BOTH uint64_t hps_rng_permute(uint64_t key, uint64_t index, uint64_t n)
{
    const int half = hps_rng_half(n);

    assert(index < n && n < (uint64_t)1 << 62);
    do {
        index = hps_rng_feistel(key, index, half);      /* out of range: walk on along the cycle */
    } while (index >= n);
    return index;
}
/* The images of first .. first + count - 1, the same, several at once. Pure. */
void hps_rng_permute_span(uint64_t key, uint64_t first, size_t count, uint64_t n, uint64_t *image);

#endif
