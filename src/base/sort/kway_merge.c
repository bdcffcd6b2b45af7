/* kway_merge.c - neighbours are merged two by two, as often as it takes. */
#include "base/kway_merge.h"

#include <stdbool.h>
#include <string.h>

/* Two lists under way, and where they go. */
struct pair {
    const uint64_t *a, *a_end, *b, *b_end;
    uint64_t *to;
};

/* The lesser one goes; of equal ones a's. Which it is nobody can foretell: there is no branch on
 * it. */
static inline void take_one(struct pair *p, int shift)
{
    uint64_t x = *p->a, y = *p->b, right = y >> shift < x >> shift;

    *p->to++ = x ^ ((x ^ y) & (0 - right));
    p->a += 1 - right;
    p->b += right;
}

static inline bool both_left(const struct pair *p)
{
    return p->a < p->a_end && p->b < p->b_end;
}

static void finish(struct pair p, int shift)
{
    while (both_left(&p))
        take_one(&p, shift);
    memcpy(p.to, p.a, (size_t)(p.a_end - p.a) * sizeof *p.to);
    memcpy(p.to + (p.a_end - p.a), p.b, (size_t)(p.b_end - p.b) * sizeof *p.to);
}

/* How many of the first `n` of the two are a's (na of them, nb of b's): the least i so that a[i]
 * comes behind b[n - i - 1] (the merge path: Odeh, Green, Mwassi, Shmueli, Birk 2012). */
static size_t split(const uint64_t *a, size_t na, const uint64_t *b, size_t nb, size_t n, int shift)
{
    size_t low = n > nb ? n - nb : 0, high = n < na ? n : na;

    while (low < high) {
        size_t i = (low + high) / 2;
        if (b[n - i - 1] >> shift < a[i] >> shift)
            high = i;
        else
            low = i + 1;
    }
    return low;
}

/* The lower and the upper half of the result at once: each waits for its own last comparison. */
static void merge_two(const uint64_t *a, const uint64_t *b, const uint64_t *end, int shift,
                      uint64_t *to)
{
    size_t na = (size_t)(b - a), nb = (size_t)(end - b), n = (na + nb) / 2;
    size_t i = split(a, na, b, nb, n, shift);
    struct pair low = { a, a + i, b, b + (n - i), to };
    struct pair high = { a + i, b, b + (n - i), end, to + n };

    while (both_left(&low) && both_left(&high)) {
        take_one(&low, shift);
        take_one(&high, shift);
    }
    finish(low, shift);
    finish(high, shift);
}

const uint64_t *hps_kway_merge(uint64_t *word, uint64_t *spare, int nrun, size_t *at, int shift)
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
