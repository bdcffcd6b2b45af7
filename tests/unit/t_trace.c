/* t_trace: a pool of several types gets each job's speeds by the names of its types, without regard
 * to case; a type that has no measured speed of a model is barred for it; a type that no table has
 * is left alone; a pool without any type of the tables is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "jobs/trace.h"

/* Two types, `units` of each on a node of its own. */
static struct hps_job_pool *pool_of(const char *a, const char *b, int units)
{
    struct hps_job_pool *pool = hps_mem_new(1, sizeof *pool);
    const char *names[] = { a, b };

    pool->T = pool->nnode = 2;
    pool->type = hps_mem_new(2, sizeof *pool->type);
    pool->units = hps_mem_new(4, sizeof *pool->units);
    for (int t = 0; t < 2; t++) {
        pool->type[t] = (struct hps_job_type){ .name = hps_mem_text(names[t]), .units = units };
        pool->units[3 * t] = units;
    }
    return pool;
}

static enum hps_status load(struct hps_workload **w, const struct hps_job_pool *pool,
                            const char *trace, const char *speeds)
{
    const char *srcdir = getenv("srcdir");
    char *path = hps_mem_print("%s/inputs/jobs/%s", srcdir ? srcdir : ".", trace);
    char *table = hps_mem_print("%s/inputs/jobs/%s", srcdir ? srcdir : ".", speeds);
    struct hps_trace_opt opt = { .path = path, .nspeeds = 1, .speeds = &table, .pool = pool };
    enum hps_status st = hps_trace_load(w, &opt);

    hps_mem_free(path);
    hps_mem_free(table);
    return st;
}

/* Configurations of a job on a type. */
static int configs(const struct hps_pool_job *job, int type)
{
    int n = 0;

    for (int c = 0; c < job->nconfig; c++)
        n += job->config[c].part[0].type == type;
    return n;
}

static void bars_what_was_not_measured(void **state)
{
    struct hps_job_pool *pool = pool_of("t4", "a100", 64);
    struct hps_workload *w = NULL;

    (void)state;
    assert_int_equal(load(&w, pool, "elasticflow_60.csv", ""), HPS_OK);
    assert_int_equal(w->n, 60);
    for (int i = 0; i < w->n; i++) {
        const struct hps_pool_job *job = &w->job[i];
        assert_true(configs(job, 1) == 6 || configs(job, 1) == 7);
        assert_int_equal(configs(job, 0), 0);   /* a T4 was measured with other batches */
        assert_true(job->deadline_s > job->arrive_s);
    }
    hps_workload_free(w);
    hps_job_pool_free(pool);
}

static void has_rigid_jobs_on_each_type(void **state)
{
    struct hps_job_pool *pool = pool_of("V100", "cpu", 8);
    struct hps_workload *w = NULL;

    (void)state;
    assert_int_equal(load(&w, pool, "gavel_medium.trace", "gavel_speeds.json"), HPS_OK);
    for (int i = 0; i < w->n; i++) {
        assert_int_equal(w->job[i].nconfig, 1);
        assert_int_equal(w->job[i].config[0].part[0].type, 0);
    }
    hps_workload_free(w);
    hps_job_pool_free(pool);
    pool = pool_of("k80", "V100", 8);
    assert_int_equal(load(&w, pool, "gavel_medium.trace", "gavel_speeds.json"), HPS_OK);
    for (int i = 0; i < w->n; i++) {
        const struct hps_pool_job *job = &w->job[i];
        const struct hps_job_config *asked = &job->config[job->asked];
        for (int c = 0; c < job->nconfig; c++) {
            assert_int_equal(hps_config_units(&job->config[c]), hps_config_units(asked));
            assert_true(job->config[c].seconds >= asked->seconds);
        }
    }
    hps_workload_free(w);
    hps_job_pool_free(pool);
}

static void refuses_a_pool_of_other_types(void **state)
{
    struct hps_job_pool *pool = pool_of("cpu", "gpu", 64);
    struct hps_workload *w = NULL;

    (void)state;
    assert_int_equal(load(&w, pool, "pollux_workload_1.csv", "pollux_speeds.csv"), HPS_DECK);
    assert_null(w);
    hps_job_pool_free(pool);
}

static void fits_configurations_to_the_pool(void **state)
{
    struct hps_job_pool *pool = pool_of("T4", "cpu", 4);
    struct hps_workload *w = NULL;

    (void)state;
    assert_int_equal(load(&w, pool, "pollux_workload_1.csv", "pollux_speeds.csv"), HPS_OK);
    assert_int_equal(w->n, 160);
    for (int i = 0; i < w->n; i++) {
        const struct hps_pool_job *job = &w->job[i];
        assert_int_equal(job->nconfig, 4);
        assert_true(hps_config_units(&job->config[job->asked]) <= 4);
        assert_true(fabs(job->config[0].seconds / job->config[0].step_s) > 1);
        assert_true(i == 0 || job->arrive_s >= w->job[i - 1].arrive_s);
    }
    hps_workload_free(w);
    hps_job_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bars_what_was_not_measured),
        cmocka_unit_test(has_rigid_jobs_on_each_type),
        cmocka_unit_test(refuses_a_pool_of_other_types),
        cmocka_unit_test(fits_configurations_to_the_pool),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
