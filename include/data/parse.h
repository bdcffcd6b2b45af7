/* parse.h - numbers and categories out of text, fast: no locale, no copies, no terminating zero. */
#ifndef HPS_DATA_PARSE_H
#define HPS_DATA_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"

/* A decimal number, the whole of s[0..n): "12", "-0.5", "1e-3". False for anything else, for "nan"
 * and "inf" and for what is larger than a double. Within 1 ulp; exact up to 15 digits. Pure. */
bool hps_parse_real(const char *s, size_t n, double *x);

/* A hash of s[0..n) that looks random; `seed` makes families. Pure. */
uint64_t hps_parse_hash(const char *s, size_t n, uint64_t seed);

/* The same for 8 signs that lie in a word, first sign in the lowest byte. Pure. */
static inline uint64_t hps_parse_hash8(uint64_t word, uint64_t seed)
{
    return hps_rng_mix((seed + 8 * 0x9e3779b97f4a7c15u) ^ word);
}

/* A hash as a bucket 0..buckets-1, evenly. Pure. */
static inline long long hps_parse_bucket(uint64_t hash, long long buckets)
{
    __extension__ typedef unsigned __int128 wide;

    return (long long)((wide)hash * (wide)buckets >> 64);
}

/* A space, a tab or a carriage return. Pure. */
static inline bool hps_parse_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* s[0..n) without blanks at its ends. Pure. */
void hps_parse_trim(const char **s, size_t *n);

#endif
