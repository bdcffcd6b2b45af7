/* runs.c - neighbours are merged two by two, as often as it takes. */
#include "base/runs.h"

#include <string.h>

/* Which one is less nobody can foretell, so there is no branch on it. */
static void merge_two(const uint64_t *a, const uint64_t *b, const uint64_t *end, int shift,
                      uint64_t *to)
{
    const uint64_t *a_end = b;

    while (a < a_end && b < end) {
        uint64_t x = *a, y = *b, right = y >> shift < x >> shift;
        *to++ = x ^ ((x ^ y) & (0 - right));
        a += 1 - right;
        b += right;
    }
    memcpy(to, a, (size_t)(a_end - a) * sizeof *to);
    memcpy(to + (a_end - a), b, (size_t)(end - b) * sizeof *to);
}

const uint64_t *hps_runs_merge(uint64_t *word, uint64_t *spare, int nrun, size_t *at, int shift)
{
    while (nrun > 1 && at[nrun] > 0) {
        int n = 0;
        for (int i = 0; i < nrun; i += 2, n++) {
            size_t first = at[i], middle = at[i + 1], last = at[i + 2 < nrun ? i + 2 : nrun];
            merge_two(word + first, word + middle, word + last, shift, spare + first);
            at[n] = first;
        }
        at[n] = at[nrun];
        nrun = n;
        uint64_t *other = word;
        word = spare;
        spare = other;
    }
    return word;
}
