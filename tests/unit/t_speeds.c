/* t_speeds: least squares without negative coefficients finds what enumeration of all subsets does,
 * and a speed that obeys the model is found again; a job's configurations are the planner's fastest
 * plans on these units, none beats another, and none is on too little memory; those of what runs
 * measured are the fit's; a correction is drawn to what is known without it. */
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
#include "jobs/configs.h"
#include "jobs/correction.h"
#include "jobs/fit.h"
#include "jobs/nnls.h"
#include "plan/cost.h"
#include "plan/promise.h"
#include "plan/sched.h"
#include "tests/lib/plan_make.h"

/* ---- least squares ---- */

/* The least residual over all subsets of columns whose own solution has no negative coefficient, by
 * Gauss on the normal equations of each. */
static double by_subsets(int m, int n, const double *A, const double *b)
{
    double best = INFINITY;

    for (int set = 0; set < 1 << n; set++) {
        double M[4][5] = { { 0 } }, x[4] = { 0 }, sum = 0;
        int at[4], k = 0;
        bool good = true;
        for (int j = 0; j < n; j++)
            if (set >> j & 1) at[k++] = j;
        for (int i = 0; i < k; i++)
            for (int r = 0; r < m; r++) {
                for (int j = 0; j < k; j++)
                    M[i][j] += A[r * n + at[i]] * A[r * n + at[j]];
                M[i][k] += A[r * n + at[i]] * b[r];
            }
        for (int c = 0; c < k; c++)
            for (int i = 0; i < k; i++) {
                double share = i == c ? 0 : M[i][c] / M[c][c];
                for (int j = c; j <= k; j++)
                    M[i][j] -= share * M[c][j];
            }
        for (int c = 0; c < k; c++) {
            x[at[c]] = M[c][k] / M[c][c];
            good = good && x[at[c]] >= 0;
        }
        for (int r = 0; r < m; r++) {
            double e = b[r];
            for (int j = 0; j < n; j++)
                e -= A[r * n + j] * x[j];
            sum += e * e;
        }
        if (good) best = fmin(best, sqrt(sum));
    }
    return best;
}

static void least_squares(void **state)
{
    uint64_t key = hps_rng_key(7, "least squares"), at = 0;

    (void)state;
    for (int round = 0; round < 3000; round++) {
        int m = 4 + (int)hps_rng_below(key, at++, 4), n = 1 + (int)hps_rng_below(key, at++, 4);
        double A[8 * 4], b[8], x[4], scale = pow(10, 6 * hps_rng_real(key, at++) - 3);
        for (int i = 0; i < m * n; i++)
            A[i] = hps_rng_normal(key, at++) * (i % n == 0 ? scale : 1);
        for (int i = 0; i < m; i++)
            b[i] = hps_rng_normal(key, at++);
        double got = hps_nnls(m, n, A, b, x), least = by_subsets(m, n, A, b);
        for (int j = 0; j < n; j++)
            assert_true(x[j] >= 0);
        if (!(fabs(got - least) <= 1e-9 * (1 + least)))
            fail_msg("round %d: %.17g is not %.17g", round, got, least);
    }
}

static void a_speed(void **state)
{
    double units[] = { 1, 2, 4, 8, 16 }, seconds[5];
    struct hps_speed_fit fit;

    (void)state;
    for (int i = 0; i < 5; i++)
        seconds[i] = 3 / units[i] + 0.2 + 0.01 * units[i];
    fit = hps_speed_fit(5, units, seconds);
    for (double k = 1; k <= 64; k++)
        assert_true(fabs(hps_speed_of(&fit, k) / (3 / k + 0.2 + 0.01 * k) - 1) < 1e-6);
    fit = hps_speed_fit(1, units, seconds);             /* of one point: all is divided */
    assert_true(fabs(hps_speed_of(&fit, 4) / (seconds[0] / 4) - 1) < 1e-9);
}

/* ---- configurations ---- */

static struct hps_job_pool *pool_for(const struct hps_profile *p)
{
    struct hps_job_pool *pool = hps_job_pool_grid(1, 8);

