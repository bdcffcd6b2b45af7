/* t_clock: workers and servers that follow the clocks never wait for each other in a ring, whatever
 * the order of arrival, prescribed or drawn; no worker has rows of a server on which another is
 * further behind than the bound; each gradient is applied once, alone or in a group of several,
 * which servers hold until it is full or released; a record of an order prescribes it;
 * servers that draw draw the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "ps/clock.h"

enum { MAX_W = 5, MAX_N = 3, MAX_C = 9, MAX_EVENTS = 2 * MAX_W * MAX_C };

/* A worker asks all servers for clock c, has the rows of `has` of them, then sends its gradients to
 * all. */
struct worker {
    long long clock, last;
    bool asks[MAX_N], has[MAX_N], sent[MAX_N];
    int left;
};
struct server {
    struct hps_clock clock;
    long long version[MAX_W];           /* gradients that came of each worker         */
    long long applied[MAX_W];           /* of them those of full groups               */
    int group;                          /* gradients in the one that is not           */
    struct hps_clock_event event[MAX_EVENTS];
    int n;
};
struct world {
    int W, N;
    long long staleness;
    bool sums;                          /* all workers sum something in each clock    */
    int aggregate;
    struct worker worker[MAX_W];
    struct server server[MAX_N];
    uint64_t key, draws;
};

static int below(struct world *x, int n)
{
    return (int)(hps_rng_real(x->key, x->draws++) * n);
}

static void begin_clock(struct world *x, struct worker *w)
{
    for (int j = 0; j < x->N; j++) {
        w->asks[j] = w->clock < w->last;
        w->has[j] = w->sent[j] = false;
    }
}

static void world_init(struct world *x, uint64_t seed, uint64_t draw)
{
    *x = (struct world){ .key = hps_rng_key(seed, "clock") };
    x->W = 1 + below(x, MAX_W);
    x->N = 1 + below(x, MAX_N);
    x->staleness = below(x, 5) - 1;
    x->sums = below(x, 3) == 0;
    x->aggregate = 1 + (x->staleness < 0 ? below(x, 4) : below(x, (int)x->staleness + 1));
    for (int w = 0; w < x->W; w++) {
        x->worker[w].last = x->sums ? 1 + MAX_C / 2 : 1 + below(x, MAX_C);
        begin_clock(x, &x->worker[w]);
    }
    for (int j = 0; j < x->N; j++) {
        hps_clock_init(&x->server[j].clock, x->W, x->staleness, x->aggregate);
        if (x->sums) hps_clock_sum(&x->server[j].clock);
        if (draw) hps_clock_draw(&x->server[j].clock, draw);
    }
}

static void world_done(struct world *x)
{
    for (int j = 0; j < x->N; j++)
        hps_clock_done(&x->server[j].clock);
}

static bool has_all(const struct world *x, const bool *of)
{
    for (int j = 0; j < x->N; j++)
        if (!of[j]) return false;
    return true;
}

static void note(struct world *x, struct server *s, struct hps_clock_event e)
{
    bool applies = e.act == HPS_CLOCK_APPLY && ++s->group == x->aggregate;

    assert_int_equal(hps_clock_take(&s->clock, e), applies);
    s->event[s->n++] = e;
    if (!applies) return;
    memcpy(s->applied, s->version, sizeof s->applied);
    s->group = 0;
}

/* Has the sum of the clock before come to worker w, for which all must have begun that clock? */
static bool is_summed(const struct world *x, const struct worker *k)
{
    for (int v = 0; v < x->W && x->sums; v++) {
        const struct worker *o = &x->worker[v];
        if (o->clock + has_all(x, o->has) < k->clock) return false;
    }
    return true;
}

/* Server j does what worker w waits for, if it may. Has it? */
static bool serve(struct world *x, int j, int w)
{
    struct server *s = &x->server[j];
    struct worker *k = &x->worker[w];
    struct hps_clock_event pull = { w, HPS_CLOCK_PULL }, apply = { w, HPS_CLOCK_APPLY };

    if (!is_summed(x, k)) return false;
    if (k->asks[j] && hps_clock_may(&s->clock, pull)) {
        for (int v = 0; v < x->W && x->staleness >= 0; v++)
            assert_true(s->clock.left[v] || s->applied[v] >= k->clock - x->staleness);
        note(x, s, pull);
        k->asks[j] = false;
        k->has[j] = true;
        for (int i = 0; i < x->N && has_all(x, k->has); i++)
            k->sent[i] = true;
        return true;
    }
    if (!k->sent[j] || !hps_clock_may(&s->clock, apply)) return false;
    assert_int_equal(s->version[w]++, k->clock);
    note(x, s, apply);
    if (k->clock + 1 == k->last) hps_clock_leave(&s->clock, w);
    k->sent[j] = false;
    for (int i = 0; i < x->N; i++)
        if (x->server[i].version[w] <= k->clock) return true;
    k->clock++;
    begin_clock(x, k);
    return true;
}

