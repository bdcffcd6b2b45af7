/* radix.h - many keys, each with a tail, sorted by several threads: a stable radix sort. The
 * highest bits scatter the keys to buckets that fit a cache, then each bucket is sorted by itself.
 *
 * The caller passes over its keys twice, task by task in the same order: hps_radix_count of all
 * tasks, hps_radix_deal, hps_radix_put of all tasks; then buckets are sorted, in any order. The
 * result does not depend on the number of tasks. Different tasks and different buckets may be
 * worked on at once. */
#ifndef HPS_BASE_RADIX_H
#define HPS_BASE_RADIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/multiversion.h"

/* Each word has the key's lower bits, then the tail; in 32 bits where they fit, else in 64. */
struct hps_bucket {
    size_t n;
    uint64_t key;               /* the higher bits, which all its keys share, in place */
    bool wide;
    const void *word;           /* (n) uint32_t, or wide: uint64_t */
};
/* Word i of those at `word`. Pure. */
HPS_INLINE uint64_t hps_bucket_word(const void *word, bool wide, size_t i)
{
    return wide ? ((const uint64_t *)word)[i] : ((const uint32_t *)word)[i];
}

/* Where runs begin among the words k0 .. k1-1 of a bucket, without branches: words that differ from
 * the one before by more than `same`, bits that words of a run may differ in. Returns how many;
 * begin[that many] is k1. Pure. */
HPS_INLINE size_t hps_bucket_begins(const void *word, bool wide, size_t k0, size_t k1,
                                    uint64_t same, uint32_t *begin)
{
    size_t n = k0 == 0;

    begin[0] = 0;
    for (size_t k = k0 + n; k < k1; k++) {
        begin[n] = (uint32_t)k;
        n += (hps_bucket_word(word, wide, k) ^ hps_bucket_word(word, wide, k - 1)) > same;
    }
    begin[n] = (uint32_t)k1;
    return n;
}

/* Bits of the numbers below n. Pure. */
int hps_radix_bits(uint64_t n);

struct hps_radix;
struct hps_radix *hps_radix_new(void);
void hps_radix_free(struct hps_radix *radix);

/* Begin a sort of at most n keys below 2^key_bits with tails below 2^tail_bits, in `tasks` tasks.
 * Keys and tails that do not fit a word together end the run. */
void hps_radix_begin(struct hps_radix *radix, size_t n, int key_bits, int tail_bits, int tasks);
/* First pass: count the n keys of task t. hps_radix_deal, when all are counted: where each bucket
 * begins. Second pass: put the same keys with their tails. */
void hps_radix_count(struct hps_radix *radix, int t, size_t n, const uint64_t *key);
void hps_radix_deal(struct hps_radix *radix);
void hps_radix_put(struct hps_radix *radix, int t, size_t n, const uint64_t *key,
                   const uint64_t *tail);
/* The first bucket of share t of n shares of about equal size; after deal. Pure. */
int hps_radix_cut(const struct hps_radix *radix, int t, int n);
/* After the second pass: sort a bucket, in the workspace of task `task`. The bucket is valid until
 * the next begin. */
void hps_radix_sort(struct hps_radix *radix, int task, int bucket);
struct hps_bucket hps_radix_bucket(const struct hps_radix *radix, int bucket);

#endif
