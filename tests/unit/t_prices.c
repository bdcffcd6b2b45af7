/* t_prices: what a job does best under prices is the least over all ends of a slow search, and what
 * it uses costs that; the bound of any prices is below every policy's schedule, and the search's is
 * no worse than that of no prices; prices for a single job are its best time. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "jobs/bound.h"
#include "jobs/price_ascent.h"
#include "jobs/simulate.h"
#include "tests/lib/draw.h"

enum { T = 2, I = 6, CONFIGS = 5, CASES = 120 };

static struct hps_job_pool *draw_pool(struct draw *d)
{
    struct hps_job_pool *pool = hps_job_pool_grid(1, draw_whole(d, 2, 8));

    pool->T = T;
    hps_mem_free(pool->units);
    pool->units = hps_mem_new(T, sizeof *pool->units);
    struct hps_job_type *type = hps_mem_new(T, sizeof *type);
    type[0] = pool->type[0];
    type[1] = (struct hps_job_type){ hps_mem_text("cpu"), 0.1, draw_whole(d, 2, 8) };
    hps_mem_free(pool->type);
    pool->type = type;
    pool->units[0] = type[0].units;
    pool->units[1] = type[1].units;
    return pool;
}

/* Configurations of one type or of both, of any speed; the first fits every pool. */
static void draw_job(struct draw *d, struct hps_pool_job *job, bool both)
{
    job->name = hps_mem_text("job");
    job->model = hps_mem_text("");
    job->arrive_s = draw_real(d, 0, 40);
    job->nconfig = draw_whole(d, 1, CONFIGS);
    job->config = hps_mem_new((size_t)job->nconfig, sizeof *job->config);
    for (int c = 0; c < job->nconfig; c++) {
        struct hps_job_config *x = &job->config[c];
        x->nparts = both && c > 0 ? draw_whole(d, 1, 2) : 1;
        x->part[0] = (struct hps_config_part){ x->nparts == 1 && both ? draw_whole(d, 0, 1) : 0,
                                               c > 0 ? draw_whole(d, 1, 4) : 1 };
        x->part[1] = (struct hps_config_part){ 1, draw_whole(d, 1, 3) };
        x->seconds = draw_real(d, 3, 40);
    }
}

/* ---- a slow search ---- */

static double price_at(const struct hps_prices *p, const struct hps_job_config *c, double at)
{
    double sum = 0;

    for (int i = 0; i < p->I; i++)
        for (int k = 0; k < c->nparts && at >= p->edge[i] && at < p->edge[i + 1]; k++)
            sum += p->price[i * T + c->part[k].type] * c->part[k].units;
    return sum;
}

/* mu * left - the integral of h(mu) from the job's begin to `end`. */
static double dual(const struct hps_prices *p, const struct hps_price_job *j, double end, double mu)
{
    double sum = mu * j->left;

    for (int i = 0; i <= p->I; i++) {
        double a = fmax(p->edge[i], j->from_s), b = i < p->I ? fmin(p->edge[i + 1], end) : end;
        double h = 0;
        if (b <= a) continue;
        for (int c = 0; c < j->job->nconfig; c++)
            h = fmax(h, mu / j->job->config[c].seconds -
                            price_at(p, &j->job->config[c], (a + b) / 2));
        sum -= h * (b - a);
    }
    return sum;
}

/* V(end), by ternary search for mu: infinite where the work does not fit. */
static double pay(const struct hps_prices *p, const struct hps_price_job *j, double end)
{
    double low = 0, high = 1e7;

    for (int k = 0; k < 90; k++) {
        double x = low + (high - low) / 3, y = high - (high - low) / 3;
        if (dual(p, j, end, x) < dual(p, j, end, y))
            low = x;
        else
            high = y;
    }
    return dual(p, j, end, low);
}

static double slow_value(const struct hps_prices *p, const struct hps_price_job *j)
{
    double best = INFINITY;

    for (int i = 0; i <= p->I; i++) {
        double low = fmax(p->edge[i], j->from_s), high = i < p->I ? p->edge[i + 1] : low + 50;
        for (int k = 0; k < 50 && high > low; k++) {
            double x = low + (high - low) / 3, y = high - (high - low) / 3;
            if (j->weight * x + pay(p, j, x) > j->weight * y + pay(p, j, y))
                low = x;
            else
                high = y;
        }
        if (high >= j->from_s) best = fmin(best, j->weight * high + pay(p, j, high));
    }
    return best;
}

