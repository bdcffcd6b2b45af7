/* rng.c - random numbers addressed by (seed, stream, index). */
#include "base/rng.h"

#include <math.h>

#include "base/multiversion.h"

uint64_t hps_rng_key(uint64_t seed, const char *stream)
{
    uint64_t key = hps_rng_bits(seed, 0);

    for (; *stream; stream++)
        key = hps_rng_bits(key, (unsigned char)*stream);
    return hps_rng_mix(key ^ 0xd6e8feb86659fd93u);      /* so "ab" is no number of stream "a" */
}

double hps_rng_normal(uint64_t key, uint64_t index)
{
    const double turn = 6.283185307179586476925;
    uint64_t bits = hps_rng_bits(key, index);
    double radius = ((double)(bits >> 32) + 0.5) * 0x1p-32;     /* never 0: the log is finite */
    double angle = (double)(bits & 0xffffffffu) * 0x1p-32;

    return sqrt(-2.0 * log(radius)) * cos(turn * angle);
}

enum { LANES = 128 };

/* hps_rng_feistel of many, round by round. */
HPS_MULTIVERSION static void feistel_lanes(uint64_t key, size_t n, int half, uint64_t *x)
{
    const uint64_t mask = ((uint64_t)1 << half) - 1;
    uint64_t left[LANES], right[LANES];

    for (size_t c = 0; c < n; c++) {
        left[c] = x[c] >> half;
        right[c] = x[c] & mask;
    }
    for (uint64_t round = 0; round < HPS_RNG_ROUNDS; round++)
        for (size_t c = 0; c < n; c++) {
            uint64_t next = left[c] ^ (hps_rng_bits(key, round << 32 | right[c]) & mask);
            left[c] = right[c];
            right[c] = next;
        }
    for (size_t c = 0; c < n; c++)
        x[c] = left[c] << half | right[c];
}

void hps_rng_permute_span(uint64_t key, uint64_t first, size_t count, uint64_t n, uint64_t *image)
{
    const int half = hps_rng_half(n);
    uint64_t x[LANES];
    size_t to[LANES], next = 0, live = 0;       /* those that walk, and whose images they will be */

    assert(first + count <= n && n < (uint64_t)1 << 62);
    while (next < count || live > 0) {
        for (; live < LANES && next < count; live++, next++) {
            to[live] = next;
            x[live] = first + next;
        }
        feistel_lanes(key, live, half, x);
        size_t walking = 0;
        for (size_t c = 0; c < live; c++) {
            image[to[c]] = x[c];                /* one that is out of range is written again */
            to[walking] = to[c];
            x[walking] = x[c];
            walking += x[c] >= n;
        }
        live = walking;
    }
}
