/* Laws: elasticflow admits a job just when all that are admitted can have units to meet their
 * deadlines, by hand; a job that is admitted meets its deadline where restarts are free; more
 * deadlines are met than by jobs in the order of arrival. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "tests/lib/jobs_made.h"

enum { UNITS = 4, JOBS = 10 };

static const double linear[UNITS] = { 100, 50, 100.0 / 3, 25 };

static struct hps_job_outcomes *run(const struct hps_workload *w, const struct hps_job_pool *pool,
                                    const char *policy)
{
    struct hps_policy_facts facts = { .opt = hps_policy_opt_preset() };

    facts.opt.lease_s = 0;
    return made_run(w, pool, hps_policy_find(policy), &facts, 0);
}

/* Four units, and jobs of 100 unit-seconds that n units do n times as fast: one wants to end at
 * 100 s, one at 50 s. A third can end at 52 s, when the first has two units from 50 s on. When two
 * want to end at 49 s there are 196 unit-seconds for 200. */
static void admission_by_hand(void **state)
{
    struct hps_job_pool *pool = made_pool(1, &(int){ UNITS });

    (void)state;
    for (int late = 0; late < 2; late++) {
        struct hps_workload *w = hps_workload_new(3);
        for (int i = 0; i < 3; i++)
            made_job(w, i, 0, UNITS, linear);
        w->job[0].deadline_s = 100;
        w->job[1].deadline_s = late ? 50 : 49;
        w->job[2].deadline_s = late ? 52 : 49;
        struct hps_job_outcomes *o = run(w, pool, "elasticflow");
        assert_true(o->job[0].end_s <= 100 + 1e-9);
        assert_true(o->job[1].end_s <= w->job[1].deadline_s + 1e-9);
        assert_true(late ? o->job[2].end_s <= 52 + 1e-9 : o->job[2].end_s > 49);
        hps_outcomes_free(o);
        hps_workload_free(w);
    }
    hps_job_pool_free(pool);
}

/* A spare unit goes to the job that loses no time by it: the other is slowed by speaking. */
static void spare_units_by_hand(void **state)
{
    struct hps_job_pool *pool = made_pool(1, &(int){ 3 });
    struct hps_workload *w = hps_workload_new(2);

    (void)state;
    made_job(w, 0, 0, 2, (double[]){ 100, 90 });
    made_job(w, 1, 0, 2, (double[]){ 100, 50 });
    struct hps_job_outcomes *o = run(w, pool, "elasticflow");
    assert_true(fabs(o->job[1].end_s - 50) < 1e-9);
    assert_true(fabs(o->job[0].end_s - (50 + 45)) < 1e-9);
    hps_outcomes_free(o);
    hps_workload_free(w);
    hps_job_pool_free(pool);
}

static int admitted[JOBS];

static void watch(struct hps_job_view *view, const struct hps_policy_facts *facts,
                  struct hps_job_decision *d)
{
    hps_policy_find("elasticflow")->decide(view, facts, d);
    for (int i = 0; i < view->n; i++)
        admitted[atoi(view->job[i].job->name)] = view->job[i].note[0] > 0;
}

static void the_admitted_are_met(void **state)
{
    const struct hps_policy watched = { .name = "watched", .decide = watch };
    struct hps_policy_facts facts = { .opt = hps_policy_opt_preset() };
    struct hps_job_pool *pool = made_pool(1, &(int){ UNITS });
    int met = 0, by_fifo = 0, refused = 0;

    (void)state;
    facts.opt.lease_s = 0;
    for (uint64_t k = 0; k < 300; k++) {
        struct hps_workload *w = hps_workload_new(JOBS);
        uint64_t key = hps_rng_key(k, "deadlines");
        double at = 0, seconds[UNITS];
        for (int i = 0; i < JOBS; i++) {
            uint64_t one = hps_rng_sub(key, (uint64_t)i);
            double power = 0.5 + 0.5 * hps_rng_real(one, 0), work = 20 + 200 * hps_rng_real(one, 1);
            for (int u = 0; u < UNITS; u++)
                seconds[u] = work * pow(u + 1, -power);
            at += 30 * hps_rng_real(one, 2);
            made_job(w, i, at, UNITS, seconds);
            w->job[i].deadline_s = at + work * (0.4 + hps_rng_real(one, 3));
        }
        struct hps_job_outcomes *o = made_run(w, pool, &watched, &facts, 0);
        struct hps_job_outcomes *fifo = run(w, pool, "fifo");
        for (int i = 0; i < JOBS; i++) {
            refused += !admitted[i];
            if (admitted[i] && o->job[i].end_s > w->job[i].deadline_s + 1e-6)
                fail_msg("case %d: job %d ends at %g, admitted for %g", (int)k, i, o->job[i].end_s,
                         w->job[i].deadline_s);
        }
        met += hps_outcomes_figures(o).met;
        by_fifo += hps_outcomes_figures(fifo).met;
        hps_outcomes_free(fifo);
        hps_outcomes_free(o);
        hps_workload_free(w);
    }
    if (met <= by_fifo || refused < 100)
        fail_msg("met %d, by fifo %d, refused %d", met, by_fifo, refused);
    hps_job_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(admission_by_hand),
        cmocka_unit_test(spare_units_by_hand),
        cmocka_unit_test(the_admitted_are_met),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    return failed || hps_mem_held_bytes() != 0;
}
