/* Law: every method's plan is feasible, priced right and certified, no method beats exact, and a
 * wish that no method can meet is refused. */
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
#include "plan/sched.h"
#include "tests/lib/plan_make.h"

static const struct hps_sched_opt preset = {
    .method = "exact", .objective = "model", .profile = "", .plan = "", .policy = "", .warm = "",
    .polish = true, .throughput_limit = INFINITY, .seconds = 10, .replan_margin = 0.1, .seed = 1,
};

static enum hps_status run(const struct hps_profile *p, const char *method, double limit,
                           struct hps_plan **plan)
{
    struct hps_sched_opt opt = preset;

    opt.method = method;
    opt.throughput_limit = limit;
    opt.plan = strcmp(method, "file") == 0 ? "t_sched.json" : "";
    return hps_sched_run(plan, p, &opt);
}

static void every_method_is_in_the_list(void **state)
{
    const char *argument;

    (void)state;
    assert_string_equal(hps_sched_find("exact", &argument)->name, "exact");
    assert_string_equal(argument, "");
    assert_string_equal(hps_sched_find("single:a:b", &argument)->name, "single");
    assert_string_equal(argument, "a:b");
    assert_null(hps_sched_find("single", &argument));
    assert_null(hps_sched_find("single:", &argument));
    assert_null(hps_sched_find("exact:", &argument));
    assert_null(hps_sched_find("exac", &argument));
    assert_null(hps_sched_find("", &argument));
    char words[256], *at = words;
    strcpy(words, hps_sched_words());
    for (char *w; (w = strsep(&at, "|"));)
        assert_non_null(hps_sched_find(strchr(w, ':') ? "single:x" : w, &argument));
}

static void the_table_has_the_presets(void **state)
{
    struct hps_sched_opt opt;
    struct hps_deck *deck;

    (void)state;
    assert_int_equal(hps_deck_parse(&deck, "text", "a: 1\n", 5, 0, NULL), HPS_OK);
    assert_int_equal(hps_deck_bind(deck, NULL, hps_sched_fields, NULL, NULL, &opt), HPS_OK);
    assert_string_equal(opt.method, "rl");
    assert_string_equal(opt.plan, "");
    assert_true(isinf(opt.throughput_limit) && opt.seconds == 10 && opt.polish && opt.seed == 1);
    assert_false(opt.replan || opt.share || opt.evaluations);
    assert_int_equal(hps_sched_check(&opt), HPS_OK);
    hps_deck_free(deck);
}

static void what_does_not_work_is_refused(void **state)
{
    struct hps_sched_opt o;

    (void)state;
    o = preset, o.method = "magic";
    assert_int_equal(hps_sched_check(&o), HPS_DECK);
    o = preset, o.policy = "p.h5";
    assert_int_equal(hps_sched_check(&o), HPS_DECK);
    o = preset, o.warm = "greedy";      /* exact begins with nothing */
    assert_int_equal(hps_sched_check(&o), HPS_DECK);
    o = preset, o.method = "ils", o.warm = "ils";
    assert_int_equal(hps_sched_check(&o), HPS_DECK);
    o = preset, o.method = "ils", o.warm = "magic";
    assert_int_equal(hps_sched_check(&o), HPS_DECK);
    o = preset, o.method = "ils", o.warm = "file";
    assert_int_equal(hps_sched_check(&o), HPS_DECK);
    o = preset, o.method = "ils", o.warm = "file", o.plan = "p.json";
    assert_int_equal(hps_sched_check(&o), HPS_OK);
    o = preset, o.method = "ils", o.warm = "greedy";
    assert_int_equal(hps_sched_check(&o), HPS_OK);
    o = preset, o.replan = true;
    assert_int_equal(hps_sched_check(&o), HPS_OK);
    o.method = "file", o.plan = "p.json";
    assert_int_equal(hps_sched_check(&o), HPS_DECK);
    o = preset, o.plan = "p.json";
    assert_int_equal(hps_sched_check(&o), HPS_DECK);
    o = preset, o.method = "file";
    assert_int_equal(hps_sched_check(&o), HPS_DECK);
}

