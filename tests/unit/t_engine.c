/* Law: the replay of a plan is a slow simulation, event by event; the engine-faithful model is the
 * same where it claims to be, near it elsewhere; neither promises more than the paper's model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/rng.h"
#include "plan/cost.h"
#include "plan/promise.h"
#include "plan/replay.h"
#include "tests/lib/plan_make.h"
#include "plan/order.h"

enum { STAGES = 6, MICRO = 9, STEPS = 12 };

struct pipe {
    int S, M, lead[STAGES];
    double forward[STAGES], backward[STAGES], once[STAGES], latency;
};

/* When each thing of a step was done; free: when a stage may begin the step. */
struct times {
    double forward[STAGES][MICRO], backward[STAGES][MICRO], free[STAGES];
    struct hps_todo todo[STAGES][2 * STAGES * MICRO];
    int n[STAGES], next[STAGES];        /* by the first stage on the ranks */
};

/* The ranks of stage h and others do what is next on their list, once what that needs has come.
 * False: they have to wait. */
static bool advance(const struct pipe *x, struct times *t, int h)
{
    if (t->next[h] == t->n[h])
        return false;
    int m = t->todo[h][t->next[h]].m, s = t->todo[h][t->next[h]].stage;
    bool back = t->todo[h][t->next[h]].backward, end = s == (back ? x->S - 1 : 0);
    double come = end ? 0 : (back ? t->backward[s + 1][m] : t->forward[s - 1][m]) + x->latency;
    if (isnan(come))
        return false;
    double begin = fmax(t->free[h], come);
    t->free[h] = begin + (back ? x->backward[s] : x->forward[s]);
    (back ? t->backward : t->forward)[s][m] = t->free[h];
    t->next[h]++;
    return true;
}

/* What ranks do, in their order. */
static void lists(const struct pipe *x, struct times *t)
{
    for (int s = 0; s < x->S; s++)
        t->n[s] = x->lead[s] == s ? hps_order_1f1b(x->S, x->lead, s, x->M, true, t->todo[s]) : 0;
}

/* Seconds of a step when many follow each other. */
static double simulate(const struct pipe *x)
{
    struct times t = { 0 };
    double first = 0;

    lists(x, &t);
    for (int step = 0; step < STEPS; step++) {
        for (int s = 0; s < x->S; s++) {
            t.next[s] = 0;
            for (int m = 0; m < x->M; m++)
                t.forward[s][m] = t.backward[s][m] = NAN;
        }
        for (bool moved = true; moved;) {
            moved = false;
            for (int s = 0; s < x->S; s++)
                while (advance(x, &t, s))
                    moved = true;
        }
        for (int s = 0; s < x->S; s++)
            t.free[x->lead[s]] += x->once[s];
        if (step == 1)
            first = t.free[0];
    }
    return (t.free[0] - first) / (STEPS - 2);
}

/* A profile of S layers and S types, layer s on type s a stage, Bo examples a micro-batch. */
static struct hps_profile *profile_of(const struct pipe *x, struct hps_plan **plan)
{
    struct hps_profile *p = make_profile(7, x->S, x->S, 1, 0);
    int assignment[STAGES];

    p->engine.batch = p->batch * x->M;
    p->engine.microbatches = x->M;
    for (int a = 0; a < x->S * x->S; a++) {
        int t = a % x->S;
        p->engine.forward_s[a] = x->forward[t];
        p->engine.once_s[a] = x->once[t] / 2 / x->M;    /* half by the layer, half by the stage */
        p->oct[a] = x->forward[t] + x->backward[t] + p->engine.once_s[a];
        p->recv[a] = 2 * x->latency;
        p->sync[a] = p->send[a] = 0;
    }
    for (int s = 0; s < x->S; s++) {
        assignment[s] = s;
        p->engine.step_s[s] = x->once[s] / 2;
    }
    *plan = hps_plan_of_assignment(x->S, assignment);
    for (int s = 0; s < x->S; s++)
        (*plan)->stage[s].units = 1;
    hps_cost_of(*plan, p);
    return p;
}

/* Stages that share no ranks. */
static void spread(struct pipe *x)
{
    for (int s = 0; s < x->S; s++)
        x->lead[s] = s;
}