/* Until nobody can go on; each time a server and a worker by chance. */
static void run(struct world *x)
{
    bool any = true;

    while (any) {
        int first = below(x, x->N * x->W);
        any = false;
        for (int i = 0; i < x->N * x->W && !any; i++) {
            int at = (first + i) % (x->N * x->W);
            any = serve(x, at / x->W, at % x->W);
        }
    }
    for (int w = 0; w < x->W; w++)
        for (int j = 0; j < x->N; j++)
            assert_int_equal(x->server[j].version[w], x->worker[w].last);
}

static void any_order_comes_to_its_end(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10000; seed++) {
        struct world x;
        world_init(&x, seed, 0);
        run(&x);
        world_done(&x);
    }
}

static bool same(const struct server *a, const struct server *b)
{
    return a->n == b->n && memcmp(a->event, b->event, (size_t)a->n * sizeof *a->event) == 0;
}

static void servers_draw_the_same(void **state)
{
    int differ = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct world x, y;
        world_init(&x, seed, seed);
        run(&x);
        for (int j = 1; j < x.N; j++)
            assert_true(same(&x.server[0], &x.server[j]));
        world_init(&y, seed, seed + 1);
        run(&y);
        differ += !same(&x.server[0], &y.server[0]);
        world_done(&x);
        world_done(&y);
    }
    assert_true(differ > 1000);
}

static void a_record_is_followed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct world x, y;
        world_init(&x, seed, 0);
        run(&x);
        world_init(&y, seed, 0);
        y.key = hps_rng_key(seed, "other arrivals");
        for (int j = 0; j < x.N; j++)
            hps_clock_prescribe(&y.server[j].clock, x.server[j].event, x.server[j].n);
        run(&y);
        for (int j = 0; j < x.N; j++)
            assert_true(same(&x.server[j], &y.server[j]));
        world_done(&x);
        world_done(&y);
    }
}

/* With staleness 0 all pull for a clock before any begins the next. */
static void the_bound_is_reached(void **state)
{
    struct hps_clock x;
    struct hps_clock_event pull = { 0, HPS_CLOCK_PULL }, apply = { 0, HPS_CLOCK_APPLY };

    (void)state;
    for (long long bound = 0; bound <= 3; bound++) {
        hps_clock_init(&x, 2, bound, 1);
        for (long long c = 0; c <= bound; c++) {
            assert_true(hps_clock_may(&x, pull));
            hps_clock_take(&x, pull);
            assert_false(hps_clock_may(&x, pull));
            hps_clock_take(&x, apply);
            assert_false(hps_clock_may(&x, apply));
        }
        assert_false(hps_clock_may(&x, pull));
        int who;
        assert_int_equal(hps_clock_slowest(&x, &who), 0);
        assert_int_equal(who, 1);
        assert_int_equal(hps_clock_fastest(&x, &who), bound + 1);
        assert_int_equal(who, 0);
        hps_clock_leave(&x, 1);
        assert_true(hps_clock_may(&x, pull));
        hps_clock_join(&x, 1);
        assert_false(hps_clock_may(&x, pull));
        hps_clock_done(&x);
    }
}

/* Gradients wait for others; released, they are applied before there are M, by a record too. */
static void held_gradients_are_released(void **state)
{
    struct hps_clock x;
    struct hps_clock_event all[] = { { 0, HPS_CLOCK_PULL }, { 0, HPS_CLOCK_APPLY },
                                     { 0, HPS_CLOCK_RELEASE }, { 1, HPS_CLOCK_PULL } };

    (void)state;
    for (int recorded = 0; recorded <= 1; recorded++) {
        hps_clock_init(&x, 2, 2, 3);
        if (recorded) hps_clock_prescribe(&x, all, 4);
        assert_false(hps_clock_may(&x, all[2]));        /* nothing is held */
        assert_false(hps_clock_take(&x, all[0]));
        assert_false(hps_clock_releases(&x));
        assert_false(hps_clock_take(&x, all[1]));
        assert_int_equal(x.finished[0], 0);
        assert_int_equal(hps_clock_releases(&x), recorded);
        assert_int_equal(hps_clock_may(&x, all[3]), !recorded);
        assert_true(hps_clock_take(&x, all[2]));
        assert_int_equal(x.finished[0], 1);
        assert_int_equal(x.held, 0);
        assert_true(hps_clock_may(&x, all[3]));
        hps_clock_done(&x);
    }
}

static int nothing_held(void **state)
{
    (void)state;
    return hps_mem_held_bytes() != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(any_order_comes_to_its_end, nothing_held),
        cmocka_unit_test_teardown(servers_draw_the_same, nothing_held),
        cmocka_unit_test_teardown(a_record_is_followed, nothing_held),
        cmocka_unit_test_teardown(the_bound_is_reached, nothing_held),
        cmocka_unit_test_teardown(held_gradients_are_released, nothing_held),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
