/* t_row_cache: what the cache of a worker does with drawn batches is what a slow twin allows: a hit
 * was pulled at most H clocks ago, and its slot is its own; each gradient leaves once, at most H
 * clocks after its own, also where steps are dropped and the cache is emptied; rows that return
 * gradients alone are no more than the hits, so that no message is added. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "ps/row_cache.h"

enum { ROWS = 60, SLOTS = 4 * ROWS, CLOCKS = 400, NONE = -1 };

/* What the worker does with memory, row by row and slot by slot. */
struct world {
    long long H, clock;
    struct hps_row_cache *cache;
    int value[SLOTS], held_row[SLOTS];      /* the row whose value, whose gradients a slot has */
    long long value_clock[SLOTS];           /* the clock for which it was pulled               */
    long long held[SLOTS], held_clock[SLOTS];   /* gradients there, the clock of the first one */
    long long made, sent, hits, alone;
    uint64_t key, draws;
};

/* A clock as it was requested. */
struct step {
    long long clock;
    size_t n, nalone;
    int row[ROWS];
    struct hps_row_cache_use use[ROWS];
    struct hps_row_cache_held alone[SLOTS];
};

static int below(struct world *x, int n)
{
    return (int)(hps_rng_real(x->key, x->draws++) * n);
}

/* Distinct rows, some of them in most batches. */
static void request(struct world *x, struct step *s)
{
    s->clock = ++x->clock;
    s->n = 0;
    for (int r = 0; r < ROWS; r++)
        if (below(x, 100) < (r < 8 ? 90 : r < 30 ? 30 : 4)) s->row[s->n++] = r;
    hps_row_cache_begin(x->cache, s->n);
    for (size_t i = 0; i < s->n; i++)
        s->use[i] = hps_row_cache_use(x->cache, (uint64_t)s->row[i]);
    const struct hps_row_cache_held *alone = hps_row_cache_end(x->cache, &s->nalone);
    assert_true(s->nalone <= SLOTS);
    if (s->nalone > 0) memcpy(s->alone, alone, s->nalone * sizeof *alone);
    for (size_t i = 0; i < s->nalone; i++) {
        assert_true(i == 0 || alone[i - 1].row < alone[i].row);
        for (size_t k = 0; k < s->n; k++)
            assert_int_not_equal(alone[i].row, s->row[k]);
    }
    assert_true(hps_row_cache_slots(x->cache) <= SLOTS);
}

static void give(struct world *x, int row, int slot, long long clock)
{
    assert_int_equal(x->held_row[slot], row);
    assert_true(clock - x->held_clock[slot] <= x->H);
    x->sent += x->held[slot];
    x->held[slot] = 0;
    x->held_row[slot] = NONE;
}

static void put(struct world *x, int row, int slot, long long clock)
{
    x->value[slot] = row;
    x->value_clock[slot] = clock;
}

static void read_rows(struct world *x, const struct step *s)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct hps_row_cache_use *u = &s->use[i];
        if (!u->hit) continue;
        assert_int_equal(x->value[u->slot], s->row[i]);
        assert_true(s->clock - x->value_clock[u->slot] <= x->H);
        x->hits++;
    }
    for (size_t i = 0; i < s->n; i++)
        if (!s->use[i].hit && s->use[i].slot >= 0) put(x, s->row[i], s->use[i].slot, s->clock);
    for (size_t i = 0; i < s->nalone; i++)
        put(x, (int)s->alone[i].row, s->alone[i].slot, s->clock);
}

static void send_gradients(struct world *x, const struct step *s)
{
    for (size_t i = 0; i < s->nalone; i++)
        give(x, (int)s->alone[i].row, s->alone[i].slot, s->clock);
    x->alone += (long long)s->nalone;
    for (size_t i = 0; i < s->n; i++) {
        const struct hps_row_cache_use *u = &s->use[i];
        if (u->returns) give(x, s->row[i], u->slot, s->clock);
        x->sent += !u->hit;
        x->made++;
    }
    for (size_t i = 0; i < s->n; i++) {
        const struct hps_row_cache_use *u = &s->use[i];
        if (!u->hit) continue;
        assert_int_equal(u->adds, x->held[u->slot] > 0);
        if (!u->adds) x->held_clock[u->slot] = s->clock;
        x->held_row[u->slot] = s->row[i];
        x->held[u->slot]++;
    }
    for (int k = 0; k < SLOTS; k++)
        assert_true(x->held[k] == 0 || s->clock - x->held_clock[k] < x->H);
}

/* Tell the cache what is used. */
static void take(struct world *x, const struct step *s)
{
    struct hps_row_cache_held hit[ROWS];
    int gone[ROWS + SLOTS];
    size_t nhit = 0, ngone = 0;

    for (size_t i = 0; i < s->n; i++) {
        if (s->use[i].hit)
            hit[nhit++] = (struct hps_row_cache_held){ (uint64_t)s->row[i], s->use[i].slot };
        if (s->use[i].returns) gone[ngone++] = s->use[i].slot;
    }
    for (size_t i = 0; i < s->nalone; i++)
        gone[ngone++] = s->alone[i].slot;
    hps_row_cache_hold(x->cache, nhit, hit);
    hps_row_cache_return(x->cache, ngone, gone);
}

static void clear(struct world *x, long long clock)
{
    size_t n;
    const struct hps_row_cache_held *held = hps_row_cache_clear(x->cache, &n);

    for (size_t i = 0; i < n; i++) {
        assert_true(i == 0 || held[i - 1].row < held[i].row);
        give(x, (int)held[i].row, held[i].slot, clock);
    }
    assert_int_equal(x->made, x->sent);
    for (int k = 0; k < SLOTS; k++)
        x->value[k] = NONE;
}

/* Each step is requested while the one before is under way, and dropped where a cut comes between.
 */
static void try(uint64_t seed, bool cuts)
{
    struct world x = { .key = hps_rng_key(seed, "cache"), .clock = NONE };
    struct step step[2];

    x.H = 1 + below(&x, 4);
    x.cache = hps_row_cache_new(x.H);
    for (int k = 0; k < SLOTS; k++)
        x.value[k] = x.held_row[k] = NONE;
    request(&x, &step[0]);
    for (int c = 0; c < CLOCKS; c++) {
        struct step *now = &step[c % 2], *next = &step[(c + 1) % 2];
        take(&x, now);
        request(&x, next);
        read_rows(&x, now);
        send_gradients(&x, now);
        if (!cuts || below(&x, 20) > 0) continue;
        clear(&x, now->clock);
        request(&x, next);
    }
    clear(&x, x.clock);
    assert_true(x.hits > 0 && x.alone <= x.hits);
    hps_row_cache_free(x.cache);
}

static void drawn_batches(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++)
        try(seed, false);
}

static void drawn_cuts(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++)
        try(seed, true);
}

/* A row of every batch is asked for once in H + 1 clocks. */
static void always(void **state)
{
    struct hps_row_cache *cache = hps_row_cache_new(3);
    int asked = 0;
    size_t n;

    (void)state;
    for (int c = 0; c < 101; c++) {
        hps_row_cache_begin(cache, 1);
        asked += !hps_row_cache_use(cache, 7).hit;
        hps_row_cache_end(cache, &n);
        assert_int_equal(n, 0);
    }
    assert_int_equal(asked, 26);
    hps_row_cache_free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(drawn_batches),
                                        cmocka_unit_test(drawn_cuts), cmocka_unit_test(always) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
