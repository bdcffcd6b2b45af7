/* t_place: on small pools, against all ways there are: units are neither lost nor given twice; who
 * stays is not moved unless that is allowed; a job is in one piece, or on whole nodes, wherever it
 * can be; where moving is allowed, a job of 1, 2 or 4 units makes as few others move as any way
 * needs; a job goes where it and those beside it slow each other least; pairs that were not
 * measured are predicted exactly where sensitivity times pressure is all there is. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "jobs/place.h"

enum { NODES = 4, UNITS = 4, JOBS = 8, CASES = 4000 };

static const uint64_t key = 35;

static int draw(uint64_t *at, int n)
{
    return (int)(hps_rng_bits(key, (*at)++) % (uint64_t)n);
}

/* ---- cases: jobs that stay, each in one piece, and one that comes ---- */

struct stage {
    struct hps_job_pool *pool;
    int n, nodes, units[JOBS], node[JOBS];
    struct hps_job_config config[JOBS];
    struct hps_place_job job[JOBS];
};

static void settle(struct stage *s, int units, int node)
{
    int i = s->n++;

    s->units[i] = units;
    s->node[i] = node;
    s->config[i] = (struct hps_job_config){ .nparts = 1, .part = { { 0, units } }, .seconds = 1 };
    s->job[i] = (struct hps_place_job){ .config = &s->config[i], .keeps = node >= 0, .model = -1 };
    if (node < 0) return;
    s->job[i].at.n = 1;
    s->job[i].at.part = hps_mem_new(1, sizeof *s->job[i].at.part);
    s->job[i].at.part[0] = (struct hps_placed_part){ node, 0, units };
}

static void build(struct stage *s, uint64_t *at)
{
    static const int sizes[] = { 1, 1, 2, 2, 4 };
    int free[NODES], left = 0;

    memset(s, 0, sizeof *s);
    s->nodes = 2 + draw(at, NODES - 1);
    s->pool = hps_job_pool_grid(s->nodes, UNITS);
    for (int i = 0; i < s->nodes; i++)
        free[i] = UNITS;
    for (int want = draw(at, JOBS); want > 0; want--) {
        int units = sizes[draw(at, 5)], node = draw(at, s->nodes);
        if (free[node] < units) continue;
        settle(s, units, node);
        free[node] -= units;
    }
    for (int i = 0; i < s->nodes; i++)
        left += free[i];
    if (left > 0) settle(s, 1 + draw(at, left), -1);
}

static void clear(struct stage *s)
{
    for (int i = 0; i < s->n; i++)
        hps_mem_free(s->job[i].at.part);
    hps_job_pool_free(s->pool);
}

/* ---- all ways ---- */

/* Can a job of so many units be on whole nodes, and one node with the rest? */
static bool in_one_piece(const struct stage *s, const int *free, int units)
{
    int empty = 0, most = 0, whole = units / UNITS, rest = units % UNITS;

    for (int i = 0; i < s->nodes; i++)
        empty += free[i] == UNITS;
    if (empty < whole) return false;
    for (int i = 0; i < s->nodes; i++)
        if (free[i] < UNITS || empty > whole) most = free[i] > most ? free[i] : most;
    return rest <= most;
}

/* The fewest jobs that have to move so that the last can; more than there are: none do. */
static int fewest(const struct stage *s, int k, int *free, int moved, int best)
{
    if (moved >= best) return best;
    if (k == s->n - 1) return in_one_piece(s, free, s->units[k]) ? moved : best;
    for (int i = 0; i < s->nodes; i++) {
        if (free[i] < s->units[k]) continue;
        free[i] -= s->units[k];
        best = fewest(s, k + 1, free, moved + (i != s->node[k]), best);
        free[i] += s->units[k];
    }
    return best;
}

/* ---- the laws ---- */

static void check_units(const struct stage *s)
{
    int used[NODES] = { 0 };

    for (int i = 0; i < s->n; i++) {
        int sum = 0;
        for (int k = 0; k < s->job[i].at.n; k++) {
            sum += s->job[i].at.part[k].units;
            used[s->job[i].at.part[k].node] += s->job[i].at.part[k].units;
        }
        assert_int_equal(sum, s->units[i]);
    }
    for (int i = 0; i < s->nodes; i++)
        assert_true(used[i] <= UNITS);
}

