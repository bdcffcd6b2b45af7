/* finite.c - looked for by their bits: an exponent of ones has no other meaning. */
#include "base/finite.h"

#include <stdint.h>
#include <string.h>

size_t hps_first_not_finite(const float *x, size_t n)
{
    uint32_t worst = 0, bits;

    for (size_t i = 0; i < n; i++) {
        memcpy(&bits, x + i, sizeof bits);
        bits &= 0x7fffffffu;
        worst = bits > worst ? bits : worst;
    }
    for (size_t i = 0; worst >= 0x7f800000u && i < n; i++) {
        memcpy(&bits, x + i, sizeof bits);
        if ((bits & 0x7f800000u) == 0x7f800000u) return i;
    }
    return n;
}
