/* rng.h - random numbers addressed by (seed, stream, index): no state, the same in any split.
 * The mixer is SplitMix64's finaliser (Steele, Lea, Flood 2014) over key + index * golden ratio. */
#ifndef HPS_BASE_RNG_H
#define HPS_BASE_RNG_H

#include <assert.h>
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

/* Standard normal (Box-Muller over the two halves of one index). Pure. */
double hps_rng_normal(uint64_t key, uint64_t index);

/* Ten rounds: with fewer, pairs of neighbours are not equally likely in ranges of a few bits. */
static inline HPS_BOTH uint64_t hps_rng_feistel(uint64_t key, uint64_t x, int half)
{
    uint64_t mask = ((uint64_t)1 << half) - 1;
    uint64_t left = x >> half, right = x & mask;

    for (uint64_t round = 0; round < 10; round++) {
        uint64_t next = left ^ (hps_rng_bits(key, round << 32 | right) & mask);
        left = right;
        right = next;
    }
    return left << half | right;
}

/* The image of `index` under a random permutation of 0..n-1 (balanced Feistel network with cycle
 * walking: no memory, any n < 2^62). 0 <= index < n. Pure. */
static inline HPS_BOTH uint64_t hps_rng_permute(uint64_t key, uint64_t index, uint64_t n)
{
    int half = 1;

    assert(index < n && n < (uint64_t)1 << 62);
    while ((uint64_t)1 << 2 * half < n)
        half++;
    do {
        index = hps_rng_feistel(key, index, half);      /* out of range: walk on along the cycle */
    } while (index >= n);
    return index;
}

#endif
