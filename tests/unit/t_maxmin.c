/* Laws: the fractions of time are those of a schedule, the worst-off job has what the best of all
 * vertices of the linear program gives it, and on one type nobody who could have more without
 * taking from one that has less has less; jobs of equal speeds have equal fractions; over a long
 * time a job's rounds on each type come to its fractions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "jobs/maxmin.h"
#include "tests/lib/jobs_made.h"

enum { JOBS = 3, TYPES = 2, VARS = JOBS * TYPES + 1, ROWS = 2 * JOBS + TYPES + VARS };

struct drawn {
    struct hps_job_pool *pool;
    struct hps_workload *w;
    struct hps_job_view view;
};

/* n jobs of 1 to 3 units on T types, each as fast as is drawn. */
static struct drawn draw(uint64_t key, int n, int T, double priority)
{
    int units[3] = { 3 + (int)hps_rng_below(key, 0, 3), 3 + (int)hps_rng_below(key, 1, 3), 4 };
    struct drawn x = { .pool = made_pool(T, units), .w = hps_workload_new(n) };

    x.view = (struct hps_job_view){ 0, 0, x.pool, n, NULL };
    x.view.job = hps_mem_new((size_t)n, sizeof *x.view.job);
    for (int i = 0; i < n; i++) {
        struct hps_pool_job *job = &x.w->job[i];
        uint64_t k = hps_rng_sub(key, (uint64_t)i + 1);
        int g = 1 + (int)hps_rng_below(k, 0, 3);
        made_job(x.w, i, 0, T, (double[]){ 1, 1, 1 });
        for (int t = 0; t < T; t++) {
            job->config[t].part[0] = (struct hps_config_part){ t, g };
            job->config[t].seconds = 1 + 99 * hps_rng_real(k, (uint64_t)t + 1);
        }
        job->priority = 1 + priority * (i % 2);
        x.view.job[i] = (struct hps_job_state){ .job = job, .left = 1, .config = -1 };
    }
    return x;
}

static void drop(struct drawn *x)
{
    hps_mem_free(x->view.job);
    hps_workload_free(x->w);
    hps_job_pool_free(x->pool);
}

/* What a fraction of its time on type t is worth to a job. */
static double worth(const struct drawn *x, int i, int t)
{
    const struct hps_pool_job *job = &x->w->job[i];
    double equal = 0, all = hps_job_pool_units(x->pool);

    for (int s = 0; s < x->pool->T; s++)
        equal += x->pool->type[s].units / all / job->config[s].seconds;
    return job->config[0].part[0].units / (job->priority * equal * job->config[t].seconds);
}

static double worst_off(const struct drawn *x, const double *X)
{
    double least = INFINITY;

    for (int i = 0; i < x->w->n; i++) {
        double has = 0;
        for (int t = 0; t < x->pool->T; t++)
            has += worth(x, i, t) * X[i * x->pool->T + t];
        least = fmin(least, has);
    }
    return least;
}

static void is_a_schedule(const struct drawn *x, const double *X)
{
    int T = x->pool->T;

    for (int i = 0; i < x->w->n; i++) {
        double time = 0;
        for (int t = 0; t < T; t++) {
            assert_true(X[i * T + t] >= 0);
            time += X[i * T + t];
        }
        assert_true(time <= 1 + 1e-6);
    }
    for (int t = 0; t < T; t++) {
        double units = 0;
        for (int i = 0; i < x->w->n; i++)
            units += X[i * T + t] * x->w->job[i].config[t].part[0].units;
        assert_true(units <= x->pool->type[t].units * (1 + 1e-6));
    }
}

/* ---- the vertices ---- */

/* All rows of a x <= b, the signs of the variables among them. */
static void program(const struct drawn *x, double a[ROWS][VARS], double *b)
{
    for (int r = 0; r < ROWS; r++) {
        b[r] = 0;
        for (int v = 0; v < VARS; v++)
            a[r][v] = 0;
    }
    for (int i = 0; i < JOBS; i++) {
        a[i][VARS - 1] = 1;
        b[JOBS + i] = 1;
        for (int t = 0; t < TYPES; t++) {
            a[i][i * TYPES + t] = -worth(x, i, t);
            a[JOBS + i][i * TYPES + t] = 1;
            a[2 * JOBS + t][i * TYPES + t] = x->w->job[i].config[t].part[0].units;
        }
    }
    for (int t = 0; t < TYPES; t++)
        b[2 * JOBS + t] = x->pool->type[t].units;
    for (int v = 0; v < VARS; v++)
        a[ROWS - VARS + v][v] = -1;
}

/* The point where these rows hold with equality; false: there is not one. */
static bool cross(double a[ROWS][VARS], const double *b, const int *row, double *x)
{
    double m[VARS][VARS + 1];

    for (int i = 0; i < VARS; i++) {
        for (int v = 0; v < VARS; v++)
            m[i][v] = a[row[i]][v];
        m[i][VARS] = b[row[i]];
    }
    for (int i = 0; i < VARS; i++) {
        int p = i;
        for (int r = i + 1; r < VARS; r++)
            if (fabs(m[r][i]) > fabs(m[p][i])) p = r;
        if (fabs(m[p][i]) < 1e-9) return false;
        for (int v = 0; v <= VARS; v++) {
            double swap = m[i][v];
            m[i][v] = m[p][v];
            m[p][v] = swap;
        }
        for (int r = 0; r < VARS; r++) {
            double f = r == i ? 0 : m[r][i] / m[i][i];
            for (int v = i; v <= VARS; v++)
                m[r][v] -= f * m[i][v];
        }
    }
    for (int i = 0; i < VARS; i++)
        x[i] = m[i][VARS] / m[i][i];
    return true;
}

