/* rng.h - random numbers addressed by (seed, stream, index): no state, the same in any split.
 * The mixer is SplitMix64's finaliser (Steele, Lea, Flood 2014) over key + index * golden ratio. */
#ifndef HPS_BASE_RNG_H
#define HPS_BASE_RNG_H

#include <stdint.h>

/* A key for a stream: streams of one seed are independent. Streams have names ("layer h1",
 * "shuffle"), so that a new layer changes no other layer's numbers. Pure. */
uint64_t hps_rng_key(uint64_t seed, const char *stream);
uint64_t hps_rng_sub(uint64_t key, uint64_t index);   /* a stream of streams: per step, per row */

static inline uint64_t hps_rng_mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* 64 random bits at `index` of the stream. Pure. */
static inline uint64_t hps_rng_bits(uint64_t key, uint64_t index)
{
    return hps_rng_mix(key + (index + 1) * 0x9e3779b97f4a7c15u);
}

/* Uniform in [0, 1), 24 bits (float) and 53 bits (double). Pure. */
static inline float hps_rng_unit(uint64_t key, uint64_t index)
{
    return (float)(hps_rng_bits(key, index) >> 40) * 0x1p-24f;
}
static inline double hps_rng_real(uint64_t key, uint64_t index)
{
    return (double)(hps_rng_bits(key, index) >> 11) * 0x1p-53;
}

/* Standard normal (Box-Muller over the two halves of one index). Pure. */
double hps_rng_normal(uint64_t key, uint64_t index);

/* The image of `index` under a random permutation of 0..n-1 (balanced Feistel network with cycle
 * walking: no memory, any n < 2^62). 0 <= index < n. Pure. */
uint64_t hps_rng_permute(uint64_t key, uint64_t index, uint64_t n);

#endif
