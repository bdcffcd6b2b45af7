/* topk.c - finds the k-th largest magnitude digit by digit, and packs what is above it. */
#include "comm/topk.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* The bits of a magnitude are ordered as it is: three digits from the upper one to the lower. */
enum { DIGIT = 11, UPPER_DIGIT = 31 - 2 * DIGIT, WORD = 32 };
#define MAGNITUDE 0x7fffffffu

size_t hps_topk_count(size_t n, double share)
{
    double k = ceil((double)n * share);

    return k > (double)n ? n : k < 1 && n > 0 ? 1 : (size_t)k;
}

static uint32_t magnitude(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits & MAGNITUDE;
}

/* ---- the form of a message ---- */

/* Where the parts of a message begin, in words: first are the values. */
struct form {
    int low;                    /* lower bits of an index       */
    size_t upper, lower, end;   /* bitmap, lower bits, all      */
};

static struct form form_of(size_t n, size_t k)
{
    struct form f = { .upper = k };

    while (k > 0 && n / k >> (f.low + 1) > 0)
        f.low++;
    f.lower = f.upper + (k > 0 ? (k + ((n - 1) >> f.low)) / WORD + 1 : 0);
    f.end = f.lower + (k * (size_t)f.low + WORD - 1) / WORD;
    return f;
}

size_t hps_topk_words(size_t n, size_t k)
{
    return form_of(n, k).end;
}

/* The i-th of the k numbers has this index. */
static void put_index(const struct form *f, size_t i, size_t index, uint32_t *message)
{
    size_t one = i + (index >> f->low), at = i * (size_t)f->low;
    uint64_t low = (uint64_t)(index & (((size_t)1 << f->low) - 1)) << at % WORD;
    uint32_t *word = message + f->lower + at / WORD;

    message[f->upper + one / WORD] |= 1u << one % WORD;
    if (f->low == 0) return;
    word[0] |= (uint32_t)low;
    if (low >> WORD) word[1] |= (uint32_t)(low >> WORD);
}

static size_t low_bits(const struct form *f, size_t i, const uint32_t *message)
{
    size_t at = i * (size_t)f->low, shift = at % WORD;
    const uint32_t *word = message + f->lower + at / WORD;

    if (f->low == 0) return 0;
    uint64_t two = word[0] | (shift + (size_t)f->low > WORD ? (uint64_t)word[1] << WORD : 0);
    return (size_t)(two >> shift) & (((size_t)1 << f->low) - 1);
}

/* ---- selection ---- */

/* How many numbers whose bits above a digit are `above` have each value of it. */
static void count_digits(size_t n, const float *x, uint32_t above, int shift, uint32_t *count)
{
    memset(count, 0, sizeof *count << DIGIT);
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = magnitude(x[i]);
        if (bits >> shift >> DIGIT == above) count[bits >> shift & ((1u << DIGIT) - 1)]++;
    }
}

/* The k-th largest magnitude of x (n), by its bits; *nequal: how many of the k have it. */
static uint32_t find_limit(size_t n, const float *x, size_t k, size_t *nequal)
{
    uint32_t count[1 << DIGIT], found = 0;
    size_t left = k;

    for (int shift = 2 * DIGIT; shift >= 0; shift -= DIGIT) {
        uint32_t digit = (1u << (shift == 2 * DIGIT ? UPPER_DIGIT : DIGIT)) - 1;
        count_digits(n, x, found, shift, count);
        for (; count[digit] < left; digit--)
            left -= count[digit];
        found = found << DIGIT | digit;
    }
    *nequal = left;
    return found;
}

void hps_topk_take(size_t n, float *x, size_t k, uint32_t *message)
{
    struct form f = form_of(n, k);
    size_t nequal = 0, taken = 0;

    assert(k <= n && n <= MAGNITUDE);
    memset(message, 0, f.end * sizeof *message);
    if (k == 0) return;
    uint32_t limit = find_limit(n, x, k, &nequal);
    for (size_t i = 0; taken < k; i++) {
        uint32_t bits = magnitude(x[i]);
        if (bits < limit || (bits == limit && nequal == 0)) continue;
        nequal -= bits == limit;
        memcpy(&message[taken], &x[i], sizeof *message);
        put_index(&f, taken++, i, message);
        x[i] = 0;
    }
}

void hps_topk_add(size_t n, size_t k, const uint32_t *message, float *x)
{
    struct form f = form_of(n, k);
    const uint32_t *upper = message + f.upper;
    uint32_t bits = k > 0 ? upper[0] : 0;
    size_t word = 0;

    for (size_t i = 0; i < k; i++, bits &= bits - 1) {
        float value;
        while (bits == 0)
            bits = upper[++word];
        size_t one = word * WORD + (size_t)__builtin_ctz(bits);
        memcpy(&value, &message[i], sizeof value);
        x[((one - i) << f.low) + low_bits(&f, i, message)] += value;
    }
}
