/* find.c - hash table of the numbers of a step: multiplicative (Fibonacci) hashing, linear probing,
 * entries stamped with the step. Look-ups go in chunks, so that their cache misses overlap. */
#include "base/find.h"

#include <assert.h>
#include <limits.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/say.h"

enum { CHUNK = 64, LEAST_BITS = 10 };

struct entry {
    long long key;
    uint32_t epoch;             /* alive when it is the table's */
    int place;
};

struct hps_find {
    struct entry *entry;        /* (1 << bits), at most half full */
    int bits;
    uint32_t epoch;
    size_t n, cap;
    long long *key;             /* (n) by place */
};

static size_t home(long long key, int bits)
{
    return (size_t)((uint64_t)key * 0x9e3779b97f4a7c15u >> (64 - bits));
}

struct hps_find *hps_find_new(void)
{
    struct hps_find *f = hps_mem_new(1, sizeof *f);

    f->bits = LEAST_BITS;
    f->entry = hps_mem_new((size_t)1 << f->bits, sizeof *f->entry);
    f->epoch = 1;
    return f;
}

void hps_find_free(struct hps_find *f)
{
    if (!f)
        return;
    hps_mem_free(f->entry);
    hps_mem_free(f->key);
    hps_mem_free(f);
}

/* An empty table of 1 << bits entries. */
static void renew(struct hps_find *f, int bits)
{
    hps_mem_free(f->entry);
    f->bits = bits;
    f->entry = hps_mem_new((size_t)1 << bits, sizeof *f->entry);
    f->epoch = 1;
}

void hps_find_begin(struct hps_find *f)
{
    f->n = 0;
    if (f->epoch == UINT32_MAX)
        renew(f, f->bits);      /* or entries of 2^32 steps ago came alive */
    else
        f->epoch++;
}

static int put_one(struct hps_find *f, size_t at, long long key)
{
    size_t mask = ((size_t)1 << f->bits) - 1;
    struct entry *e = &f->entry[at];

    while (e->epoch == f->epoch) {
        if (e->key == key)
            return e->place;
        at = (at + 1) & mask;
        e = &f->entry[at];
    }
    *e = (struct entry){ key, f->epoch, (int)f->n };
    f->key[f->n++] = key;
    return e->place;
}

/* Room for `more` further numbers at a load of one half. */
static void make_room(struct hps_find *f, size_t more)
{
    size_t n = f->n;
    int bits = f->bits;

    if (n + more > INT_MAX)
        HPS_DIE("%zu distinct rows in one step are more than a place can number", n + more);
    hps_mem_grow(&f->key, &f->cap, n + more, sizeof *f->key);
    while ((n + more) * 2 > (size_t)1 << bits)
        bits++;
    if (bits == f->bits)
        return;
    renew(f, bits);
    f->n = 0;
    for (size_t i = 0; i < n; i++)
        put_one(f, home(f->key[i], bits), f->key[i]);
}

void hps_find_put(struct hps_find *f, size_t n, const long long *key, int *place)
{
    size_t at[CHUNK];

    for (size_t done = 0; done < n; done += CHUNK) {
        size_t now = n - done < CHUNK ? n - done : CHUNK;
        make_room(f, now);
        for (size_t i = 0; i < now; i++) {
            assert(key[done + i] >= 0);
            at[i] = home(key[done + i], f->bits);
            __builtin_prefetch(&f->entry[at[i]], 1);
        }
        for (size_t i = 0; i < now; i++)
            place[done + i] = put_one(f, at[i], key[done + i]);
    }
}

int hps_find_count(const struct hps_find *f)
{
    return (int)f->n;
}

const long long *hps_find_keys(const struct hps_find *f)
{
    return f->key;
}
