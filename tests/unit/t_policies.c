/* Laws: over drawn cases no policy gives away a unit twice, every job ends, and a policy answers
 * the same to the same view; what backfill promises the head of the queue (EASY) or all in it
 * (conservative) holds; parameters are bound from a deck, and wrong ones are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "jobs/dl2.h"
#include "tests/lib/jobs_made.h"

/* Parameters repeat after 60 cases, seconds of a reconfiguration after 7: all of them together. */
enum { CASES = 420, JOBS = 12 };

static const double samples[] = { 5, 20, 20, 80, 150, 400, 900, 2000 };

/* Parameters of case k: of leases, restarts, queues. */
static struct hps_policy_facts facts_of(uint64_t k)
{
    struct hps_policy_facts f = { .nsample = 8, .sample = samples };

    f.opt = hps_policy_opt_preset();
    f.opt.lease_s = k % 3 == 0 ? INFINITY : k % 3 == 1 ? 0 : 50;
    f.opt.rho_max = k % 4 == 0 ? 0 : k % 4 == 1 ? 3 : 0.5;
    f.opt.conservative = k % 2 == 0;
    f.opt.quantum_s = 20;
    f.opt.queue[0] = 100;
    f.opt.queue[1] = 300;
    f.opt.tick_s = k % 5 == 0 ? 30 : 0;
    f.opt.promote = k % 3 == 0 ? 2 : 0;
    f.opt.by_units = k % 2 == 0;
    f.opt.gittins_delta = k % 2 == 0 ? 0 : 60;
    return f;
}

static void same(const struct hps_job_outcomes *x, const struct hps_job_outcomes *y)
{
    for (int i = 0; i < x->workload->n; i++)
        assert_true(x->job[i].end_s == y->job[i].end_s);
    assert_true(x->nspan == y->nspan);
}

/* What dl2 learned from one of the cases: it decides for all. */
static struct hps_dl2 *learned(void)
{
    struct made_case c = made_case(hps_rng_key(3, "policies"), JOBS);
    struct hps_policy_facts facts = facts_of(0);

    facts.opt.dl2_taught = facts.opt.dl2_tried = 2;
    struct hps_dl2 *dl2 = hps_dl2_learn(c.workload, c.pool, 2, &facts);
    made_case_free(&c);
    return dl2;
}

static void no_unit_is_given_twice(void **state)
{
    struct hps_dl2 *dl2 = learned();

    (void)state;
    for (uint64_t k = 0; k < CASES; k++) {
        struct made_case c = made_case(hps_rng_key(k, "policies"), JOBS);
        struct hps_policy_facts facts = facts_of(k);
        facts.dl2 = dl2;
        for (int p = 0; hps_policy_at(p); p++) {
            const struct hps_policy *policy = hps_policy_at(p);
            if (!policy->decide) continue;
            struct hps_job_outcomes *o = made_run(c.workload, c.pool, policy, &facts, k % 7);
            if (hps_outcomes_figures(o).ended != c.workload->n)
                fail_msg("case %d: %s left a job undone", (int)k, policy->name);
            if (k % 23 == 0) {          /* prime to 60: with all parameters */
                struct hps_job_outcomes *again =
                    made_run(c.workload, c.pool, policy, &facts, k % 7);
                same(o, again);
                hps_outcomes_free(again);
            }
            hps_outcomes_free(o);
        }
        made_case_free(&c);
    }
    hps_dl2_free(dl2);
}

/* ---- backfill ---- */

/* The first time that each job was promised when it was the head of the queue. */
static double promised[JOBS];

/* When the jobs that run leave enough units for c, by brute force over their ends. */
static double earliest(const struct hps_job_view *view, const struct hps_job_config *c)
{
    double best = INFINITY;

    for (int e = -1; e < view->n; e++) {
        struct hps_job_room room = hps_job_room_of(view->pool);
        double at = e < 0 ? view->now_s : hps_job_end_s(view, e);
        for (int i = 0; i < view->n; i++)
            if (view->job[i].config >= 0 && hps_job_end_s(view, i) > at)
                hps_job_room_take(&room, hps_job_config_of(&view->job[i], view->job[i].config));
        if (isfinite(at) && hps_job_room_fits(&room, c)) best = fmin(best, at);
        hps_job_room_done(&room);
    }
    return best;
}

static void watch(struct hps_job_view *view, const struct hps_policy_facts *facts,
                  struct hps_job_decision *d)
{
    for (int i = 0; i < view->n; i++) {
        const struct hps_pool_job *job = view->job[i].job;
        if (view->job[i].config >= 0) continue;
        double *p = &promised[atoi(job->name)];
        if (isinf(*p)) *p = earliest(view, &job->config[job->asked]);
        break;
    }
    hps_policy_find("backfill")->decide(view, facts, d);
}