/* A job that must have ended by some time, and loses nothing until then, pays V of that time; what
 * its units always cost is as if it were on all prices. */
static void check_until(struct hps_prices *p, struct hps_price_job *j, struct hps_price_work *w,
                        double until_s)
{
    j->weight = 0;
    j->until_s = until_s;
    struct hps_price_choice c = hps_price_choose(p, j, w, NULL);
    double slow = pay(p, j, until_s);
    if (isinf(c.value))
        assert_true(dual(p, j, until_s, 2e7) > dual(p, j, until_s, 1e7));
    else
        assert_true(fabs(c.value - slow) <= 1e-4 * (slow + 1));
    for (int t = 0; t < T; t++)
        p->always[t] = 0.5 * (t + 1);
    double above = hps_price_choose(p, j, w, NULL).value;
    for (int i = 0; i < I; i++)
        for (int t = 0; t < T; t++)
            p->price[i * T + t] += p->always[t];
    p->always[0] = p->always[1] = 0;
    if (until_s <= p->edge[I])
        assert_true(above == hps_price_choose(p, j, w, NULL).value ||
                    fabs(above / hps_price_choose(p, j, w, NULL).value - 1) < 1e-9);
}

/* A job that loses nothing until it is due does as well as it can with an end from then on. */
static void check_due(const struct hps_prices *p, struct hps_price_job *j,
                      struct hps_price_work *w, double due_s)
{
    double best = pay(p, j, due_s);

    j->due_s = due_s;
    for (int k = 0; k <= 400; k++) {
        double end = due_s + k * (p->edge[I] + 60) / 400;
        best = fmin(best, j->weight * (end - due_s) + pay(p, j, end));
    }
    double value = hps_price_choose(p, j, w, NULL).value;
    assert_true(value <= best * (1 + 1e-4) + 1e-4);
    assert_true(value >= best - j->weight * (p->edge[I] + 60) / 400 - 1e-3);
    j->due_s = 0;
}

static void a_job_does_its_best(void **state)
{
    (void)state;
    for (uint64_t k = 0; k < CASES; k++) {
        struct draw d = { hps_rng_sub(1, k), 0 };
        struct hps_job_pool *pool = draw_pool(&d);
        struct hps_pool_job job = { 0 };
        double edge[I + 1] = { 0 }, use[I * T] = { 0 }, paid = 0;
        draw_job(&d, &job, k % 2 == 0);
        for (int i = 0; i < I; i++)
            edge[i + 1] = edge[i] + draw_real(&d, 2, 15);
        struct hps_prices *p = hps_prices_new(T, I, edge);
        for (int i = 0; i < I * T; i++)
            p->price[i] = draw_whole(&d, 0, 3) == 0 ? 0 : draw_real(&d, 0, 1.5);
        struct hps_price_job *j = hps_price_job_new(&job, pool);
        j->left = draw_real(&d, 0.1, 1);
        j->weight = draw_whole(&d, 1, 2);
        /* the slow search has all configurations: those that fit must be all */
        pool->type[0].units = pool->type[1].units = 100;
        hps_price_job_free(j);
        j = hps_price_job_new(&job, pool);
        struct hps_price_work *w = hps_price_work_new(p, j->n);
        struct hps_price_choice c = hps_price_choose(p, j, w, use);
        for (int i = 0; i < I * T; i++)
            paid += use[i] * p->price[i];
        assert_true(fabs(c.value - slow_value(p, j)) <= 1e-4 * c.value);
        assert_true(fabs(j->weight * c.end_s + paid - c.value) <= 1e-6 * c.value);
        if (k % 8 == 0) check_due(p, j, w, c.end_s * draw_real(&d, 0.5, 2));
        check_until(p, j, w, c.end_s * draw_real(&d, 0.7, 1.3));
        hps_price_work_free(w);
        hps_price_job_free(j);
        hps_prices_free(p);
        hps_mem_free(job.config);
        hps_mem_free(job.name);
        hps_mem_free(job.model);
        hps_job_pool_free(pool);
    }
}

/* ---- bounds ---- */

static struct hps_workload *draw_workload(struct draw *d, int n)
{
    struct hps_workload *w = hps_workload_new(n);

    for (int i = 0; i < n; i++)
        draw_job(d, &w->job[i], true);
    hps_workload_sort(w);
    return w;
}

