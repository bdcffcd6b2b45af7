/* Law: a plan is valid or refused, never repaired; written and read again it is the same; ranks
 * are placed in rank order, or the plan is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "plan/cost.h"
#include "tests/lib/plan_make.h"

static struct hps_plan *example(const struct hps_profile *p)
{
    struct hps_plan *plan = hps_plan_of_assignment(6, (const int[]){ 1, 1, 0, 0, 0, 1 });

    for (int s = 0; s < plan->S; s++)
        plan->stage[s].units = s + 1;
    strcpy(plan->method, "exact");
    hps_cost_of(plan, p);
    hps_plan_name(plan, p);
    plan->lower_bound_usd = plan->cost_usd / 3;
    plan->gap = 2.0 / 3;
    plan->evaluations = 77;
    plan->search_seconds = 0.1;
    return plan;
}

static struct hps_profile *pool(void)
{
    struct hps_profile *p = make_profile(5, 6, 2, 4, 0);

    p->type[0].limit = 3;
    p->type[1].limit = 5;
    return p;
}

static void runs_become_stages(void **state)
{
    struct hps_plan *plan = hps_plan_of_assignment(6, (const int[]){ 1, 1, 0, 0, 0, 1 });
    static const int first[] = { 0, 2, 5 }, last[] = { 1, 4, 5 }, type[] = { 1, 0, 1 };

    (void)state;
    assert_int_equal(plan->S, 3);
    for (int s = 0; s < 3; s++) {
        assert_int_equal(plan->stage[s].first, first[s]);
        assert_int_equal(plan->stage[s].last, last[s]);
        assert_int_equal(plan->stage[s].type, type[s]);
    }
    hps_plan_free(plan);
}

static void read_again_is_the_same(void **state)
{
    struct hps_profile *p = pool();
    struct hps_plan *a, *b, *plan = example(p);

    (void)state;
    p->server_units = 1;
    hps_cost_of(plan, p);
    char *text = hps_plan_text(plan);
    assert_int_equal(hps_plan_save(plan, "t_plan.json"), HPS_OK);
    assert_int_equal(hps_plan_load(&a, "t_plan.json"), HPS_OK);
    unlink("t_plan.json");
    assert_int_equal(hps_plan_check(a, p, "again"), HPS_OK);
    hps_cost_of(a, p);
    a->lower_bound_usd = plan->lower_bound_usd;
    a->gap = plan->gap;
    a->evaluations = plan->evaluations;
    a->search_seconds = plan->search_seconds;
    b = hps_plan_copy(a);
    char *again = hps_plan_text(b);
    assert_string_equal(text, again);
    hps_mem_free(text);
    hps_mem_free(again);
    hps_plan_free(plan);
    hps_plan_free(a);
    hps_plan_free(b);
    hps_profile_free(p);
}

static enum hps_status checked(const struct hps_plan *plan, const struct hps_profile *p)
{
    return hps_plan_check(plan, p, "changed");
}

static void another_is_refused(void **state)
{
    struct hps_profile *p = pool(), *longer = make_profile(5, 7, 2, 4, 0);
    struct hps_profile *wider = make_profile(5, 6, 3, 4, 0);
    struct hps_plan *plan = example(p);

    (void)state;
    for (int t = 0; t < 3; t++)
        wider->type[t].limit = 9;
    assert_int_equal(checked(plan, p), HPS_OK);
    assert_int_equal(checked(plan, longer), HPS_DECK);
    assert_int_equal(checked(plan, wider), HPS_DECK);
    strcpy(p->type[1].name, "other");
    assert_int_equal(checked(plan, p), HPS_DECK);
    strcpy(p->type[1].name, "t1");
    strcpy(p->layer[3].name, "other");
    assert_int_equal(checked(plan, p), HPS_DECK);
    hps_plan_free(plan);
    hps_profile_free(p);
    hps_profile_free(longer);
    hps_profile_free(wider);
}

static void invalid_is_refused(void **state)
{
    struct hps_profile *p = pool();
    struct hps_plan *plan = example(p);
    struct hps_plan_stage *g = plan->stage;
    struct { int *what, value; } wrong[] = {
        { &g[0].first, 1 }, { &g[0].first, -1 }, { &g[1].first, 3 }, { &g[1].last, 1 },
        { &g[2].last, 6 }, { &g[2].last, 4 }, { &g[1].type, 2 }, { &g[1].type, -1 },
    };

    (void)state;
    for (size_t a = 0; a < sizeof wrong / sizeof *wrong; a++) {
        int good = *wrong[a].what;
        *wrong[a].what = wrong[a].value;
        assert_int_equal(checked(plan, p), HPS_DECK);
        *wrong[a].what = good;
    }
    plan->S = 2;
    assert_int_equal(checked(plan, p), HPS_DECK);
    plan->S = 3;
    g[1].units = 0;
    assert_int_equal(checked(plan, p), HPS_DECK);
    g[1].units = 3;
    assert_int_equal(checked(plan, p), HPS_OK);
    g[1].units = 4;
    assert_int_equal(checked(plan, p), HPS_DECK);
    g[1].units = 3;
    g[0].units = 3;
    assert_int_equal(checked(plan, p), HPS_DECK);
    g[0].units = 2;
    p->server_units = 1;
    assert_int_equal(checked(plan, p), HPS_DECK);
    hps_plan_free(plan);
    hps_profile_free(p);
}

/* Of another number of workers, or with units that they cannot share equally. */
static void workers_share_equally_or_are_refused(void **state)
{
    struct hps_profile *p = pool();
    struct hps_plan *a, *plan = example(p);

    (void)state;
    p->type[0].limit = p->type[1].limit = 40;
    p->workers = 3;
    assert_int_equal(checked(plan, p), HPS_DECK);
    for (int s = 0; s < plan->S; s++)
        plan->stage[s].units = 3 * (s + 1);
    hps_cost_of(plan, p);
    assert_int_equal(checked(plan, p), HPS_OK);
    plan->stage[1].units = 7;
    assert_int_equal(checked(plan, p), HPS_DECK);
    plan->stage[1].units = 6;
    char *text = hps_plan_text(plan);
    assert_int_equal(hps_plan_parse(&a, "text", text, strlen(text)), HPS_OK);
    assert_int_equal(a->workers, 3);
    assert_true(hps_plan_same_work(a, plan));
    assert_int_equal(checked(a, p), HPS_OK);
    a->workers = 1;
    assert_false(hps_plan_same_work(a, plan));
    assert_int_equal(checked(a, p), HPS_DECK);
    p->workers = 1;
    assert_int_equal(checked(a, p), HPS_OK);
    hps_mem_free(text);
    hps_plan_free(a);
    hps_plan_free(plan);
    hps_profile_free(p);
}