static void the_head_is_not_delayed(void **state)
{
    const struct hps_policy watched = { .name = "watched", .decide = watch };
    int waited = 0;

    (void)state;
    for (uint64_t k = 0; k < CASES; k++) {
        struct made_case c = made_case(hps_rng_key(k, "easy"), JOBS);
        struct hps_policy_facts facts = { .opt = hps_policy_opt_preset() };
        for (int i = 0; i < JOBS; i++)
            promised[i] = INFINITY;
        struct hps_job_outcomes *o = made_run(c.workload, c.pool, &watched, &facts, 0);
        for (int i = 0; i < c.workload->n; i++) {
            waited += promised[i] > c.workload->job[i].arrive_s && isfinite(promised[i]);
            assert_true(o->job[i].start_s <= promised[i] + 1e-6);
        }
        hps_outcomes_free(o);
        made_case_free(&c);
    }
    assert_true(waited > CASES);
}

/* With exact seconds, jobs behind one change nothing for it. */
static void nobody_is_delayed(void **state)
{
    struct hps_policy_facts facts = { .opt = hps_policy_opt_preset() };
    const struct hps_policy *backfill = hps_policy_find("backfill");
    int earlier = 0;

    (void)state;
    facts.opt.conservative = true;
    for (uint64_t k = 0; k < CASES / 4; k++) {
        struct made_case c = made_case(hps_rng_key(k, "conservative"), JOBS);
        struct hps_job_outcomes *all = made_run(c.workload, c.pool, backfill, &facts, 2);
        struct hps_job_outcomes *fifo =
            made_run(c.workload, c.pool, hps_policy_find("fifo"), &facts, 2);
        for (int n = 1; n <= c.workload->n; n++) {
            struct hps_workload first = { n, c.workload->job };
            struct hps_job_outcomes *o = made_run(&first, c.pool, backfill, &facts, 2);
            assert_true(fabs(o->job[n - 1].start_s - all->job[n - 1].start_s) < 1e-6);
            earlier += all->job[n - 1].start_s < fifo->job[n - 1].start_s - 1;
            assert_true(all->job[n - 1].start_s < fifo->job[n - 1].start_s + 1e-6);
            hps_outcomes_free(o);
        }
        hps_outcomes_free(fifo);
        hps_outcomes_free(all);
        made_case_free(&c);
    }
    assert_true(earlier > CASES / 8);
}

/* ---- parameters ---- */

static enum hps_status bind(struct hps_policy_opt *opt, const char *text)
{
    static const char *const mine[] = { "policy", NULL };
    struct hps_deck *deck;
    const struct hps_item *pool;

    assert_int_equal(hps_deck_parse(&deck, "x.yaml", text, strlen(text), 0, NULL), HPS_OK);
    assert_int_equal(hps_deck_map(deck, "pool", &pool), HPS_OK);
    enum hps_status st = hps_policy_opt_bind(opt, deck, pool, mine);
    hps_deck_free(deck);
    return st;
}

static void parameters(void **state)
{
    struct hps_policy_opt opt = hps_policy_opt_preset();

    (void)state;
    assert_true(isinf(opt.lease_s) && opt.rho_max == 3 && opt.nqueue == 2 && opt.by_units);
    assert_int_equal(bind(&opt, "pool: {policy: x, lease_seconds: 7,"
                                " backfill: {kind: conservative},"
                                " tiresias: {queues: [10, 20.5, 1e3], attained: time}}"), HPS_OK);
    assert_true(opt.lease_s == 7 && opt.conservative && opt.nqueue == 3 && !opt.by_units);
    assert_true(opt.queue[1] == 20.5 && opt.queue[2] == 1000);
    assert_int_equal(bind(&opt, "pool: {tiresias: {queues: [20, 10]}}"), HPS_DECK);
    assert_int_equal(bind(&opt, "pool: {tiresias: {queues: [a]}}"), HPS_DECK);
    assert_int_equal(bind(&opt, "pool: {tiresias: {queue: [1]}}"), HPS_DECK);
    assert_int_equal(bind(&opt, "pool: {rho_max: -1}"), HPS_DECK);
    assert_int_equal(bind(&opt, "pool: {backfill: {kind: lazy}}"), HPS_DECK);
    assert_int_equal(bind(&opt, "pool: {lease: 1}"), HPS_DECK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_unit_is_given_twice),
        cmocka_unit_test(the_head_is_not_delayed),
        cmocka_unit_test(nobody_is_delayed),
        cmocka_unit_test(parameters),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    return failed || hps_mem_held_bytes() != 0;
}
