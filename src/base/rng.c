/* rng.c - random numbers addressed by (seed, stream, index). */
#include "base/rng.h"

#include <assert.h>
#include <math.h>

uint64_t hps_rng_key(uint64_t seed, const char *stream)
{
    uint64_t key = hps_rng_bits(seed, 0);

    for (; *stream; stream++)
        key = hps_rng_bits(key, (unsigned char)*stream);
    return hps_rng_mix(key ^ 0xd6e8feb86659fd93u);      /* so "ab" is no number of stream "a" */
}

uint64_t hps_rng_sub(uint64_t key, uint64_t index)
{
    return hps_rng_mix(hps_rng_bits(key, index) ^ 0xa0761d6478bd642fu);
}

double hps_rng_normal(uint64_t key, uint64_t index)
{
    const double turn = 6.283185307179586476925;
    uint64_t bits = hps_rng_bits(key, index);
    double radius = ((double)(bits >> 32) + 0.5) * 0x1p-32;     /* never 0: the log is finite */
    double angle = (double)(bits & 0xffffffffu) * 0x1p-32;

    return sqrt(-2.0 * log(radius)) * cos(turn * angle);
}

/* Ten rounds: with fewer, pairs of neighbours are not equally likely in ranges of a few bits. */
static uint64_t feistel(uint64_t key, uint64_t x, int half)
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

uint64_t hps_rng_permute(uint64_t key, uint64_t index, uint64_t n)
{
    int half = 1;

    assert(index < n && n < (uint64_t)1 << 62);
    while ((uint64_t)1 << 2 * half < n)
        half++;
    do {
        index = feistel(key, index, half);              /* out of range: walk on along the cycle */
    } while (index >= n);
    return index;
}
