/* Laws: each policy against its definition, on cases small enough for brute force or paper: heSRPT
 * against all schedules of two and three jobs, Gittins against the best of all that know the
 * distribution alone, marginal gain against all ways to share, dominant shares against the example
 * of their paper, queues of attained service by hand; dl2 learns what it is taught, and then to do
 * better, the same for the same seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "tests/lib/jobs_made.h"

/* Every change is free, and nobody is next for having waited. */
static struct hps_policy_facts at_will(void)
{
    struct hps_policy_facts f = { .opt = hps_policy_opt_preset() };

    f.opt.lease_s = 0;
    f.opt.rho_max = 0;
    return f;
}

/* ---- heSRPT ---- */

enum { UNITS = 60, THREE = 3 };

/* The least sum of completion times of m jobs with so much work left, when k units are k^q times as
 * fast as one and shares change where a job ends; over all whole shares. */
static double least_sum(int m, const double *work, double q)
{
    double best = INFINITY, next[THREE];

    if (m == 1) return work[0] * pow(UNITS, -q);
    for (int a = 0; a <= UNITS; a++)
        for (int b = m == 3 ? 0 : UNITS - a; b <= UNITS - a; b++) {
            int k[THREE] = { a, b, UNITS - a - b }, kept = 0;
            double first = INFINITY;
            for (int i = 0; i < m; i++)
                first = fmin(first, work[i] * pow(k[i], -q));
            for (int i = 0; i < m; i++)
                if (work[i] * pow(k[i], -q) > first) next[kept++] = work[i] - first * pow(k[i], q);
            double sum = m * first + (kept > 0 ? least_sum(kept, next, q) : 0);
            best = fmin(best, sum);
        }
    return best;
}

static void hesrpt_is_the_least(void **state)
{
    const double work[][THREE] = { { 1000, 3000, 9000 }, { 5000, 5000, 6000 }, { 10, 20, 4000 } };
    const double power[] = { 0.3, 0.5, 0.8 };
    struct hps_policy_facts facts = at_will();
    struct hps_job_pool *pool = made_pool(1, &(int){ UNITS });

    (void)state;
    for (int m = 2; m <= THREE; m++)
        for (int at = 0; at < 3; at++)
            for (int p = 0; p < 3; p++) {
                struct hps_workload *w = hps_workload_new(m);
                double seconds[UNITS];
                for (int i = 0; i < m; i++) {
                    for (int k = 0; k < UNITS; k++)
                        seconds[k] = work[at][i] * pow(k + 1, -power[p]);
                    made_job(w, i, 0, UNITS, seconds);
                }
                double got = m * made_mean_jct(w, pool, "hesrpt", &facts);
                double least = least_sum(m, work[at], power[p]);
                if (got < least * (1 - 1e-9) || got > least * 1.002)
                    fail_msg("%d jobs, %g: %.9g, least is %.9g", m, power[p], got, least);
                hps_workload_free(w);
            }
    hps_job_pool_free(pool);
}

/* ---- Gittins ---- */

/* Sizes 1..MOST seconds, each as likely as weight / sum of weights. */
enum { MOST = 5 };
static const int *weight;

static double above(int a)
{
    double sum = 0;

    for (int s = a + 1; s <= MOST; s++)
        sum += weight[s - 1];
    return sum;
}

static double alone(int a)
{
    double sum = 0;

    for (int s = a + 1; s <= MOST; s++)
        sum += weight[s - 1] * (s - a);
    return sum / above(a);
}

/* The least expected sum of what is to come of two jobs that ran a and b seconds. */
static double best_of_two(int a, int b)
{
    double first = INFINITY, second = INFINITY;

    if (above(a) > 0) {
        double ends = weight[a] / above(a);
        first = 2 + ends * alone(b) + (ends < 1 ? (1 - ends) * best_of_two(a + 1, b) : 0);
    }
    if (above(b) > 0) {
        double ends = weight[b] / above(b);
        second = 2 + ends * alone(a) + (ends < 1 ? (1 - ends) * best_of_two(a, b + 1) : 0);
    }
    return fmin(first, second);
}