    hps_mem_free(pool->type[0].name);
    hps_mem_free(pool->type);
    pool->T = p->T;
    pool->type = hps_mem_new((size_t)p->T, sizeof *pool->type);
    for (int t = 0; t < p->T; t++) {
        pool->type[t].name = hps_mem_text(p->type[p->T - 1 - t].name);  /* in another order */
        pool->type[t].units = 8;
    }
    return pool;
}

static int on(const struct hps_job_config *c, int type)
{
    for (int i = 0; i < c->nparts; i++)
        if (c->part[i].type == type) return c->part[i].units;
    return 0;
}

/* The seconds that the planner promises for exactly what it is given; INFINITY: no plan. */
static double promised(const struct hps_profile *p, const long long *limit)
{
    struct hps_profile own = *p;
    struct hps_plan *plan = NULL;
    double seconds = INFINITY;
    bool proven;

    own.type = hps_mem_new((size_t)p->T, sizeof *own.type);
    memcpy(own.type, p->type, (size_t)p->T * sizeof *own.type);
    own.throughput_limit = 0;
    for (int t = 0; t < p->T; t++)
        own.type[t].limit = limit[t];
    hps_exact_max_throughput(&own, 0, &plan, &proven);
    if (plan) hps_cost_of(plan, &own);
    if (plan) seconds = hps_promise_run(plan, &own).seconds;
    hps_plan_free(plan);
    hps_mem_free(own.type);
    return seconds;
}

static void configurations(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        struct hps_profile *p = make_profile(seed, 4, 2, 8, 0);
        struct hps_config_part_of part[2];
        struct hps_job_config *c;
        if (seed % 3 == 2) make_memory(p, seed);
        p->batch = 64;
        p->examples = 10000;
        p->epochs = 2;
        struct hps_job_pool *pool = pool_for(p);
        assert_true(hps_configs_parts(part, p, pool, NULL));
        assert_true(part[0].type == 1 && part[1].type == 0 && part[0].max == 8);
        int n = hps_configs_of(&c, p, part);
        for (int i = 0; i < n; i++) {
            assert_true(c[i].seconds > 0 && isfinite(c[i].seconds));
            assert_true(on(&c[i], 0) <= 8 && on(&c[i], 1) <= 8);
            assert_true(i == 0 || hps_config_units(&c[i]) >= hps_config_units(&c[i - 1]));
            for (int k = 0; k < i; k++)
                assert_false(hps_config_same(&c[i], &c[k]));
        }
        /* of all units there is the planner's fastest plan, if any fits the memory */
        double all = promised(p, (const long long[]){ 8, 8 }), best = INFINITY;
        for (int i = 0; i < n; i++)
            best = fmin(best, c[i].seconds);
        assert_true(isinf(all) == (n == 0) || n > 0);
        if (isfinite(all)) assert_true(best <= all * (1 + 1e-9));
        int kept = hps_configs_choose(n, c, 2, 12);
        for (int i = 0; i < kept; i++) {
            int units = hps_config_units(&c[i]);
            assert_true(units >= 2 && units <= 12);
            for (int k = 0; k < kept; k++)
                assert_true(k == i || on(&c[k], 0) > on(&c[i], 0) || on(&c[k], 1) > on(&c[i], 1) ||
                            c[k].seconds > c[i].seconds);
        }
        if (kept > 0) assert_true(hps_configs_asked(kept, c) < kept);
        hps_mem_free(c);
        hps_job_pool_free(pool);
        hps_profile_free(p);
    }
}

/* A type that the pool lacks, one that is too small for the tables. */
static void no_configurations(void **state)
{
    struct hps_profile *p = make_profile(1, 4, 2, 8, 0);
    struct hps_job_pool *grid = hps_job_pool_grid(2, 4);
    struct hps_config_part_of part[2];
    struct hps_job_config *c;

    (void)state;
    p->batch = 64;
    assert_false(hps_configs_parts(part, p, grid, NULL));
    for (int t = 0; t < 2; t++) {
        p->type[t].memory_bytes = 1;
        part[t] = (struct hps_config_part_of){ 0, 8 };
    }
    part[1].type = 1;
    p->layer[0].weight_bytes = 1e9;
    assert_int_equal(hps_configs_of(&c, p, part), 0);
    hps_mem_free(c);
    hps_job_pool_free(grid);
    hps_profile_free(p);
}

