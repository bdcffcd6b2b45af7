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
#include "jobs/links.h"
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
            hps_place(&(struct hps_place_opt){ s.pool, may_move, NULL, false }, s.job, s.n);
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
        struct hps_place_opt opt = { s.pool, false, &x, false };
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

/* ---- links ---- */

static void spread_over(struct stage *s, uint64_t *at)
{
    int i = s->n, nodes = 1 + draw(at, 3);

    settle(s, 1, 0);
    s->config[i].link_s = (double)(1 + draw(at, 10)) / 10;
    hps_mem_free(s->job[i].at.part);
    s->job[i].at.part = hps_mem_new((size_t)nodes + 1, sizeof *s->job[i].at.part);
    s->job[i].at.n = nodes;
    for (int k = 0, node = draw(at, NODES); k < nodes; k++)
        s->job[i].at.part[k] = (struct hps_placed_part){ (node + k) % NODES, 0, 1 };
    /* two parts on one node use its link once */
    if (draw(at, 4) == 0)
        s->job[i].at.part[s->job[i].at.n++] = s->job[i].at.part[0];
}

static bool uses(const struct stage *s, int i, int node)
{
    for (int k = 0; k < s->job[i].at.n; k++)
        if (s->job[i].at.part[k].node == node) return true;
    return false;
}

/* What a job gets of a link is max-min fair: no link is used for more than all of its time; and
 * whoever gets less than it wants has a link that is used for all of its time, of which nobody gets
 * more. */
static void links_are_shared_fairly(void **state)
{
    uint64_t at = 1u << 21;
    int slowed = 0;

    (void)state;
    for (int c = 0; c < 1000; c++) {
        struct stage s;
        double share[JOBS], got[JOBS], used[NODES] = { 0 };
        memset(&s, 0, sizeof s);
        s.pool = hps_job_pool_grid(NODES, UNITS);
        for (int i = 0; i < JOBS; i++)
            spread_over(&s, &at);
        hps_place_shares(&(struct hps_place_opt){ s.pool, false, NULL, true }, s.job, s.n, share);
        for (int i = 0; i < JOBS; i++) {
            double part = hps_links_part(&s.config[i], &s.job[i].at);
            assert_true(share[i] > 0 && share[i] <= 1 && (part > 0 || share[i] == 1));
            got[i] = part * share[i];
            for (int node = 0; node < NODES; node++)
                if (uses(&s, i, node)) used[node] += got[i];
        }
        for (int node = 0; node < NODES; node++)
            assert_true(used[node] < 1 + 1e-9);
        for (int i = 0; i < JOBS; i++) {
            bool bound = share[i] == 1;
            for (int node = 0; node < NODES && !bound; node++) {
                bound = uses(&s, i, node) && used[node] > 1 - 1e-9;
                for (int k = 0; k < JOBS && bound; k++)
                    bound = !uses(&s, k, node) || got[k] <= got[i] + 1e-9;
            }
            assert_true(bound);
            slowed += share[i] < 1;
        }
        clear(&s);
    }
    assert_true(slowed > 1000);
}

/* The rest of a job that is on a whole node goes to the node whose link is wanted the least. */
static void goes_where_the_link_is_free(void **state)
{
    struct stage s;

    (void)state;
    memset(&s, 0, sizeof s);
    s.pool = hps_job_pool_grid(4, 4);
    settle(&s, 2, 0);
    settle(&s, 2, 2);
    settle(&s, 6, -1);
    for (int i = 0; i < 3; i++)
        s.config[i].link_s = 0.8;
    /* the first is on node 3 too, and wants its links; the second is on one node */
    hps_mem_free(s.job[0].at.part);
    s.job[0].at.part = hps_mem_new(2, sizeof *s.job[0].at.part);
    s.job[0].at.n = 2;
    s.job[0].at.part[0] = (struct hps_placed_part){ 0, 0, 2 };
    s.job[0].at.part[1] = (struct hps_placed_part){ 3, 0, 1 };
    hps_place(&(struct hps_place_opt){ s.pool, false, NULL, true }, s.job, s.n);
    assert_int_equal(s.job[2].at.n, 2);
    assert_int_equal(s.job[2].at.part[0].node, 1);
    assert_int_equal(s.job[2].at.part[1].node, 2);
    clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_as_all_ways_say),
        cmocka_unit_test(goes_where_all_slow_each_other_least),
        cmocka_unit_test(predicts_what_was_not_measured),
        cmocka_unit_test(links_are_shared_fairly),
        cmocka_unit_test(goes_where_the_link_is_free),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