static void gittins_is_the_best_that_one_can_know(void **state)
{
    static const int weights[][MOST] = { { 1, 1, 1, 1, 1 }, { 6, 0, 0, 0, 2 }, { 1, 5, 0, 0, 3 },
                                         { 0, 0, 1, 0, 1 }, { 3, 1, 0, 4, 1 } };
    struct hps_job_pool *pool = made_pool(1, &(int){ 1 });
    double sample[64];

    (void)state;
    for (int at = 0; at < 5; at++) {
        struct hps_policy_facts facts = at_will();
        double sum = 0;
        weight = weights[at];
        for (int s = 0; s < MOST; s++)
            for (int k = 0; k < weight[s]; k++)
                sample[facts.nsample++] = s + 1;
        facts.sample = sample;
        facts.opt.quantum_s = 1;
        for (int x = 0; x < facts.nsample; x++)
            for (int y = 0; y < facts.nsample; y++) {
                struct hps_workload *w = hps_workload_new(2);
                made_rigid(w, 0, 0, 1, sample[x]);
                made_rigid(w, 1, 0, 1, sample[y]);
                sum += 2 * made_mean_jct(w, pool, "gittins", &facts);
                hps_workload_free(w);
            }
        double mean = sum / (facts.nsample * facts.nsample);
        if (fabs(mean - best_of_two(0, 0)) > 1e-9)
            fail_msg("distribution %d: %.12g, best is %.12g", at, mean, best_of_two(0, 0));
    }
    hps_job_pool_free(pool);
}

/* ---- shares ---- */

enum { JOBS = 3, MANY = 7 };

static struct hps_job_decision first_decision(const struct hps_workload *w,
                                              const struct hps_job_pool *pool, const char *policy,
                                              const struct hps_policy_facts *facts)
{
    struct hps_job_decision d = { hps_mem_new((size_t)w->n, sizeof *d.config), INFINITY };
    struct hps_job_view view = { .pool = pool, .n = w->n };

    view.job = hps_mem_new((size_t)w->n, sizeof *view.job);
    for (int i = 0; i < w->n; i++)
        view.job[i] = (struct hps_job_state){ .job = &w->job[i], .left = 1, .config = -1 };
    hps_policy_find(policy)->decide(&view, facts, &d);
    hps_mem_free(view.job);
    return d;
}

/* With fewer and fewer seconds gained by each unit more, greed gives the least sum of seconds. */
static void marginal_gain_is_the_least_sum(void **state)
{
    struct hps_policy_facts facts = at_will();
    struct hps_job_pool *pool = made_pool(1, &(int){ MANY });

    (void)state;
    for (uint64_t k = 0; k < 200; k++) {
        struct hps_workload *w = hps_workload_new(JOBS);
        double seconds[MANY], got = 0, least = INFINITY;
        for (int i = 0; i < JOBS; i++) {
            double gain[MANY];
            for (int u = 0; u < MANY; u++)
                gain[u] = hps_rng_real(hps_rng_key(k, "gain"), (uint64_t)(i * MANY + u));
            seconds[MANY - 1] = 1;
            for (int u = MANY - 2; u >= 0; u--)         /* each gain less than the one before */
                seconds[u] = seconds[u + 1] + (u == MANY - 2 ? gain[u] : gain[u] +
                                               seconds[u + 1] - seconds[u + 2]);
            made_job(w, i, 0, MANY, seconds);
        }
        struct hps_job_decision d = first_decision(w, pool, "optimus", &facts);
        for (int i = 0; i < JOBS; i++)
            got += w->job[i].config[d.config[i]].seconds;
        for (int a = 1; a <= MANY - 2; a++)
            for (int b = 1; a + b < MANY; b++)
                least = fmin(least, w->job[0].config[a - 1].seconds +
                                        w->job[1].config[b - 1].seconds +
                                        w->job[2].config[MANY - a - b - 1].seconds);
        assert_true(fabs(got / least - 1) < 1e-12);
        hps_mem_free(d.config);
        hps_workload_free(w);
    }
    hps_job_pool_free(pool);
}

/* n tasks of a CPUs and b GB each. */
static void tasks(struct hps_workload *w, int i, int n, int a, int b)
{
    double seconds[16];

    for (int k = 0; k < n; k++)
        seconds[k] = 100.0 / (k + 1);
    made_job(w, i, 0, n, seconds);
    for (int k = 0; k < n; k++) {
        struct hps_job_config *c = &w->job[i].config[k];
        c->nparts = 2;
        c->part[0] = (struct hps_config_part){ 0, a * (k + 1) };
        c->part[1] = (struct hps_config_part){ 1, b * (k + 1) };
    }
}

/* 9 CPUs and 18 GB, tasks of <1, 4> and <3, 1>: three and two of them (section 4.1 there). */
static void dominant_shares_are_those_of_the_paper(void **state)
{
    struct hps_policy_facts facts = at_will();
    struct hps_job_pool *pool = made_pool(2, (int[]){ 9, 18 });
    struct hps_workload *w = hps_workload_new(2);

    (void)state;
    tasks(w, 0, 9, 1, 4);
    tasks(w, 1, 3, 3, 1);
    struct hps_job_decision d = first_decision(w, pool, "drf", &facts);
    assert_int_equal(d.config[0], 3 - 1);
    assert_int_equal(d.config[1], 2 - 1);
    hps_mem_free(d.config);
    hps_workload_free(w);
    hps_job_pool_free(pool);
}

/* ---- queues ---- */