/* How far the model is above the simulation, relative; it is never under the paper's. */
static double above(struct pipe *x)
{
    struct hps_plan *plan;
    spread(x);
    struct hps_profile *p = profile_of(x, &plan);
    struct hps_engine_result r = hps_engine_of(plan, p);
    double least = p->engine.batch / plan->throughput, truth = fmax(simulate(x), least);

    if (r.step_s < least * (1 - 1e-12))
        fail_msg("a step of %.17g, the paper's model says %.17g", r.step_s, least);
    double promised = hps_promise_step(plan, p).step_s;
    if (fabs(promised / truth - 1) > 1e-12)
        fail_msg("replayed to %.17g, simulated to %.17g", promised, truth);
    assert_true(r.cost_usd >= plan->cost_usd * (1 - 1e-12));
    assert_true(r.seconds >= plan->seconds * (1 - 1e-12));
    hps_plan_free(plan);
    hps_profile_free(p);
    return r.step_s / truth - 1;
}

static void alike_stages_as_simulated(void **state)
{
    (void)state;
    for (int S = 1; S <= STAGES; S++)
        for (int M = 1; M <= MICRO; M++) {
            struct pipe x = { .S = S, .M = M };
            for (int s = 0; s < S; s++) {
                x.forward[s] = x.backward[s] = 0.5;
                x.once[s] = 0.25 * (S - s);
            }
            if (fabs(above(&x)) > 1e-12)
                fail_msg("S %d, M %d: %g above the simulation", S, M, above(&x));
        }
}

/* Pipelines of all kinds: exact for one stage and for one micro-batch, a lower bound of the
 * schedule for others, and near it. */
