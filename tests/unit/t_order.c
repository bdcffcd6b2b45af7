/* t_order: however stages lie on ranks, each does with every micro-batch one forward and one
 * backward, in 1F1B's order, never more than the flights are under way, and ranks that wait for
 * each other's messages and for places to put them never wait for ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "plan/order.h"
#include "plan/plan.h"

enum { MAX_S = 6, MAX_M = 12, MAX_N = MAX_S * 2 * MAX_M };

/* One stage: warm-up, one forward and one backward in turn, the rest. */
static void alone(int S, int s, int M, int i, struct hps_todo *want)
{
    int warm = hps_plan_in_flight(S, s, M) - 1, both = 2 * (M - warm);

    if (i < warm)
        *want = (struct hps_todo){ false, s, i };
    else if (i < warm + both)
        *want = (struct hps_todo){ (i - warm) % 2, s, (i + ((i - warm) % 2 ? -warm : warm)) / 2 };
    else
        *want = (struct hps_todo){ true, s, i - M };
}

/* What stage s does is what it would do alone. */
static void check_stage(const struct hps_todo *list, int n, int S, int s, int M, bool training)
{
    int i = 0;

    for (int k = 0; k < n; k++) {
        struct hps_todo want = { false, s, i };
        if (list[k].stage != s) continue;
        if (training) alone(S, s, M, i, &want);
        assert_int_equal(list[k].backward, want.backward);
        assert_int_equal(list[k].m, want.m);
        i++;
    }
    assert_int_equal(i, training ? 2 * M : M);
}

struct run {
    int S, M, fwd[MAX_S], bwd[MAX_S], at[MAX_S], n[MAX_S];
    bool training;
    struct hps_todo list[MAX_S][MAX_N];
};

/* A receive is posted as soon as its place is free: activations of stage s for micro-batch m. */
static bool posted(const struct run *r, int s, int m)
{
    int free = m - hps_plan_in_flight(r->S, s, r->M);
    return free < (r->training ? r->bwd[s] : r->fwd[s]);
}

/* May it be done now, when no message moves before its receive is posted? What it reads has come,
 * and what it writes into has left: activations sent from the place before, gradients likewise
 * (their receive is posted with the forward of the stage before). */
static bool may(const struct run *r, const struct hps_todo *t)
{
    int s = t->stage, before = t->m - hps_plan_in_flight(r->S, s, r->M);

    if (t->backward)
        return r->fwd[s] > t->m && (s == r->S - 1 || r->bwd[s + 1] > t->m) &&
               (s == 0 || before < r->fwd[s - 1]);
    return (s == 0 || r->fwd[s - 1] > t->m) &&
           (s == r->S - 1 || before < 0 || posted(r, s + 1, before));
}

/* All ranks go on as far as they can; returns what was done in all. */
static int play(struct run *r)
{
    int done = 0, moved = 1;

    while (moved) {
        moved = 0;
        for (int h = 0; h < r->S; h++)
            for (; r->at[h] < r->n[h] && may(r, &r->list[h][r->at[h]]); r->at[h]++) {
                const struct hps_todo *t = &r->list[h][r->at[h]];
                *(t->backward ? &r->bwd[t->stage] : &r->fwd[t->stage]) += 1;
                assert_true(r->fwd[t->stage] - r->bwd[t->stage] <=
                            (r->training ? hps_plan_in_flight(r->S, t->stage, r->M) : r->M));
                moved = 1;
                done++;
            }
    }
    return done;
}

static void check(int S, const int *lead, int M, bool training)
{
    struct run r = { .S = S, .M = M, .training = training };

    for (int s = 0; s < S; s++) {
        if (lead[s] == s) r.n[s] = hps_order_1f1b(S, lead, s, M, training, r.list[s]);
        check_stage(r.list[lead[s]], r.n[lead[s]], S, s, M, training);
    }
    assert_int_equal(play(&r), (training ? 2 : 1) * M * S);
}

/* Every way to put stages from s on onto ranks of their own or of an earlier stage. */
static int each_lead(int S, int *lead, int s)
{
    int n = 0;

    if (s == S) {
        for (int M = 1; M <= MAX_M; M++) {
            check(S, lead, M, true);
            check(S, lead, M, false);
        }
        return 1;
    }
    for (int h = 0; h <= s; h++)
        if (h == s || lead[h] == h) {
            lead[s] = h;
            n += each_lead(S, lead, s + 1);
        }
    return n;
}

static void every_lead(void **state)
{
    static const int bell[] = { 1, 1, 2, 5, 15, 52, 203 };
    int lead[MAX_S];

    (void)state;
    for (int S = 1; S <= MAX_S; S++)
        assert_int_equal(each_lead(S, lead, 0), bell[S]);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

/* Ranks that do the first and the last of three stages fill the pipeline, then take a micro-batch
 * back before they take another one on. */
static void backward_first(void **state)
{
    static const struct hps_todo want[] = {
        { false, 0, 0 }, { false, 0, 1 }, { false, 0, 2 }, { false, 2, 0 }, { true, 2, 0 },
        { false, 2, 1 }, { true, 2, 1 }, { false, 2, 2 }, { true, 2, 2 }, { false, 0, 3 },
        { false, 0, 4 }, { true, 0, 0 }, { false, 2, 3 }, { true, 2, 3 }
    };
    struct hps_todo list[32];
    int lead[] = { 0, 1, 0 };

    (void)state;
    assert_int_equal(hps_order_1f1b(3, lead, 0, 8, true, list), 32);
    for (int i = 0; i < 14; i++) {
        assert_int_equal(list[i].backward, want[i].backward);
        assert_int_equal(list[i].stage, want[i].stage);
        assert_int_equal(list[i].m, want[i].m);
    }
    assert_int_equal(hps_order_1f1b(3, lead, 2, 8, true, list), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_lead),
        cmocka_unit_test(backward_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