/* 600 bytes on 2 units, 200 whole and 400 in rows that are dealt: 400 on each. */
static void what_does_not_fit_is_refused(void **state)
{
    struct hps_profile *p = pool();
    struct hps_plan *plan = example(p);

    (void)state;
    for (int l = 0; l < p->L; l++)
        p->layer[l].weight_bytes = 1;
    p->layer[2].weight_bytes = 140;
    p->layer[2].state_bytes = 58;
    p->layer[3].weight_bytes = 300;
    p->layer[3].state_bytes = 100;
    p->type[0].memory_bytes = 398.9;
    assert_int_equal(checked(plan, p), HPS_DECK);
    assert_false(hps_cost_feasible(plan, p, 0));
    p->type[0].memory_bytes = 399;
    assert_int_equal(checked(plan, p), HPS_OK);
    assert_true(hps_cost_feasible(plan, p, 0));
    assert_true(hps_memory_min_units(p, 0, hps_plan_holds(plan, p, 1)) == 2);
    p->type[0].memory_bytes = 198;
    assert_true(hps_memory_min_units(p, 0, hps_plan_holds(plan, p, 1)) == HPS_MEMORY_NEVER);
    hps_plan_free(plan);
    hps_profile_free(p);
}

/* A checkpoint keeps half of a unit's rows, or half of the memory that is left. */
static void old_rows_have_what_is_left(void **state)
{
    static const double has[] = { 0, 1000, 170, 140 }, keeps[] = { 20, 20, 15, 0 };
    struct hps_profile *p = pool();
    struct hps_memory m = { .whole = 100, .rows = 80 };

    (void)state;
    for (int i = 0; i < 4; i++) {
        p->type[0].memory_bytes = has[i];
        assert_true(hps_memory_snapshot(p, 0, m, 2) == keeps[i]);
    }
    p->type[0].gpu = true;
    assert_true(hps_memory_snapshot(p, 0, m, 2) == 40);
    hps_profile_free(p);
}