static void ends_are(const char *policy, const struct hps_policy_facts *facts,
                     const struct hps_workload *w, const double *end)
{
    struct hps_job_pool *pool = made_pool(1, &(int){ 2 });
    struct hps_job_outcomes *o = made_run(w, pool, hps_policy_find(policy), facts, 0);

    for (int i = 0; i < w->n; i++)
        if (fabs(o->job[i].end_s - end[i]) > 1e-9)
            fail_msg("%s: job %d ends at %g, not %g", policy, i, o->job[i].end_s, end[i]);
    hps_outcomes_free(o);
    hps_job_pool_free(pool);
}

/* Two units; queues end at 20 and 60 unit-seconds. Job 0 wants 2 units for 50 s, jobs 1 and 2 come
 * at 5 s and want 2 for 10 s and 1 for 100 s. */
static void queues_by_hand(void **state)
{
    struct hps_policy_facts facts = at_will();
    struct hps_workload *w = hps_workload_new(3);

    (void)state;
    made_rigid(w, 0, 0, 2, 50);
    made_rigid(w, 1, 5, 2, 10);
    made_rigid(w, 2, 5, 1, 100);
    facts.opt.queue[0] = 20;
    facts.opt.queue[1] = 60;
    /* 0 until 10 (20 unit-seconds); 1 until 20; 2 until 40 (20 of its own); then 0, that is in the
     * same queue and came first, until 60 (60); then 2 until 100 (60), both in the last: 0 until
     * 120, and 2 has 40 of its 100 seconds left */
    ends_are("tiresias", &facts, w, (double[]){ 120, 20, 160 });
    /* by seconds: 0 until 20; 1 until 30; 2 until 50; 0, second queue, until its end; 2 */
    facts.opt.by_units = false;
    ends_are("tiresias", &facts, w, (double[]){ 80, 30, 160 });
    /* as at first, but at whole half minutes: 0 until 30, and in the last queue; 1 until 40; 2 at
     * 60 in the second, at 120 in the last, behind 0 */
    facts.opt.by_units = true;
    facts.opt.tick_s = 30;
    ends_are("tiresias", &facts, w, (double[]){ 140, 40, 160 });
    /* up again after waiting as long as it ran: 0 until 10, 1 until 20; 0 waited 10, until 30; 2
     * until 50; 0 waited 20, and goes on in the second queue, until 2 waited 20 at 70; at 90 both
     * are in the second, 0 until its end */
    facts.opt.tick_s = 0;
    facts.opt.promote = 1;
    ends_are("tiresias", &facts, w, (double[]){ 100, 20, 160 });
    hps_workload_free(w);
}

/* ---- what dl2 learns ---- */

/* Jobs of up to four units that come in turn, and share six. */
static struct hps_workload *elastic_jobs(int n)
{
    struct hps_workload *w = hps_workload_new(n);

    for (int i = 0; i < n; i++) {
        double seconds[4], work = 50 + 100 * hps_rng_real(hps_rng_key(1, "work"), (uint64_t)i);
        for (int k = 0; k < 4; k++)
            seconds[k] = work * pow(k + 1, -0.6);
        made_job(w, i, 12 * i, 4, seconds);
    }
    return w;
}

static double after(int taught, int tried, const struct hps_workload *w,
                    const struct hps_job_pool *pool)
{
    struct hps_policy_facts facts = at_will();

    facts.opt.dl2_taught = taught;
    facts.opt.dl2_tried = tried;
    return made_mean_jct(w, pool, "dl2", &facts);
}

static void dl2_learns_what_it_is_taught(void **state)
{
    struct hps_policy_facts facts = at_will();
    struct hps_job_pool *pool = made_pool(1, &(int){ 6 });
    struct hps_workload *w = elastic_jobs(40);
    double fair = made_mean_jct(w, pool, "drf", &facts);
    double untaught = after(0, 0, w, pool), taught = after(40, 0, w, pool);
    double tried = after(40, 40, w, pool);

    (void)state;
    if (fabs(taught / fair - 1) > 0.05 || fabs(untaught / fair - 1) < fabs(taught / fair - 1))
        fail_msg("untaught %g, taught %g, drf %g", untaught, taught, fair);
    if (tried > 1.001 * taught) fail_msg("tried %g, taught %g, drf %g", tried, taught, fair);
    assert_true(after(2, 4, w, pool) == after(2, 4, w, pool));
    hps_workload_free(w);
    hps_job_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hesrpt_is_the_least),
        cmocka_unit_test(gittins_is_the_best_that_one_can_know),
        cmocka_unit_test(marginal_gain_is_the_least_sum),
        cmocka_unit_test(dominant_shares_are_those_of_the_paper),
        cmocka_unit_test(queues_by_hand),
        cmocka_unit_test(dl2_learns_what_it_is_taught),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    return failed || hps_mem_held_bytes() != 0;
}
