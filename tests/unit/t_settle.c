/* Laws: what is settled fits the pool; a lease is kept; a faster configuration gains more than
 * three restarts; nobody is slowed down or stopped but for another that starts or grows; where
 * changes are free, all that the policy wants is done; a job that waited too long starts first,
 * and the policy is asked again when a lease or a job's patience ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "jobs/settle.h"
#include "tests/lib/jobs_made.h"

enum { CASES = 3000, JOBS = 9 };
#define NOW 5000.0

struct drawn {
    struct made_case made;
    struct hps_job_view view;
    struct hps_job_decision d;
    int *target;                /* a copy of what d had */
};

/* Gives jobs configurations, or none, while they fit. */
static void draw_configs(struct drawn *x, uint64_t key, int *config)
{
    struct hps_job_room room = hps_job_room_of(x->made.pool);

    for (int i = 0; i < x->view.n; i++) {
        const struct hps_pool_job *job = x->view.job[i].job;
        int c = (int)hps_rng_below(key, (uint64_t)i, (uint64_t)job->nconfig + 1) - 1;
        config[i] = c >= 0 && hps_job_room_take(&room, &job->config[c]) ? c : -1;
    }
    hps_job_room_done(&room);
}

static struct drawn draw(uint64_t k, double restart_s)
{
    uint64_t key = hps_rng_key(k, "settle");
    struct drawn x = { .made = made_case(hps_rng_sub(key, 1), JOBS), .d.wake_s = INFINITY };
    size_t n = (size_t)x.made.workload->n;

    x.view = (struct hps_job_view){ .now_s = NOW, .restart_s = restart_s, .pool = x.made.pool,
                                    .n = (int)n };
    x.view.job = hps_mem_new(n, sizeof *x.view.job);
    x.d.config = hps_mem_new(n, sizeof *x.d.config);
    x.target = hps_mem_new(n, sizeof *x.target);
    for (size_t i = 0; i < n; i++) {
        double u = hps_rng_real(key, i);
        x.view.job[i] = (struct hps_job_state){ .job = &x.made.workload->job[i], .left = 1 - u,
                                                .since_s = NOW - 100 * u };
    }
    draw_configs(&x, hps_rng_sub(key, 2), x.target);
    for (size_t i = 0; i < n; i++)
        x.view.job[i].config = x.target[i];
    draw_configs(&x, hps_rng_sub(key, 3), x.target);
    for (size_t i = 0; i < n; i++)
        x.d.config[i] = x.target[i];
    return x;
}

static void drop(struct drawn *x)
{
    hps_mem_free(x->target);
    hps_mem_free(x->d.config);
    hps_mem_free(x->view.job);
    made_case_free(&x->made);
}

static bool all_fit(const struct drawn *x)
{
    struct hps_job_room room = hps_job_room_of(x->made.pool);
    bool good = true;

    for (int i = 0; i < x->view.n; i++)
        if (x->d.config[i] >= 0)
            good = good && hps_job_room_take(&room, hps_job_config_of(&x->view.job[i],
                                                                      x->d.config[i]));
    hps_job_room_done(&room);
    return good;
}

/* Seconds that the job's completion comes nearer, its restart not counted. */
static double nearer(const struct drawn *x, int i)
{
    const struct hps_job_state *j = &x->view.job[i];

    return j->left * (j->job->config[j->config].seconds - j->job->config[x->d.config[i]].seconds);
}

static void check(const struct drawn *x, const struct hps_policy_opt *opt)
{
    bool better = false, worse = false;
    double restart_s = x->view.restart_s;

    assert_true(all_fit(x));
    for (int i = 0; i < x->view.n; i++) {
        const struct hps_job_state *j = &x->view.job[i];
        int gets = x->d.config[i];
        assert_true(gets == j->config || gets == x->target[i]);
        if (gets == j->config) continue;
        better = better || j->config < 0;
        if (j->config < 0) continue;
        assert_true(j->since_s + opt->lease_s <= NOW);
        if (gets < 0 || nearer(x, i) <= 0) {
            worse = true;
            continue;
        }
        better = true;
        assert_true(nearer(x, i) - restart_s > 3 * restart_s);
    }
    assert_true(better || !worse);
}