/* Stages 0 and 2 of type 1 share 3 of its units; 2 of type 0 are left to stage 1. */
static struct hps_plan *sharing(const struct hps_profile *p)
{
    struct hps_plan *plan = example(p);

    plan->stage[0].units = 3;
    hps_plan_share(plan, 1);
    plan->share[0][1] = 2;
    hps_cost_of(plan, p);
    return plan;
}

static void shared_units_work_for_two_and_are_paid_once(void **state)
{
    struct hps_profile *p = pool();
    struct hps_plan *plan = sharing(p), *copy = hps_plan_copy(plan), *read;
    static const int type[] = { 1, 1, 0, 0, 1 }, wanted[] = { 0, 0, 1, 1, 0 };
    int stage[5];
    double tau, cost = make_cost(p, plan, &tau);

    (void)state;
    p->type[1].limit = 3;
    assert_int_equal(checked(plan, p), HPS_OK);
    assert_true(hps_cost_feasible(plan, p, 0));
    assert_true(fabs(plan->cost_usd - cost) <= 1e-14 * cost);
    assert_true(plan->throughput * (plan->stage[0].et + plan->stage[2].et) <= 1 + 1e-15);
    assert_true(hps_cost_feasible(plan, p, 1 / tau) && !hps_cost_feasible(plan, p, 1.01 / tau));
    assert_int_equal(hps_plan_place(plan, 5, type, stage), HPS_OK);
    assert_memory_equal(stage, wanted, sizeof stage);
    char *text = hps_plan_text(copy);
    assert_int_equal(hps_plan_parse(&read, "text", text, strlen(text)), HPS_OK);
    assert_int_equal(read->nshare, 1);
    assert_memory_equal(read->share, plan->share, sizeof *plan->share);
    hps_mem_free(text);
    hps_plan_free(plan);
    hps_plan_free(copy);
    hps_plan_free(read);
    hps_profile_free(p);
}

static void pairs_that_cannot_be_are_refused(void **state)
{
    struct hps_profile *p = pool();
    static const int wrong[][2] = { { 0, 1 }, { 2, 0 }, { 0, 0 }, { 0, 3 }, { -1, 2 } };

    (void)state;
    for (size_t a = 0; a < sizeof wrong / sizeof *wrong; a++) {
        struct hps_plan *plan = sharing(p);
        memcpy(plan->share[0], wrong[a], sizeof wrong[a]);
        assert_int_equal(checked(plan, p), HPS_DECK);
        hps_plan_free(plan);
    }
    struct hps_plan *plan = sharing(p);
    plan->stage[2].units = 2;
    assert_int_equal(checked(plan, p), HPS_DECK);
    plan->stage[2].units = 3;
    hps_plan_share(plan, 2);
    plan->share[0][1] = plan->share[1][1] = 2;
    assert_int_equal(checked(plan, p), HPS_DECK);
    hps_plan_free(plan);
    hps_profile_free(p);
}

static enum hps_status parse(const char *text)
{
    struct hps_plan *plan;
    enum hps_status s = hps_plan_parse(&plan, "text", text, strlen(text));

    assert_int_equal(s == HPS_OK, plan != NULL);
    hps_plan_free(plan);
    return s;
}

#define HEAD "{\"format\": \"heterps-plan-1\", \"method\": \"me\", "

