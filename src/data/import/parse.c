/* parse.c - numbers and categories out of text. */
#include "data/parse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 18 };           /* that many always fit into 64 bits */

static const double power[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

static bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* What the fast way leaves: many digits, exponents. The form is checked here, since strtod takes
 * more than decimal numbers. */
static bool parse_slowly(const char *s, size_t n, double *x)
{
    char copy[512], *end;

    if (n == 0 || n >= sizeof copy) return false;
    for (size_t i = 0; i < n; i++)
        if (!is_digit(s[i]) && !strchr("+-.eE", s[i])) return false;
    memcpy(copy, s, n);
    copy[n] = 0;
    *x = strtod(copy, &end);
    return end == copy + n && isfinite(*x);
}

bool hps_parse_real(const char *s, size_t n, double *x)
{
    bool minus = n > 0 && s[0] == '-';
    size_t i = minus, after = 0, digits;
    uint64_t value = 0;

    for (; i < n && is_digit(s[i]); i++)
        value = value * 10 + (uint64_t)(s[i] - '0');
    digits = i - minus;
    if (i < n && s[i] == '.') {
        size_t point = ++i;
        for (; i < n && is_digit(s[i]); i++)
            value = value * 10 + (uint64_t)(s[i] - '0');
        after = i - point;
        digits += after;
    }
    if (i < n || digits == 0 || digits > DIGITS) return parse_slowly(s, n, x);
    *x = (double)value;
    if (after) *x /= power[after];
    if (minus) *x = -*x;
    return true;
}

uint64_t hps_parse_hash(const char *s, size_t n, uint64_t seed)
{
    uint64_t h = seed + n * 0x9e3779b97f4a7c15u, word;

    for (; n > 8; s += 8, n -= 8) {
        memcpy(&word, s, 8);
        h = hps_rng_mix(h ^ word);
    }
    word = 0;
    for (size_t i = 0; i < n; i++)
        word |= (uint64_t)(unsigned char)s[i] << 8 * i;
    return hps_rng_mix(h ^ word);
}

void hps_parse_trim(const char **s, size_t *n)
{
    while (*n > 0 && hps_parse_blank(**s)) {
        (*s)++;
        (*n)--;
    }
    while (*n > 0 && hps_parse_blank((*s)[*n - 1]))
        (*n)--;
}
