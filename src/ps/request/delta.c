/* delta.c - a number becomes a word, small if it is near the one before; a word becomes bytes. */
#include "ps/delta.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/multiversion.h"

/* The row of a number, which may be marked. */
static int64_t row_of(int x)
{
    return x < 0 ? ~(int64_t)x : x;
}

/* Differences of any numbers: 0, -1, 1, -2, 2 .. are the words 0, 1, 2, 3, 4 .. */
HPS_INLINE uint64_t word_of(enum hps_delta list, int64_t before, int x)
{
    if (list == HPS_DELTA_ANY) {
        int64_t d = x - before;
        return d < 0 ? ((uint64_t)~d << 1) + 1 : (uint64_t)d << 1;
    }
    uint64_t gap = (uint64_t)(row_of(x) - before - 1);
    return list == HPS_DELTA_ROWS ? gap : gap << 1 | (x < 0);
}

HPS_INLINE int64_t number_of(enum hps_delta list, int64_t before, uint64_t word)
{
    if (list == HPS_DELTA_ANY)
        return before + (word & 1 ? ~(int64_t)(word >> 1) : (int64_t)(word >> 1));
    return before + 1 + (int64_t)(list == HPS_DELTA_ROWS ? word : word >> 1);
}

/* What differences begin from. */
static int64_t begin_of(enum hps_delta list)
{
    return list == HPS_DELTA_ANY ? 0 : -1;
}

HPS_INLINE size_t encode(enum hps_delta list, size_t n, const int *x, unsigned char *to)
{
    int64_t before = begin_of(list);
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t word = word_of(list, before, x[i]);
        assert(word >> (7 * HPS_DELTA_MAX) == 0);       /* else rows do not ascend */
        before = list == HPS_DELTA_ANY ? x[i] : row_of(x[i]);
        for (; word > 0x7f; word >>= 7)
            to[at++] = (unsigned char)(word | 0x80);
        to[at++] = (unsigned char)word;
    }
    return at;
}

HPS_INLINE size_t decode(enum hps_delta list, size_t n, const unsigned char *from, int *x)
{
    int64_t before = begin_of(list);
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t word = from[at] & 0x7f;
        for (int shift = 7; from[at++] & 0x80; shift += 7)
            word |= (uint64_t)(from[at] & 0x7f) << shift;
        before = number_of(list, before, word);
        bool marked = list == HPS_DELTA_MARKED && (word & 1);
        x[i] = (int)(marked ? ~before : before);
    }
    return at;
}

size_t hps_delta_encode(enum hps_delta list, size_t n, const int *x, unsigned char *to)
{
    if (list == HPS_DELTA_ROWS) return encode(HPS_DELTA_ROWS, n, x, to);
    if (list == HPS_DELTA_MARKED) return encode(HPS_DELTA_MARKED, n, x, to);
    return encode(HPS_DELTA_ANY, n, x, to);
}

size_t hps_delta_decode(enum hps_delta list, size_t n, const unsigned char *from, int *x)
{
    if (list == HPS_DELTA_ROWS) return decode(HPS_DELTA_ROWS, n, from, x);
    if (list == HPS_DELTA_MARKED) return decode(HPS_DELTA_MARKED, n, from, x);
    return decode(HPS_DELTA_ANY, n, from, x);
}
