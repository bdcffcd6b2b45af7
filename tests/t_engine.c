/* Law: the engine-faithful model is the step of a slow simulation, event by event, where the stages
 * are alike, and never promises more than the paper's model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "plan/cost.h"
#include "plan/engine.h"
#include "plan_make.h"
#include "train/order.h"

enum { STAGES = 6, MICRO = 9, STEPS = 12 };

struct pipe {
    int S, M;
    double forward[STAGES], backward[STAGES], once[STAGES], latency;
};

/* When each thing of a step was done; free: when a stage may begin the step. */
struct times {
    double forward[STAGES][MICRO], backward[STAGES][MICRO], free[STAGES];
    int next[STAGES];
};

/* Stage s does what is next on its list, once what that needs has come. False: it has to wait. */
static bool advance(const struct pipe *x, struct times *t, int s)
{
    struct hps_todo todo[2 * MICRO];
    int home[STAGES];

    for (int a = 0; a < x->S; a++)
        home[a] = a;
    hps_order_1f1b(x->S, home, s, x->M, true, todo);
    if (t->next[s] == 2 * x->M)
        return false;
    int m = todo[t->next[s]].m;
    bool back = todo[t->next[s]].backward, end = s == (back ? x->S - 1 : 0);
    double come = end ? 0 : (back ? t->backward[s + 1][m] : t->forward[s - 1][m]) + x->latency;
    if (isnan(come))
        return false;
    double begin = fmax(t->free[s], come);
    t->free[s] = begin + (back ? x->backward[s] : x->forward[s]);
    (back ? t->backward : t->forward)[s][m] = t->free[s];
    t->next[s]++;
    return true;
}

/* Seconds of a step when many follow each other. */
static double simulate(const struct pipe *x)
{
    struct times t = { 0 };
    double first = 0;

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
            t.free[s] += x->once[s];
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
    p->engine.latency_s = x->latency;
    for (int a = 0; a < x->S * x->S; a++) {
        int t = a % x->S;
        p->oct[a] = x->forward[t] + x->backward[t];
        p->sync[a] = p->recv[a] = p->send[a] = 0;
    }
    for (int s = 0; s < x->S; s++) {
        assignment[s] = s;
        p->engine.micro_s[s] = 0;
        p->engine.step_s[s] = x->once[s];
    }
    *plan = hps_plan_of_assignment(x->S, assignment);
    for (int s = 0; s < x->S; s++)
        (*plan)->stage[s].units = 1;
    hps_cost_of(*plan, p);
    return p;
}

static void alike_stages_as_simulated(void **state)
{
    (void)state;
    for (int S = 1; S <= STAGES; S++)
        for (int M = 1; M <= MICRO; M++) {
            struct pipe x = { .S = S, .M = M };
            struct hps_plan *plan;
            for (int s = 0; s < S; s++) {
                x.forward[s] = x.backward[s] = 0.5;
                x.once[s] = 0.25 * (S - s);
            }
            struct hps_profile *p = profile_of(&x, &plan);
            double step = hps_engine_of(plan, p).step_s, truth = simulate(&x);
            if (fabs(step - truth) > 1e-12 * truth)
                fail_msg("S %d, M %d: %.17g, simulated %.17g", S, M, step, truth);
            hps_plan_free(plan);
            hps_profile_free(p);
        }
}

static void it_only_adds(void **state)
{
    uint64_t n = 0;

    (void)state;
    for (int i = 0; i < 2000; i++) {
        struct pipe x = { .S = 1 + i % STAGES, .M = 1 + i / 7 % MICRO };
        struct hps_plan *plan;
        x.latency = i % 3 == 0 ? 0.1 * hps_rng_real(3, n++) : 0;
        for (int s = 0; s < x.S; s++) {
            x.forward[s] = hps_rng_real(3, n++);
            x.backward[s] = hps_rng_real(3, n++);
            x.once[s] = i % 2 ? hps_rng_real(3, n++) : 0;
        }
        struct hps_profile *p = profile_of(&x, &plan);
        struct hps_engine_result r = hps_engine_of(plan, p);
        double least = p->engine.batch / plan->throughput;
        if (r.step_s < least * (1 - 1e-12))
            fail_msg("a step of %.17g, the paper's model says %.17g", r.step_s, least);
        assert_true(r.cost_usd >= plan->cost_usd * (1 - 1e-12));
        assert_true(r.seconds >= plan->seconds * (1 - 1e-12));
        hps_plan_free(plan);
        hps_profile_free(p);
    }
    assert_int_equal(hps_mem_held_bytes(), 0);
}

/* Nothing but the paper's numbers: 4 micro-batches of Bo, fill and drain. */
static void without_constants(void **state)
{
    struct hps_profile *p = make_profile(4, 6, 2, 9, 0);
    struct hps_plan *plan = hps_plan_of_assignment(6, (const int[]){ 0, 0, 1, 1, 1, 0 });
    double fill = 0, slowest = 0;

    (void)state;
    for (int s = 0; s < 3; s++)
        plan->stage[s].units = s + 1;
    hps_cost_of(plan, p);
    for (int s = 0; s < 3; s++) {
        fill += plan->stage[s].et * p->batch;
        slowest = fmax(slowest, plan->stage[s].et * p->batch);
    }
    struct hps_engine_result r = hps_engine_of(plan, p);
    assert_true(fabs(r.step_s / (3 * slowest + fill) - 1) < 1e-14);
    assert_true(fabs(r.examples_s * r.step_s / (4 * p->batch) - 1) < 1e-14);
    assert_true(fabs(r.cost_usd / plan->cost_usd * r.examples_s / plan->throughput - 1) < 1e-13);
    hps_plan_free(plan);
    hps_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alike_stages_as_simulated),
        cmocka_unit_test(it_only_adds),
        cmocka_unit_test(without_constants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