static void no_schedule_is_below_the_bound(void **state)
{
    struct hps_policy_facts facts = { .opt = hps_policy_opt_preset() };

    (void)state;
    for (uint64_t k = 0; k < CASES / 3; k++) {
        struct draw d = { hps_rng_sub(2, k), 0 };
        struct hps_job_pool *pool = draw_pool(&d);
        struct hps_workload *w = draw_workload(&d, draw_whole(&d, 1, 12));
        double restart_s = k % 3;
        struct hps_job_bound *b = hps_bound_find(w, pool, HPS_JCT, restart_s, 0.01);
        for (int i = 0; hps_policy_at(i); i++) {
            struct hps_simulation s = { .workload = w, .pool = pool, .policy = hps_policy_at(i),
                                        .facts = &facts, .restart_s = restart_s };
            struct hps_job_outcomes *o;
            if (!s.policy->decide || s.policy->learns || s.policy->needs_samples) continue;
            assert_int_equal(hps_simulate(&s, &o), HPS_OK);
            assert_int_equal(hps_outcomes_figures(o).ended, w->n);
            assert_true(b->value <= hps_outcomes_figures(o).mean_jct_s * (1 + 1e-9));
            hps_outcomes_free(o);
        }
        double found = b->value;
        memset(b->prices->price, 0, (size_t)b->prices->I * T * sizeof *b->prices->price);
        assert_true(hps_bound_of(b, b->prices) <= found + 1e-9);
        hps_bound_free(b);
        hps_workload_free(w);
        hps_job_pool_free(pool);
    }
}

/* Alone and with nobody to come, it is as fast as it can be, which is known. */
/* Of the makespan and of rho, too, no policy's schedule is below the bound; prices prove what they
 * are said to. */
static void nor_by_another_objective(void **state)
{
    (void)state;
    for (uint64_t k = 0; k < CASES / 6; k++) {
        struct draw d = { hps_rng_sub(7, k), 0 };
        struct hps_job_pool *pool = draw_pool(&d);
        struct hps_workload *w = draw_workload(&d, draw_whole(&d, 1, 6));
        enum hps_objective o = k % 2 == 0 ? HPS_MAKESPAN : HPS_RHO;
        double restart_s = k % 3 == 0 ? 0 : draw_real(&d, 0, 3);
        struct hps_job_bound *b = hps_bound_find(w, pool, o, restart_s, 0.05);
        struct hps_policy_facts facts = { .opt = hps_policy_opt_preset() };
        facts.opt.objective = o;
        assert_true(b->value > 0);
        assert_true(fabs(hps_bound_of(b, b->prices) / b->value - 1) < 1e-6);
        for (int i = 0; hps_policy_at(i); i++) {
            const struct hps_policy *policy = hps_policy_at(i);
            struct hps_simulation s = { w, pool, policy, &facts, restart_s, false, NULL, false };
            struct hps_job_outcomes *out;
            if (!policy->decide || policy->needs_samples || policy->learns) continue;
            assert_int_equal(hps_simulate(&s, &out), HPS_OK);
            struct hps_job_figures figures = hps_outcomes_figures(out);
            assert_true(hps_objective_value(o, &figures) >= b->value * (1 - 1e-9));
            hps_outcomes_free(out);
        }
        hps_bound_free(b);
        hps_workload_free(w);
        hps_job_pool_free(pool);
    }
}

static void one_job_is_bounded_exactly(void **state)
{
    (void)state;
    struct hps_job_pool *pool = hps_job_pool_grid(1, 4);
    struct hps_workload *w = hps_workload_new(1);

    w->job[0].name = hps_mem_text("one");
    w->job[0].model = hps_mem_text("");
    w->job[0].arrive_s = 7;
    w->job[0].nconfig = 2;
    w->job[0].config = hps_mem_new(2, sizeof *w->job[0].config);
    w->job[0].config[0] = (struct hps_job_config){ .nparts = 1, .part = { { 0, 1 } },
                                                     .seconds = 40 };
    w->job[0].config[1] = (struct hps_job_config){ .nparts = 1, .part = { { 0, 4 } },
                                                     .seconds = 15 };
    struct hps_job_bound *b = hps_bound_find(w, pool, HPS_JCT, 5, 0.2);
    assert_true(fabs(b->value - 20) < 0.01);
    hps_bound_free(b);
    hps_workload_free(w);
    hps_job_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_does_its_best),
        cmocka_unit_test(no_schedule_is_below_the_bound),
        cmocka_unit_test(nor_by_another_objective),
        cmocka_unit_test(one_job_is_bounded_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