/* Whatever the method: the plan is what it says, and its bound is exact's cost. */
static void check(const struct hps_profile *p, const char *method, double limit, double least)
{
    struct hps_plan *plan;
    enum hps_status s = run(p, method, limit, &plan);

    if (s) {
        assert_int_equal(s, HPS_DECK);
        assert_null(plan);
        assert_string_not_equal(method, "exact");
        return;
    }
    double tau, cost = make_cost(p, plan, &tau);
    assert_string_equal(plan->method, method);
    assert_int_equal(hps_plan_check(plan, p, method), HPS_OK);
    assert_true(fabs(cost - plan->cost_usd) <= 1e-12 * cost);
    assert_true(fabs(tau * plan->throughput - 1) <= 1e-12);
    assert_true(hps_cost_feasible(plan, p, limit));
    assert_true(fabs(plan->lower_bound_usd - least) <= 1e-9 * least);
    assert_true(fabs(plan->gap - (1 - least / cost)) <= 2e-9);
    assert_true(plan->evaluations > 0);
    hps_plan_free(plan);
}

static void no_method_beats_exact(void **state)
{
    static const char *const method[] = { "exact", "heuristic", "single:t0", "single:t1" };
    bool proven;

    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct hps_profile *p = make_profile(seed, 6, 3, 12, 0);
        double limit = 0.5 * hps_exact_max_throughput(p, 0, NULL, &proven);
        double least = hps_exact_bound(p, limit, 0, 0, NULL, &proven);
        for (size_t m = 0; m < 4; m++)
            check(p, method[m], limit, least);
        hps_profile_free(p);
    }
}

static void max_is_the_most_of_the_pool(void **state)
{
    struct hps_plan *plan, *fast;
    bool proven;

    (void)state;
    for (uint64_t seed = 50; seed < 70; seed++) {
        struct hps_profile *p = make_profile(seed, 7, 3, 9, 0);
        double most = hps_exact_max_throughput(p, 0, &fast, &proven);
        assert_int_equal(run(p, "exact", INFINITY, &plan), HPS_OK);
        assert_true(fabs(plan->throughput / most - 1) <= 1.001e-9);
        assert_true(plan->cost_usd <= fast->cost_usd * (1 + 1e-9));
        assert_true(plan->gap == 0);
        hps_plan_free(plan);
        hps_plan_free(fast);
        hps_profile_free(p);
    }
}

/* Where the stages are given, it is the most of these stages. */
static void max_is_the_most_of_fixed_stages(void **state)
{
    struct hps_profile *p = make_profile(80, 6, 2, 9, 0);
    struct hps_plan *plan;

    (void)state;
    assert_int_equal(run(p, "single:t1", INFINITY, &plan), HPS_OK);
    double least = make_et(p, 0, 5, 1, p->type[1].limit);
    assert_true(fabs(plan->throughput * least - 1) <= 1e-9);
    hps_plan_free(plan);
    assert_int_equal(run(p, "single:t1", 1.01 / least, &plan), HPS_DECK);
    assert_int_equal(run(p, "single:t3", 0, &plan), HPS_DECK);
    assert_null(plan);
    hps_profile_free(p);
}

static void heuristic_by_hand(void **state)
{
    struct hps_profile *p = make_profile(90, 6, 4, 9, 0);
    static const int wanted[] = { 2, 1, 2, 1 };     /* layers 0 and 3 have tables */
    struct hps_plan *plan;

    (void)state;
    strcpy(p->layer[3].type, "attention");          /* layer 0 is an embedding */
    for (int t = 0; t < 4; t++) {
        p->type[t].limit = 9;
        p->type[t].price_usd_hour = 4 - t;      /* 3 is the cheapest, but a GPU */
        for (int l = 0; l < 6; l++)
            p->oct[l * 4 + t] = t == 1 ? 0.1 : 0.2;
        p->oct[0 * 4 + t] = p->oct[3 * 4 + t] = t == 0 ? 0.01 : 1;
    }
    assert_int_equal(run(p, "heuristic", 0, &plan), HPS_OK);
    assert_int_equal(plan->S, 4);
    for (int s = 0; s < 4; s++)
        assert_int_equal(plan->stage[s].type, wanted[s]);
    hps_plan_free(plan);
    p->type[0].gpu = p->type[2].gpu = true;
    assert_int_equal(run(p, "heuristic", 0, &plan), HPS_DECK);
    hps_profile_free(p);
}

