/* t_small_pools: few jobs on few units, beside the best of all schedules that decide where a job
 * arrives or ends: the bound is not above it, the schedule of `prices` is not below it, and not far
 * above it. An argument is how many cases are drawn, a second one how many jobs
 * they have at most, a third one how many seconds a bound is searched for. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "jobs/bound.h"
#include "jobs/simulate.h"
#include "tests/lib/draw.h"

enum { JOBS = 6, CONFIGS = 3, UNITS = 4 };

static int cases = 24, jobs_max = 4;
static double search_s = 0.02;

/* ---- cases ---- */

/* More units are faster, by less than their number. */
static void draw_job(struct draw *d, struct hps_pool_job *job, int units, bool at_once)
{
    double one = draw_real(d, 10, 100), power = draw_real(d, 0.3, 1);

    job->name = hps_mem_text("job");
    job->model = hps_mem_text("");
    job->arrive_s = at_once ? 0 : draw_real(d, 0, 80);
    job->config = hps_mem_new(CONFIGS, sizeof *job->config);
    for (int k = 1; k <= units && job->nconfig < CONFIGS; k *= 2)
        job->config[job->nconfig++] = (struct hps_job_config){
            .nparts = 1, .part = { { 0, k } }, .seconds = one / pow(k, power) };
}

static struct hps_workload *draw_workload(struct draw *d, int units, bool at_once)
{
    struct hps_workload *w = hps_workload_new(draw_whole(d, 2, jobs_max));

    for (int j = 0; j < w->n; j++)
        draw_job(d, &w->job[j], units, at_once);
    hps_workload_sort(w);
    return w;
}

/* ---- the best of all schedules ---- */

struct search {
    const struct hps_workload *w;
    int units;
    double best;                /* the least sum of ends that was found */
    double least[JOBS], area[JOBS];     /* seconds, unit-seconds of all of a job's work, at best */
};

struct state {
    double now, ends, left[JOBS];       /* ends: the sum of those that there were */
    int config[JOBS];           /* -1: it waits */
};

/* No less is the sum of all ends: each job alone at its best, or the least areas one after the
 * other on all units. */
static double at_least(const struct search *s, const struct state *x)
{
    double alone = x->ends, queue = x->ends, area[JOBS], sum = 0, soonest = INFINITY;
    int n = 0;

    for (int j = 0; j < s->w->n; j++) {
        if (x->left[j] <= 0) continue;
        double from = fmax(x->now, s->w->job[j].arrive_s), a = x->left[j] * s->area[j];
        int i = n++;
        alone += from + x->left[j] * s->least[j];
        soonest = fmin(soonest, from);
        for (; i > 0 && area[i - 1] > a; i--)
            area[i] = area[i - 1];
        area[i] = a;
    }
    for (int i = 0; i < n; i++)
        queue += soonest + (sum += area[i]) / s->units;
    return fmax(alone, queue);
}

static void next_event(struct search *s, const struct state *x);

/* Configurations of jobs j and behind it, in all ways. */
static void assign(struct search *s, struct state *x, int j, int room)
{
    if (j == s->w->n) {
        next_event(s, x);
        return;
    }
    x->config[j] = -1;
    if (x->left[j] > 0 && s->w->job[j].arrive_s <= x->now)
        for (int c = s->w->job[j].nconfig; c-- > 0;) {
            int units = s->w->job[j].config[c].part[0].units;
            if (units > room) continue;
            x->config[j] = c;
            assign(s, x, j + 1, room - units);
        }
    x->config[j] = -1;
    assign(s, x, j + 1, room);
}