static void changes_are_worth_it(void **state)
{
    struct hps_policy_opt opt = hps_policy_opt_preset();
    int changed = 0, held = 0;

    (void)state;
    opt.lease_s = 50;
    opt.rho_max = 0;
    for (uint64_t k = 0; k < CASES; k++) {
        struct drawn x = draw(k, (double)(1 + k % 20));
        hps_job_settle(&x.view, &opt, &x.d);
        check(&x, &opt);
        for (int i = 0; i < x.view.n; i++) {
            changed += x.d.config[i] != x.view.job[i].config;
            if (x.d.config[i] == x.target[i] || x.view.job[i].config < 0) continue;
            double ends = x.view.job[i].since_s + opt.lease_s;
            held += ends > NOW;
            assert_true(ends <= NOW || x.d.wake_s <= ends);
        }
        drop(&x);
    }
    if (changed < CASES / 2 || held < CASES / 4) fail_msg("%d changed, %d held", changed, held);
}

/* Of one type, where more units are faster. */
static void free_changes_are_all_made(void **state)
{
    struct hps_policy_opt opt = hps_policy_opt_preset();
    double seconds[] = { 100, 60, 45, 40 };
    struct hps_job_pool *pool = made_pool(1, &(int){ 6 });

    (void)state;
    opt.lease_s = 0;
    opt.rho_max = 0;
    for (uint64_t k = 0; k < CASES; k++) {
        struct drawn x = draw(k, 0);
        struct hps_workload *w = hps_workload_new(x.view.n);
        for (int i = 0; i < x.view.n; i++) {
            made_job(w, i, 0, 4, seconds);
            x.view.job[i].job = &w->job[i];
        }
        x.view.pool = pool;
        struct hps_job_pool *drawn = x.made.pool;
        x.made.pool = pool;
        draw_configs(&x, hps_rng_key(k, "had"), x.target);
        for (int i = 0; i < x.view.n; i++)
            x.view.job[i].config = x.target[i];
        draw_configs(&x, hps_rng_key(k, "wants"), x.target);
        for (int i = 0; i < x.view.n; i++)
            x.d.config[i] = x.target[i];
        hps_job_settle(&x.view, &opt, &x.d);
        for (int i = 0; i < x.view.n; i++)
            assert_int_equal(x.d.config[i], x.target[i]);
        x.made.pool = drawn;
        hps_workload_free(w);
        drop(&x);
    }
    hps_job_pool_free(pool);
}

/* Two units, both of a job that runs; a second one waits, and the policy would have it wait on.
 * Alone on its half it takes 2 x 10 s. */
static void who_waited_too_long_is_next(void **state)
{
    struct hps_policy_opt opt = hps_policy_opt_preset();
    struct hps_job_pool *pool = made_pool(1, &(int){ 2 });
    struct hps_workload *w = hps_workload_new(2);
    int config[2];
    struct hps_job_decision d = { config, INFINITY };
    struct hps_job_state job[2] = { { .left = 1, .config = 0 }, { .left = 1, .config = -1 } };
    struct hps_job_view view = { .pool = pool, .n = 2, .job = job };

    (void)state;
    opt.rho_max = 3;
    opt.lease_s = 70;
    made_rigid(w, 0, 0, 2, 1000);
    made_rigid(w, 1, 0, 1, 10);
    job[0].job = &w->job[0];
    job[1].job = &w->job[1];
    const struct { double now_s, lease_s, wake_s; int first, second; } want[] = {
        { 0, 0, 60, 0, -1 }, { 59, 0, 60, 0, -1 }, { 60, 0, INFINITY, -1, 0 },
        { 60, 70, 70, 0, -1 }, { 70, 70, INFINITY, -1, 0 },
    };
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        view.now_s = want[k].now_s;
        opt.lease_s = want[k].lease_s;
        config[0] = 0;
        config[1] = -1;
        d.wake_s = INFINITY;
        hps_job_settle(&view, &opt, &d);
        assert_int_equal(config[0], want[k].first);
        assert_int_equal(config[1], want[k].second);
        assert_true(d.wake_s == want[k].wake_s);
    }
    assert_true(hps_job_lease_s(&opt, 30) == 70);
    opt.lease_s = INFINITY;
    assert_true(hps_job_lease_s(&opt, 1) == 60 && hps_job_lease_s(&opt, 30) == 600);
    hps_workload_free(w);
    hps_job_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_worth_it),
        cmocka_unit_test(free_changes_are_all_made),
        cmocka_unit_test(who_waited_too_long_is_next),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    return failed || hps_mem_held_bytes() != 0;
}
