/* rng.c - random numbers addressed by (seed, stream, index). */
#include "base/rng.h"

#include <math.h>

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
