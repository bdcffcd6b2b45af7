/* key_sort.h - items in the order of an unsigned key: a stable radix sort by one thread. */
#ifndef HPS_BASE_KEY_SORT_H
#define HPS_BASE_KEY_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/multiversion.h"

enum { HPS_KEY_SORT_BITS = 11, HPS_KEY_SORT_DIGITS = 1 << HPS_KEY_SORT_BITS };

/* The key that an item begins with: uint32_t, or wide: uint64_t. Pure. */
HPS_INLINE uint64_t hps_key_sort_key(const char *item, bool wide)
{
    uint64_t key;
    uint32_t narrow;

    if (wide) {
        memcpy(&key, item, sizeof key);
        return key;
    }
    memcpy(&narrow, item, sizeof narrow);
    return narrow;
}

/* Sort n items of `size` bytes, which begin with their key; `spare` has room for as many. Returns
 * the sorted items: they are in `items` or in `spare`. The leading digits that are 0 in all keys
 * cost nothing. Pure; `size` and `wide` are constants of the caller. */
HPS_INLINE void *hps_key_sort(void *items, void *spare, size_t n, size_t size, bool wide)
{
    char *from = items, *to = spare;
    uint64_t all = 0;

    for (size_t i = 0; i < n; i++)
        all |= hps_key_sort_key(from + i * size, wide);
    for (int shift = 0; shift < 64 && all >> shift; shift += HPS_KEY_SORT_BITS) {
        size_t begin[HPS_KEY_SORT_DIGITS] = { 0 }, sum = 0;
        for (size_t i = 0; i < n; i++)
            begin[hps_key_sort_key(from + i * size, wide) >> shift & (HPS_KEY_SORT_DIGITS - 1)]++;
        for (int d = 0; d < HPS_KEY_SORT_DIGITS; d++) {
            size_t count = begin[d];
            begin[d] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++) {
            uint64_t key = hps_key_sort_key(from + i * size, wide);
            memcpy(to + begin[key >> shift & (HPS_KEY_SORT_DIGITS - 1)]++ * size, from + i * size,
                   size);
        }
        char *sorted = to;
        to = from;
        from = sorted;
    }
    return from;
}

#endif
