/* dict.c - categories to ids in the order in which they are first seen. */
#include "data/dict.h"

#include <string.h>

#include "base/mem.h"
#include "data/parse.h"

enum { PLACES = 64 };

void hps_dict_init(struct hps_dict *d, long long max, size_t bytes_max)
{
    *d = (struct hps_dict){ .max = max, .bytes_max = bytes_max, .mask = PLACES - 1 };
    d->table = hps_mem_new(PLACES, sizeof *d->table);
}

void hps_dict_done(struct hps_dict *d)
{
    hps_mem_free(d->table);
    hps_mem_free(d->start);
    hps_mem_free(d->text);
}

static bool is_text(const struct hps_dict *d, int id, const char *s, size_t n)
{
    size_t at = d->start[id - 1], end = id < d->n ? d->start[id] : d->bytes;

    return end - at == n + 1 && memcmp(d->text + at, s, n) == 0;
}

/* The entry of a text in the hash table, or the free entry for it. */
static int probe(const struct hps_dict *d, const char *s, size_t n)
{
    int at = (int)(hps_parse_hash(s, n, 0) & (uint64_t)d->mask);

    while (d->table[at] && !is_text(d, d->table[at], s, n))
        at = (at + 1) & d->mask;
    return at;
}

static void widen(struct hps_dict *d)
{
    hps_mem_free(d->table);
    d->mask = 2 * d->mask + 1;
    d->table = hps_mem_new((size_t)d->mask + 1, sizeof *d->table);
    for (int id = 1; id <= d->n; id++) {
        const char *text = d->text + d->start[id - 1];
        d->table[probe(d, text, strlen(text))] = id;
    }
}

static long long learn_new(struct hps_dict *d, int at, const char *s, size_t n)
{
    if (d->n >= d->max || d->bytes + n + 1 > d->bytes_max) return 0;
    hps_mem_grow(&d->text, &d->cap, d->bytes + n + 1, 1);
    hps_mem_grow(&d->start, &d->start_cap, (size_t)d->n + 1, sizeof *d->start);
    memcpy(d->text + d->bytes, s, n);
    d->text[d->bytes + n] = 0;
    d->start[d->n++] = d->bytes;
    d->bytes += n + 1;
    d->table[at] = (int)d->n;
    if (2 * d->n > d->mask) widen(d);
    return d->n;
}

long long hps_dict_id(struct hps_dict *d, const char *s, size_t n, bool learn)
{
    int at;

    if (memchr(s, 0, n))                                /* could not be told from two texts */
        return 0;
    at = probe(d, s, n);
    if (d->table[at]) return d->table[at];
    return learn ? learn_new(d, at, s, n) : 0;
}

void hps_dict_load(struct hps_dict *d, const char *texts, size_t bytes)
{
    for (size_t at = 0, n; at < bytes; at += n + 1) {
        n = strnlen(texts + at, bytes - at);
        hps_dict_id(d, texts + at, n, true);
    }
}