static void asked(void **state)
{
    struct hps_job_config c[] = { { .nparts = 1, .part = { { 0, 1 } }, .seconds = 100 },
                                  { .nparts = 1, .part = { { 0, 2 } }, .seconds = 55 },
                                  { .nparts = 1, .part = { { 0, 4 } }, .seconds = 40 },
                                  { .nparts = 1, .part = { { 0, 8 } }, .seconds = 39 } };

    (void)state;
    /* 100, 110, 160, 312 unit-seconds: four units have more than half of the most work for each */
    assert_int_equal(hps_configs_asked(4, c), 2);
    assert_int_equal(hps_configs_asked(1, c), 0);
    c[3].seconds = 41;
    assert_int_equal(hps_configs_choose(4, c, 1, 100), 3);
}

/* ---- configurations of what was measured ---- */

/* Of two types: the first was measured on two numbers of units, of which one is no power of two;
 * the second only beside the first. */
static void fitted(void **state)
{
    struct hps_profile *p = make_profile(1, 4, 2, 8, 0);
    struct hps_job_pool *pool = pool_for(p);
    const struct hps_job_config measured[] = {
        { .nparts = 1, .part = { { 0, 1 } }, .seconds = 12 },
        { .nparts = 1, .part = { { 0, 3 } }, .seconds = 4 },
        { .nparts = 2, .part = { { 0, 1 }, { 1, 2 } }, .seconds = 4 },
        { .nparts = 2, .part = { { 0, 1 }, { 1, 2 } }, .seconds = 9 },
        { .nparts = 2, .part = { { 0, 1 }, { 1, 9 } }, .seconds = 1 }
    };
    struct hps_job_config *c;

    (void)state;
    int n = hps_fit_configs(&c, 5, measured, pool, 6);
    /* 1, 2, 3, 4 and 6 of the first; one of both, their geometric mean; none beyond the pool */
    assert_int_equal(n, 6);
    for (int i = 0; i < n; i++) {
        double seconds = c[i].nparts == 1 ? 12.0 / c[i].part[0].units : 6;
        assert_true(fabs(c[i].seconds / seconds - 1) < 1e-9);
        assert_true(i == 0 || hps_config_units(&c[i]) >= hps_config_units(&c[i - 1]));
    }
    hps_mem_free(c);
    assert_int_equal(hps_fit_configs(&c, 1, &measured[4], pool, 6), 0);
    hps_mem_free(c);
    hps_job_pool_free(pool);
    hps_profile_free(p);
}

/* ---- corrections ---- */

static void corrections(void **state)
{
    struct hps_correction c = { 0 };
    const struct hps_job_config two = { .nparts = 1, .part = { { 0, 2 } } };
    const struct hps_job_config four = { .nparts = 1, .part = { { 0, 4 } } };

    (void)state;
    assert_true(hps_correction_of(&c, &two) == 1);
    hps_correction_add(&c, &two, 4);
    assert_true(fabs(hps_correction_of(&c, &four) - 2) < 1e-12);        /* half of the logarithm */
    assert_true(fabs(hps_correction_of(&c, &two) - pow(2, 1.5)) < 1e-12);
    for (int i = 0; i < 2000; i++)
        hps_correction_add(&c, &two, 4);
    assert_true(fabs(hps_correction_of(&c, &two) - 4) < 0.01);
    hps_correction_done(&c);
}

static int leave_none(void **state)
{
    (void)state;
    assert_int_equal(hps_mem_held_bytes(), 0);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_squares), cmocka_unit_test(a_speed),
        cmocka_unit_test(configurations), cmocka_unit_test(no_configurations),
        cmocka_unit_test(asked), cmocka_unit_test(fitted), cmocka_unit_test(corrections),
    };

    return cmocka_run_group_tests(tests, NULL, leave_none);
}
