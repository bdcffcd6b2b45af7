/* parse.h - fast parsing of numbers and hashing of text, without locale, copies or a terminating
 * zero. */
#ifndef HPS_DATA_PARSE_H
#define HPS_DATA_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"

/* Parse all of s[0..n) as a decimal number: "12", "-0.5", "1e-3". False for anything else, for
 * "nan", "inf" and overflow. Within 1 ulp; exact up to 15 digits. Pure. */
bool hps_parse_real(const char *s, size_t n, double *x);

/* A hash of s[0..n); each `seed` gives another hash function. Pure. */
uint64_t hps_parse_hash(const char *s, size_t n, uint64_t seed);

/* The same for 8 characters in a word, the first one in the lowest byte. Pure. */
static inline uint64_t hps_parse_hash8(uint64_t word, uint64_t seed)
{
    return hps_rng_mix((seed + 8 * 0x9e3779b97f4a7c15u) ^ word);
}

/* Map a hash uniformly to a bucket 0..buckets-1. Pure. */
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