static void unlike_stages_as_simulated(void **state)
{
    double sum = 0, worst = 0;
    uint64_t n = 0;
    enum { TRIES = 3000 };

    (void)state;
    for (int i = 0; i < TRIES; i++) {
        struct pipe x = { .S = 1 + i % STAGES, .M = 1 + i / 7 % MICRO };
        x.latency = i % 3 == 0 ? 0.1 * hps_rng_real(3, n++) : 0;
        for (int s = 0; s < x.S; s++) {
            x.forward[s] = hps_rng_real(3, n++);
            x.backward[s] = x.forward[s] * (1 + hps_rng_real(3, n++));
            x.once[s] = i % 2 ? hps_rng_real(3, n++) : 0;
        }
        double off = above(&x);
        bool exact = x.M == 1 || x.S == 1;
        if (off > 1e-12 || (exact && off < -1e-12))
            fail_msg("S %d, M %d, hops of %g: %g above", x.S, x.M, x.latency, off);
        sum -= off;
        worst = fmin(worst, off);
    }
    if (sum / TRIES > 0.01 || worst < -0.2)
        fail_msg("below the simulation by %g, at worst %g", sum / TRIES, -worst);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

/* Nothing but the paper's numbers: 4 micro-batches of Bo, fill and drain. */
static void without_constants(void **state)
{
    struct hps_profile *p = make_profile(4, 6, 2, 9, 0);
    struct hps_plan *plan = hps_plan_of_assignment(6, (const int[]){ 1, 1, 1, 1, 1, 1 });

    (void)state;
    for (int a = 0; a < 12; a++)
        p->sync[a] = 0;
    plan->stage[0].units = 2;
    hps_cost_of(plan, p);
    struct hps_engine_result r = hps_engine_of(plan, p);
    assert_true(fabs(r.step_s / (4 * p->batch / plan->throughput) - 1) < 1e-14);
    assert_true(fabs(r.cost_usd / plan->cost_usd - 1) < 1e-14);
    p->sync[1] = plan->stage[0].ct * p->batch / 2;      /* less than CT: the paper's overlaps it */
    p->beta[1] = 0;
    hps_cost_of(plan, p);
    double with = hps_engine_of(plan, p).step_s;
    assert_true(fabs(with - 1.5 * r.step_s) < 1e-12 * with);
    plan->stage[0].units = 1;
    p->sync[1] = 0;
    hps_cost_of(plan, p);
    double alone = hps_engine_of(plan, p).step_s;
    p->sync[1] = 1e-3 * plan->stage[0].ct * p->batch;
    hps_cost_of(plan, p);
    assert_true(hps_engine_of(plan, p).step_s == alone);    /* nobody to sum with */
    p->server_dense = true;                                 /* but all is pulled, all pushed */
    with = hps_engine_of(plan, p).step_s;
    assert_true(fabs(with - alone - 4 * 2 * p->sync[1]) < 1e-12 * with);
    hps_plan_free(plan);
    hps_profile_free(p);
}

/* Two stages on one unit cannot be faster than all their work. */
static void shared_units_add_up(void **state)
{
    struct pipe x = { .S = 3, .M = 4, .forward = { 1, 5, 1 }, .backward = { 1, 5, 1 } };
    struct hps_plan *plan;
    struct hps_profile *p = profile_of(&x, &plan);

    (void)state;
    double apart = hps_engine_of(plan, p).step_s;
    plan->stage[2].type = 0;
    hps_cost_of(plan, p);
    assert_true(fabs(hps_engine_of(plan, p).step_s - apart) < 1e-12 * apart);
    hps_plan_share(plan, 1);
    plan->share[0][0] = 1;
    plan->share[0][1] = 2;
    plan->stage[2].type = 1;
    hps_cost_of(plan, p);
    assert_true(hps_engine_of(plan, p).step_s >= 4 * 20 * (1 - 1e-12));
    hps_plan_free(plan);
    hps_profile_free(p);
}

/* Stages on the same ranks. */
static void shared_ranks_as_simulated(void **state)
{
    uint64_t n = 0;

    (void)state;
    for (int i = 0; i < 500; i++) {
        struct hps_engine_terms y[STAGES];
        struct pipe x = { .S = 2 + i % (STAGES - 1), .M = 1 + i / 7 % MICRO, .latency = 0.125 };
        int mate[STAGES], a = i % x.S, b = (a + 1 + i / 3 % (x.S - 1)) % x.S;
        spread(&x);
        for (int s = 0; s < x.S; s++) {
            mate[s] = s == a ? b : s == b ? a : -1;
            x.forward[s] = hps_rng_real(5, n++);
            x.backward[s] = hps_rng_real(5, n++);
            x.once[s] = hps_rng_real(5, n++);
            y[s] = (struct hps_engine_terms){ x.forward[s], x.backward[s], x.once[s], 0.25, 0 };
        }
        x.lead[a > b ? a : b] = a < b ? a : b;
        double truth = simulate(&x), got = hps_replay_step(x.S, y, mate, x.M);
        if (fabs(got / truth - 1) > 1e-9)
            fail_msg("S %d, M %d: replayed to %.17g, simulated to %.17g", x.S, x.M, got, truth);
        double closed = hps_engine_step(x.S, y, mate, x.M, INFINITY);
        if (closed > 1.2 * got)
            fail_msg("S %d, M %d: %.17g, simulated to %.17g", x.S, x.M, closed, got);
    }
}

/* A trial corrects the step; a run lasts longer than its steps by what it pays beside them. */
static void a_run_is_its_steps_and_more(void **state)
{
    struct pipe x = { .S = 2, .M = 4, .forward = { 1, 2 }, .backward = { 2, 3 } };
    struct hps_plan *plan;
    struct hps_profile *p = profile_of(&x, &plan);

    (void)state;
    p->engine.run_s = 0;
    struct hps_engine_result step = hps_promise_step(plan, p), run = hps_promise_run(plan, p);
    assert_memory_equal(&run, &step, sizeof run);
    p->engine.trial = 1.25;
    struct hps_engine_result tried = hps_promise_step(plan, p);
    assert_true(fabs(tried.step_s - 1.25 * step.step_s) < 1e-12 * step.step_s);
    assert_true(fabs(tried.cost_usd - 1.25 * step.cost_usd) <= 1e-12 * step.cost_usd);
    assert_true(fabs(tried.examples_s - step.examples_s / 1.25) < 1e-12 * step.examples_s);
    p->engine.run_s = tried.seconds / 2;
    run = hps_promise_run(plan, p);
    assert_true(fabs(run.seconds - 1.5 * tried.seconds) < 1e-12 * run.seconds);
    assert_true(fabs(run.cost_usd - 1.5 * tried.cost_usd) <= 1e-12 * run.cost_usd);
    assert_true(fabs(run.examples_s - tried.examples_s / 1.5) < 1e-12 * tried.examples_s);
    assert_true(run.step_s >= tried.step_s && run.step_s <= tried.step_s);
    p->engine.unsure[plan->stage[0].type] = 0.01;
    p->engine.unsure[plan->stage[1].type] = 0.02;
    assert_true(hps_promise_unsure(plan, p) >= 0.02 && hps_promise_unsure(plan, p) <= 0.02);
    hps_plan_free(plan);
    hps_profile_free(p);
}

/* ---- rows in files ---- */

/* Two layers on one unit of one type, the first with a table of a million rows of 100 bytes, of
 * which a step needs 1000: evenly drawn ones, so that a share of the slots is hit. */
static struct hps_profile *paged_profile(struct hps_plan **plan, double memory, double reads_s)
{
    struct hps_profile *p = make_profile(11, 2, 1, 4, 0);
    struct hps_tier_sample *x = &p->layer[0].sample;

    snprintf(p->layer[0].type, sizeof p->layer[0].type, "embedding");
    p->layer[0].weight_bytes = 1e8;
    p->layer[0].state_bytes = 0;
    p->engine.batch = p->batch;
    p->engine.microbatches = 1;
    p->examples = 1e4 * p->batch;
    p->epochs = 1;
    *x = (struct hps_tier_sample){ .rows = 1e6, .asked = 1000, .steps = 1000 };
    for (int i = 0; i < HPS_TIER_POINTS; i++)
        x->distinct[i] = 1e6 * -expm1(-1e-3 * (1000 >> i));
    for (int i = 0; i < HPS_TIER_SHARES; i++)
        x->hits[i] = x->later_hits[i] = x->first_hits[i] = ldexp(1, -i);
    p->tier.take_s[0] = 1e-8;
    p->tier.make_s[0] = 2e-7;
    p->tier.read_s[0] = 3e-7;
    p->tier.write_s[0] = 1e-7;
    p->tier.reads_s[0] = reads_s;
    p->max_rows_bytes = memory;
    *plan = hps_plan_of_assignment(2, (int[]){ 0, 0 });
    (*plan)->stage[0].units = 1;
    hps_cost_of(*plan, p);
    return p;
}

static double paged_step_s(double memory, double reads_s, long long units)
{
    struct hps_plan *plan;
    struct hps_profile *p = paged_profile(&plan, memory, reads_s);

    plan->stage[0].units = units;
    hps_cost_of(plan, p);
    double step = hps_engine_of(plan, p).step_s, promised = hps_promise_step(plan, p).step_s;
    assert_float_equal(step, promised, 1e-9 * step);
    hps_plan_free(plan);
    hps_profile_free(p);
    return step;
}

static void rows_in_files_take_time(void **state)
{
    struct hps_plan *plan;
    struct hps_profile *p = paged_profile(&plan, 3.5e7, 1e12);
    struct hps_tier_curves *curves = hps_tier_curves_new(p);
    struct hps_tier_request r;

    (void)state;
    assert_int_equal(hps_tier_requests(curves, 0, 1, 0, 1, false, &r), 1);
    assert_float_equal(r.memory_bytes, 3.5e7, 200);
    /* 0.261 of the rows are in slots: made 100 of 1000 a step, of the others so many are read */
    assert_float_equal(r.rows.made, 100, 1);
    assert_float_equal(r.rows.read, 900 * 0.70, 30);
    assert_float_equal(r.rows.written, 1000 - r.rows.hits, 27);
    double busy_s = 1e-5 + 2e-7 * r.rows.made + 3e-7 * r.rows.read + 1e-7 * r.rows.written;
    assert_float_equal(r.time.busy_s, busy_s, 1e-12);
    double all = paged_step_s(0, 1e12, 1), some = paged_step_s(3.5e7, 1e12, 1);
    assert_float_equal(some, all + busy_s, 1e-9 * all);
    double slow = 0.1 * r.rows.read / (all + busy_s);   /* reads take ten times as long as a step */
    assert_float_equal(paged_step_s(3.5e7, slow, 1), busy_s + r.rows.read / slow, 1e-6);
    assert_true(paged_step_s(3.5e7, slow, 2) < paged_step_s(3.5e7, slow, 1));
    assert_true(paged_step_s(5e7, slow, 1) < paged_step_s(3.5e7, slow, 1));
    assert_float_equal(paged_step_s(1.2e8, slow, 1), all, 1e-12);
    assert_true(hps_tier_time_served(curves, 0, 1).busy_s == 0);
    p->type[0].gpu = true;                  /* which has no files */
    assert_false(hps_cost_feasible(plan, p, 0));
    hps_tier_curves_free(curves);
    hps_plan_free(plan);
    hps_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alike_stages_as_simulated),
        cmocka_unit_test(unlike_stages_as_simulated),
        cmocka_unit_test(without_constants),
        cmocka_unit_test(shared_units_add_up),
        cmocka_unit_test(shared_ranks_as_simulated),
        cmocka_unit_test(a_run_is_its_steps_and_more),
        cmocka_unit_test(rows_in_files_take_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
