/* row_cache.h - which rows a worker's cache has, clock by clock: bookkeeping alone; pure.
 *
 * A row that was pulled for clock c serves the clocks up to c + H: then it is a hit, and not asked
 * for. The gradient of a hit is held back, and gradients of later hits are added to it, until the
 * row is asked for again; it then travels with the gradient of that clock. A row whose gradient has
 * been held for H clocks is asked for though nobody reads it. So every gradient leaves at most H
 * clocks after its own, and a row of the cache never costs more messages than without it.
 *
 * Values and held gradients of a row lie in a slot. A row gets one when it is asked for the second
 * time within H + 1 clocks (a few rows are forgotten before), as long as there are less than
 * HPS_ROW_CACHE_SHARE times the rows of the clock; it loses the slot when it can serve no more and
 * holds nothing. All of it follows from the rows of the worker's own batches, whatever arrives
 * when.
 *
 * Rows are requested a clock ahead of their use, and what was requested may be dropped: the cache
 * knows apart which gradients are held at the moment. */
#ifndef HPS_PS_ROW_CACHE_H
#define HPS_PS_ROW_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HPS_ROW_CACHE_SHARE = 4 };

struct hps_row_cache;
/* For H clocks, 1 or more. Local, as are the others. */
struct hps_row_cache *hps_row_cache_new(long long H);
void hps_row_cache_free(struct hps_row_cache *cache);      /* NULL is fine */

/* ---- a clock, as it is requested ---- */

/* The next clock begins, in which this many distinct rows are read. */
void hps_row_cache_begin(struct hps_row_cache *cache, size_t nrow);
/* A row that is read in it, one call for each: a hit's values are in the slot, where its gradient
 * is held; `adds`: others are there already. One that is no hit is asked for: where slot >= 0, its
 * values are put there; `returns`: the gradients held there travel with its own. */
struct hps_row_cache_use {
    int slot;
    bool hit, adds, returns;
};
struct hps_row_cache_use hps_row_cache_use(struct hps_row_cache *cache, uint64_t row);
/* After these: the rows (*n, ascending) that are asked for only to return what is held. Borrowed
 * until the next call. */
struct hps_row_cache_held {
    uint64_t row;
    int slot;
};
const struct hps_row_cache_held *hps_row_cache_end(struct hps_row_cache *cache, size_t *n);
/* There are so many slots, some of them free. */
int hps_row_cache_slots(const struct hps_row_cache *cache);

/* ---- the same clock, when it is used; never called for one that is dropped ---- */

/* Gradients are held of these hits (n); those of these slots have gone. */
void hps_row_cache_hold(struct hps_row_cache *cache, size_t n,
                        const struct hps_row_cache_held *hit);
void hps_row_cache_return(struct hps_row_cache *cache, size_t n, const int *slot);
/* All rows (*n, ascending) of which gradients are held; the cache is empty from now on. Borrowed
 * until the next call. */
const struct hps_row_cache_held *hps_row_cache_clear(struct hps_row_cache *cache, size_t *n);

#endif