/* Two stages of one type beside each other: no other method makes them, a file may. */
static void a_file_may_cut_inside_one_type(void **state)
{
    struct hps_profile *p = make_profile(100, 6, 2, 9, 0);
    struct hps_plan *cut = hps_plan_new(6, 3), *plan;

    (void)state;
    p->type[0].limit = p->type[1].limit = 9;
    for (int s = 0; s < 3; s++)
        cut->stage[s] = (struct hps_plan_stage){ 2 * s, 2 * s + 1, s / 2, 2 + s, 0, 0, 0 };
    hps_plan_save(cut, "t_sched.json");
    assert_int_equal(run(p, "file", INFINITY, &plan), HPS_OK);
    assert_int_equal(plan->S, 3);
    double tau, cost = make_cost(p, plan, &tau);
    assert_true(fabs(cost - plan->cost_usd) <= 1e-12 * cost);
    assert_true(plan->gap > 0 && plan->lower_bound_usd < cost);
    assert_true(fabs(plan->lower_bound_usd - make_best_cuts(p, 1 / tau)) <= 1e-9 * cost);
    hps_plan_free(plan);
    assert_int_equal(run(p, "file", 0.99 / tau, &plan), HPS_OK);
    hps_plan_free(plan);
    assert_int_equal(run(p, "file", 1.01 / tau, &plan), HPS_DECK);
    p->type[0].limit = 4;
    assert_int_equal(run(p, "file", 0, &plan), HPS_DECK);
    assert_null(plan);
    unlink("t_sched.json");
    assert_int_equal(run(p, "file", 0, &plan), HPS_INPUT);
    hps_plan_free(cut);
    hps_profile_free(p);
}

/* Free units, layers that take no time, one layer, servers that leave nothing: no special answers.
 */
static void edges(void **state)
{
    struct hps_profile *p = make_profile(110, 4, 2, 3, 0);
    struct hps_plan *plan;

    (void)state;
    p->type[0].price_usd_hour = p->type[1].price_usd_hour = 0;
    assert_int_equal(run(p, "exact", INFINITY, &plan), HPS_OK);
    assert_true(plan->cost_usd == 0 && plan->gap == 0);
    hps_plan_free(plan);
    for (int a = 0; a < 8; a += 2)
        p->oct[a] = p->sync[a] = 0;
    assert_int_equal(run(p, "exact", INFINITY, &plan), HPS_OK);
    assert_true(isinf(plan->throughput) && plan->cost_usd == 0);
    char *text = hps_plan_text(plan);
    assert_non_null(strstr(text, "\"throughput\": null"));
    hps_mem_free(text);
    hps_plan_free(plan);
    hps_profile_free(p);
    p = make_profile(111, 1, 1, 1, 0);
    assert_int_equal(run(p, "exact", INFINITY, &plan), HPS_OK);
    hps_plan_free(plan);
    p->server_units = p->type[0].limit;
    assert_int_equal(run(p, "exact", 0, &plan), HPS_DECK);
    assert_int_equal(run(p, "exact", INFINITY, &plan), HPS_DECK);
    assert_int_equal(run(p, "single:t0", INFINITY, &plan), HPS_DECK);
    hps_profile_free(p);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_is_in_the_list),
        cmocka_unit_test(the_table_has_the_presets),
        cmocka_unit_test(what_does_not_work_is_refused),
        cmocka_unit_test(no_method_beats_exact),
        cmocka_unit_test(max_is_the_most_of_the_pool),
        cmocka_unit_test(max_is_the_most_of_fixed_stages),
        cmocka_unit_test(heuristic_by_hand),
        cmocka_unit_test(a_file_may_cut_inside_one_type),
        cmocka_unit_test(edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