static int count_moved(const struct stage *s)
{
    int moved = 0;

    for (int i = 0; i < s->n - 1; i++) {
        bool is = s->job[i].at.n != 1 || s->job[i].at.part[0].node != s->node[i];
        assert_int_equal(is, s->job[i].moved);
        moved += is;
    }
    return moved;
}

static void places_as_all_ways_say(void **state)
{
    uint64_t at = 0;
    int spreads = 0, moves = 0;

    (void)state;
    for (int c = 0; c < CASES; c++) {
        struct stage s;
        bool may_move = c % 2;
        int free[NODES] = { UNITS, UNITS, UNITS, UNITS };
        build(&s, &at);
        if (s.n > 0 && s.node[s.n - 1] < 0) {
            int need = fewest(&s, 0, free, 0, JOBS);
            hps_place(&(struct hps_place_opt){ s.pool, may_move, NULL }, s.job, s.n);
            check_units(&s);
            int moved = count_moved(&s);
            int units = s.units[s.n - 1];
            bool buddy = units == 1 || units == 2 || units == 4;
            if (!may_move) assert_int_equal(moved, 0);
            if (!may_move) assert_int_equal(s.job[s.n - 1].spread, need > 0);
            if (may_move && buddy) assert_int_equal(s.job[s.n - 1].spread, need == JOBS);
            if (may_move && buddy && need < JOBS) assert_int_equal(moved, need);
            if (may_move && !s.job[s.n - 1].spread) assert_true(moved >= need);
            spreads += s.job[s.n - 1].spread;
            moves += moved;
        }
        clear(&s);
    }
    assert_true(spreads > 100);
    assert_true(moves > 100);
}

/* ---- interference ---- */

static void goes_where_all_slow_each_other_least(void **state)
{
    double share[9] = { 1, 0.5, 0.9, 0.6, 0.7, 0.4, 0.95, 0.8, 1 };
    struct hps_interference x = { .T = 1, .n = 3, .share = share };
    uint64_t at = 1u << 20;

    (void)state;
    for (int c = 0; c < 300; c++) {
        struct stage s;
        int best = -1;
        double least = INFINITY, got[JOBS];
        memset(&s, 0, sizeof s);
        s.nodes = 3;
        s.pool = hps_job_pool_grid(3, 2);
        for (int i = 0; i < 3; i++)
            settle(&s, 1, i);
        settle(&s, 1, -1);
        for (int i = 0; i < s.n; i++)
            s.job[i].model = draw(&at, 3);
        for (int i = 0; i < 3; i++) {
            int a = s.job[3].model, b = s.job[i].model;
            double slow = 1 / share[a * 3 + b] + 1 / share[b * 3 + a];
            if (slow < least - 1e-12) best = i;
            least = fmin(least, slow);
        }
        struct hps_place_opt opt = { s.pool, false, &x };
        hps_place(&opt, s.job, s.n);
        int node = s.job[3].at.part[0].node;
        assert_int_equal(s.job[node].model, s.job[best].model);
        hps_place_shares(&opt, s.job, s.n, got);
        for (int i = 0; i < 3; i++)
            assert_true(got[i] == (i == node ? share[s.job[i].model * 3 + s.job[3].model] : 1));
        assert_true(got[3] == share[s.job[3].model * 3 + s.job[node].model]);
        clear(&s);
    }
}

static void predicts_what_was_not_measured(void **state)
{
    enum { N = 6 };
    double share[N * N];

    (void)state;
    for (int i = 0; i < N * N; i++)
        share[i] = (i / N + i % N) % 3 == 0 ? NAN : exp(-0.1 * (1 + i / N) * (0.2 + i % N));
    hps_interference_predict(share, N);
    for (int i = 0; i < N * N; i++)
        assert_true(fabs(share[i] - exp(-0.1 * (1 + i / N) * (0.2 + i % N))) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_as_all_ways_say),
        cmocka_unit_test(goes_where_all_slow_each_other_least),
        cmocka_unit_test(predicts_what_was_not_measured),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