static double best_vertex(double a[ROWS][VARS], const double *b, int *row, int n, int next)
{
    double best = 0, x[VARS];

    for (int r = next; n < VARS && r < ROWS; r++) {
        row[n] = r;
        best = fmax(best, best_vertex(a, b, row, n + 1, r + 1));
    }
    if (n < VARS || !cross(a, b, row, x)) return best;
    for (int r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int v = 0; v < VARS; v++)
            sum += a[r][v] * x[v];
        if (sum > b[r] + 1e-7) return best;
    }
    return fmax(best, x[VARS - 1]);
}

static void the_worst_off_has_the_most(void **state)
{
    (void)state;
    for (uint64_t k = 0; k < 40; k++) {
        struct drawn x = draw(hps_rng_key(k, "maxmin"), JOBS, TYPES, 1);
        double a[ROWS][VARS], b[ROWS], X[JOBS * TYPES];
        int row[VARS];
        double got = hps_job_maxmin(&x.view, X);
        is_a_schedule(&x, X);
        program(&x, a, b);
        double best = best_vertex(a, b, row, 0, 0);
        if (fabs(got / best - 1) > 1e-6 || fabs(worst_off(&x, X) / best - 1) > 1e-6)
            fail_msg("case %d: %.9g, has %.9g, best is %.9g", (int)k, got, worst_off(&x, X), best);
        drop(&x);
    }
}

/* ---- one type ---- */

static void on_one_type_nobody_could_have_more(void **state)
{
    enum { MANY = 9 };

    (void)state;
    for (uint64_t k = 0; k < 200; k++) {
        struct drawn x = draw(hps_rng_key(k, "one"), 1 + (int)(k % MANY), 1, 2);
        double X[MANY], level = 0, units = 0;
        double least = hps_job_maxmin(&x.view, X);
        is_a_schedule(&x, X);
        assert_true(fabs(worst_off(&x, X) / least - 1) < 1e-9);
        for (int i = 0; i < x.w->n; i++) {
            level = fmax(level, worth(&x, i, 0) * X[i]);
            units += X[i] * x.w->job[i].config[0].part[0].units;
        }
        bool all = fabs(units / x.pool->type[0].units - 1) < 1e-9;
        for (int i = 0; i < x.w->n; i++)        /* all of its time, or as much as anyone */
            assert_true(fabs(X[i] - 1) < 1e-9 ||
                        (all && fabs(worth(&x, i, 0) * X[i] / level - 1) < 1e-9));
        drop(&x);
    }
}

/* ---- many ---- */

/* Copies of one job share what it has alone; many different jobs are no more than a little off. */
static void equals_have_equal_fractions(void **state)
{
    enum { COPIES = 30 };
    struct drawn x = draw(hps_rng_key(1, "many"), COPIES, TYPES, 0);
    double X[COPIES * TYPES];

    (void)state;
    for (int i = 2; i < COPIES; i++)
        for (int t = 0; t < TYPES; t++)
            x.w->job[i].config[t] = x.w->job[i % 2].config[t];
    double least = hps_job_maxmin(&x.view, X);
    is_a_schedule(&x, X);
    assert_true(fabs(worst_off(&x, X) / least - 1) < 1e-6);
    for (int i = 2; i < COPIES; i++)
        for (int t = 0; t < TYPES; t++)
            assert_true(X[i * TYPES + t] == X[i % 2 * TYPES + t]);
    drop(&x);
}

/* Two long jobs of one unit, one of which is at home on each of two types of one unit: each is
 * there all of the time. Three jobs on one type of two units have two thirds of it each. */
static void rounds_come_to_fractions(void **state)
{
    struct hps_policy_facts facts = { .opt = hps_policy_opt_preset() };
    struct hps_job_pool *pool = made_pool(2, (int[]){ 1, 1 });
    struct hps_workload *w = hps_workload_new(2);

    (void)state;
    facts.opt.quantum_s = 1;
    for (int i = 0; i < 2; i++) {
        made_job(w, i, 0, 2, (double[]){ i == 0 ? 100 : 300, i == 0 ? 300 : 100 });
        w->job[i].config[0].part[0] = (struct hps_config_part){ 0, 1 };
        w->job[i].config[1].part[0] = (struct hps_config_part){ 1, 1 };
    }
    double mean = made_mean_jct(w, pool, "maxmin", &facts);
    if (fabs(mean - 100) > 1e-6) fail_msg("%.12g s, not 100", mean);
    hps_workload_free(w);
    hps_job_pool_free(pool);
    pool = made_pool(1, &(int){ 2 });
    w = hps_workload_new(3);
    for (int i = 0; i < 3; i++)
        made_rigid(w, i, 0, 1, 100);
    assert_true(fabs(made_mean_jct(w, pool, "maxmin", &facts) - 150) < 1.1);
    hps_workload_free(w);
    hps_job_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worst_off_has_the_most),
        cmocka_unit_test(on_one_type_nobody_could_have_more),
        cmocka_unit_test(equals_have_equal_fractions),
        cmocka_unit_test(rounds_come_to_fractions),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    return failed || hps_mem_held_bytes() != 0;
}