static void files_are_read_strictly(void **state)
{
    struct hps_plan *plan;

    (void)state;
    assert_int_equal(parse(HEAD "\"assignment\": [0, 0], \"stages\": "
                           "[{\"first\": 0, \"last\": 0, \"type\": 0, \"units\": 1},"
                           " {\"first\": 1, \"last\": 1, \"type\": 0, \"units\": 2}]}"), HPS_OK);
    assert_int_equal(parse("{\"format\": \"heterps-plan-1\", \"assignment\": [0], \"stages\": "
                           "[{\"first\": 0, \"last\": 0, \"type\": 0, \"units\": 1}]}"), HPS_OK);
    assert_int_equal(parse(HEAD "\"assignment\": [0, 1], \"stages\": "
                           "[{\"first\": 0, \"last\": 1, \"type\": 0, \"units\": 1}]}"), HPS_DECK);
    assert_int_equal(parse(HEAD "\"assignment\": [0, 0.5], \"stages\": "
                           "[{\"first\": 0, \"last\": 1, \"type\": 0, \"units\": 1}]}"), HPS_DECK);
    assert_int_equal(parse(HEAD "\"assignment\": [0], \"stages\": "
                           "[{\"first\": 0, \"last\": 0, \"type\": 0, \"units\": 1.5}]}"),
                     HPS_DECK);
    static const char *const share[] = { "[[0, 1]]", "0", "[0, 1]", "[[0]]", "[[0, 2]]",
                                         "[[0, -1]]", "[[0, 1, 1]]", "[[0, 0.5]]" };
    for (size_t a = 0; a < sizeof share / sizeof *share; a++) {
        char *text = hps_mem_print(HEAD "\"assignment\": [0, 0], \"share\": %s, \"stages\": "
                                   "[{\"first\": 0, \"last\": 0, \"type\": 0, \"units\": 1},"
                                   " {\"first\": 1, \"last\": 1, \"type\": 0, \"units\": 1}]}",
                                   share[a]);
        assert_int_equal(parse(text), a == 0 ? HPS_OK : HPS_DECK);
        hps_mem_free(text);
    }
    static const char *const workers[] = { "1", "4", "0", "-1", "1.5", "\"1\"", "null", "1e18" };
    for (size_t a = 0; a < sizeof workers / sizeof *workers; a++) {
        char *text = hps_mem_print(HEAD "\"assignment\": [0], \"workers\": %s, \"stages\": "
                                   "[{\"first\": 0, \"last\": 0, \"type\": 0, \"units\": 4}]}",
                                   workers[a]);
        assert_int_equal(parse(text), a < 2 ? HPS_OK : HPS_DECK);
        hps_mem_free(text);
    }
    assert_int_equal(parse(HEAD "\"assignment\": [0], \"layer_names\": [\"a\"], "
                           "\"type_names\": [], "
                           "\"stages\": [{\"first\": 0, \"last\": 0, \"type\": 0, \"units\": 1}]}"),
                     HPS_DECK);
    assert_int_equal(parse(HEAD "\"assignment\": [0], \"stages\": []}"), HPS_DECK);
    assert_int_equal(parse(HEAD "\"assignment\": [], \"stages\": []}"), HPS_DECK);
    assert_int_equal(parse(HEAD "\"assignment\": [0], \"stages\": [1]}"), HPS_DECK);
    assert_int_equal(parse(HEAD "\"assignment\": [0]}"), HPS_DECK);
    assert_int_equal(parse("{}"), HPS_DECK);
    assert_int_equal(hps_plan_load(&plan, "no/such/plan.json"), HPS_INPUT);
}

static void ranks_in_order(void **state)
{
    struct hps_profile *p = pool();
    struct hps_plan *plan = example(p);         /* 1 of type 1, 2 of type 0, 3 of type 1 */
    static const int type[] = { 0, 1, 1, 1, 0, 1, 0, 1 }, wanted[] = { 1, 0, 2, 2, 1, 2, -1, -1 };
    int stage[8];

    (void)state;
    assert_int_equal(hps_plan_place(plan, 8, type, stage), HPS_OK);
    assert_memory_equal(stage, wanted, sizeof stage);
    assert_int_equal(hps_plan_place(plan, 5, type, stage), HPS_DECK);
    hps_plan_free(plan);
    hps_profile_free(p);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_become_stages),  cmocka_unit_test(read_again_is_the_same),
        cmocka_unit_test(another_is_refused),  cmocka_unit_test(invalid_is_refused),
        cmocka_unit_test(workers_share_equally_or_are_refused),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(old_rows_have_what_is_left),
        cmocka_unit_test(shared_units_work_for_two_and_are_paid_once),
        cmocka_unit_test(pairs_that_cannot_be_are_refused),
        cmocka_unit_test(files_are_read_strictly), cmocka_unit_test(ranks_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
