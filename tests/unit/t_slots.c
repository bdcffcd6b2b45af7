/* t_slots: after any steps, with any number of slots, each row of the step has a slot of its own,
 * what moved makes the slab hold what it should, and nothing moves that was there. A row that every
 * step needs comes once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "ps/slots.h"

enum { ROWS = 200, STEPS = 400 };

/* What is where, told by the moves alone: each row has a number of its own, and each step adds to
 * those that it needs. */
struct world {
    struct hps_slots *tier;
    int slots;
    uint64_t key, next;         /* random numbers      */
    uint64_t host[ROWS], truth[ROWS], slab[ROWS];
    int holds[ROWS];            /* (slots) -1: nothing */
};

static void move(struct world *w, const struct hps_slots_moves *m)
{
    for (size_t i = 0; i < m->nout; i++) {
        assert_int_equal(w->holds[m->out_slot[i]], m->out_row[i]);
        w->host[m->out_row[i]] = w->slab[m->out_slot[i]];
    }
    for (size_t i = 0; i < m->nout && m->nin > 0; i++)
        w->holds[m->out_slot[i]] = -1;
    for (size_t i = 0; i < m->nin; i++) {
        assert_in_range(m->in_slot[i], 0, w->slots - 1);
        assert_int_equal(w->holds[m->in_slot[i]], -1);
        for (int s = 0; s < w->slots; s++)
            assert_int_not_equal(w->holds[s], m->in_row[i]);
        w->holds[m->in_slot[i]] = m->in_row[i];
        w->slab[m->in_slot[i]] = w->host[m->in_row[i]];
    }
}

static double chance(struct world *w)
{
    return hps_rng_real(w->key, w->next++);
}

/* Up to `most` distinct rows, small numbers more often. */
static int draw(struct world *w, int most, int *row)
{
    bool taken[ROWS] = { false };
    int n = 0, want = (int)(chance(w) * (most + 1));

    while (n < want) {
        double u = chance(w);
        int r = (int)(u * u * u * ROWS);
        if (taken[r]) r = (int)(chance(w) * ROWS);
        if (taken[r]) continue;
        taken[r] = true;
        row[n++] = r;
    }
    return n;
}

static void step(struct world *w, int most)
{
    int row[ROWS], slot[ROWS], n = draw(w, most, row);
    struct hps_slots_moves m = hps_slots_take(w->tier, (size_t)n, row);

    move(w, &m);
    hps_slots_find(w->tier, (size_t)n, row, slot);
    for (int i = 0; i < n; i++) {
        assert_int_equal(w->holds[slot[i]], row[i]);
        assert_int_equal(w->slab[slot[i]], w->truth[row[i]]);
        w->truth[row[i]] = w->slab[slot[i]] = w->slab[slot[i]] * 3 + (uint64_t)i;
    }
}

static void all_home(struct world *w)
{
    struct hps_slots_moves m = hps_slots_all(w->tier);

    assert_int_equal(m.nin, 0);
    move(w, &m);
    for (int r = 0; r < ROWS; r++)
        assert_int_equal(w->host[r], w->truth[r]);
}

static void any_slots(void **state)
{
    static const int slots[] = { 1, 2, 7, 64, ROWS - 1, ROWS };
    (void)state;

    for (size_t k = 0; k < sizeof slots / sizeof *slots; k++) {
        struct world w = { .tier = hps_slots_new(ROWS, slots[k]), .slots = slots[k],
                           .key = hps_rng_key(7, "tier") };
        for (int s = 0; s < ROWS; s++) {
            w.holds[s] = -1;
            w.host[s] = w.truth[s] = (uint64_t)s;
        }
        for (int s = 0; s < STEPS; s++) {
            step(&w, slots[k]);
            if (s % 50 == 0) all_home(&w);
            if (s != STEPS / 2) continue;
            hps_slots_forget(w.tier);
            for (int i = 0; i < ROWS; i++)
                w.holds[i] = -1;
        }
        all_home(&w);
        assert_true(hps_slots_hits(w.tier) <= hps_slots_asked(w.tier));
        if (slots[k] == ROWS) assert_true(hps_slots_hits(w.tier) > 0.9 * hps_slots_asked(w.tier));
        hps_slots_free(w.tier);
    }
    assert_int_equal(hps_mem_held_bytes(), 0);
}

/* Ten rows that each step needs, beside ten of many that come and go: the ten stay. */
static void hot_stay(void **state)
{
    struct hps_slots *t = hps_slots_new(10000, 40);
    size_t came = 0;
    (void)state;

    for (int s = 0; s < 200; s++) {
        int row[20];
        for (int i = 0; i < 10; i++) {
            row[i] = i * 31;
            row[10 + i] = 1000 + (s * 10 + i) % 9000;
        }
        struct hps_slots_moves m = hps_slots_take(t, 20, row);
        for (size_t i = 0; i < m.nin; i++)
            came += m.in_row[i] < 1000;
    }
    assert_int_equal(came, 10);
    hps_slots_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(any_slots), cmocka_unit_test(hot_stay) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