static void next_event(struct search *s, const struct state *x)
{
    struct state y = *x;
    double next = INFINITY;
    bool more = false;

    for (int j = 0; j < s->w->n; j++) {
        const struct hps_pool_job *job = &s->w->job[j];
        if (job->arrive_s > x->now) next = fmin(next, job->arrive_s);
        if (x->config[j] >= 0)
            next = fmin(next, x->now + x->left[j] * job->config[x->config[j]].seconds);
    }
    if (isinf(next)) return;                            /* nobody runs, nobody comes */
    y.now = next;
    for (int j = 0; j < s->w->n; j++) {
        if (x->config[j] >= 0)
            y.left[j] -= (next - x->now) / s->w->job[j].config[x->config[j]].seconds;
        if (x->left[j] > 0 && y.left[j] < 1e-12) {
            y.left[j] = 0;
            y.ends += next;
        }
        more = more || y.left[j] > 0;
    }
    if (!more) s->best = fmin(s->best, y.ends);
    if (more && at_least(s, &y) < s->best * (1 - 1e-12)) assign(s, &y, 0, s->units);
}

/* The least mean completion time; `known` is that of some schedule. */
static double optimum(const struct hps_workload *w, int units, double known)
{
    struct search s = { .w = w, .units = units };
    struct state x = { 0 };
    double arrivals = 0;

    for (int j = 0; j < w->n; j++) {
        const struct hps_pool_job *job = &w->job[j];
        s.least[j] = s.area[j] = INFINITY;
        for (int c = 0; c < job->nconfig; c++) {
            s.least[j] = fmin(s.least[j], job->config[c].seconds);
            s.area[j] = fmin(s.area[j], job->config[c].seconds * job->config[c].part[0].units);
        }
        x.left[j] = 1;
        arrivals += job->arrive_s;
    }
    s.best = (known * w->n + arrivals) * (1 + 1e-9);
    assign(&s, &x, 0, units);
    return (s.best - arrivals) / w->n;
}

/* ---- the law ---- */

static double simulated(const struct hps_workload *w, const struct hps_job_pool *pool)
{
    struct hps_policy_facts facts = { .opt = hps_policy_opt_preset() };
    struct hps_simulation s = { .workload = w, .pool = pool,
                                .policy = hps_policy_find("prices"), .facts = &facts };
    struct hps_job_outcomes *o;

    assert_int_equal(hps_simulate(&s, &o), HPS_OK);
    double mean = hps_outcomes_figures(o).mean_jct_s;
    hps_outcomes_free(o);
    return mean;
}

struct ratios {
    double sum, worst;
};

static void count(struct ratios *r, double x)
{
    r->sum += x;
    r->worst = fmax(r->worst, x);
}

static void some(const char *what, bool at_once, uint64_t seed)
{
    struct ratios schedule = { 0 }, bound = { 0 };

    for (int k = 0; k < cases; k++) {
        struct draw d = { hps_rng_sub(seed, (uint64_t)k), 0 };
        int units = draw_whole(&d, 2, UNITS);
        struct hps_job_pool *pool = hps_job_pool_grid(1, units);
        struct hps_workload *w = draw_workload(&d, units, at_once);
        struct hps_job_bound *b = hps_bound_find(w, pool, HPS_JCT, 0, search_s);
        double got = simulated(w, pool), best = optimum(w, units, got);
        if (b->value > best * (1 + 1e-9) || best > got * (1 + 1e-6))
            fail_msg("%s, case %d: %g <= %g <= %g does not hold", what, k, b->value, best,
                     got);
        count(&schedule, got / best);
        count(&bound, best / b->value);
        hps_bound_free(b);
        hps_workload_free(w);
        hps_job_pool_free(pool);
    }
    printf("%s: %d cases of up to %d jobs: schedule over optimum %.4f, at most %.4f; "
           "optimum over bound %.4f, at most %.4f\n", what, cases, jobs_max,
           schedule.sum / cases, schedule.worst, bound.sum / cases, bound.worst);
    fflush(stdout);
    assert_true(schedule.worst < 1.5);
}

static void all_present(void **state)
{
    (void)state;
    some("all present", true, 1);
}

static void arriving(void **state)
{
    (void)state;
    some("arriving", false, 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_present), cmocka_unit_test(arriving) };

    if (argc > 1) cases = atoi(argv[1]);
    if (argc > 2) jobs_max = atoi(argv[2]) < JOBS ? atoi(argv[2]) : JOBS;
    if (argc > 3) search_s = atof(argv[3]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
