/* Law: along the ladder costs and bounds rise, no cost is below its bound, each point is the
 * optimum of its limit, from the cheapest plan to the most of the pool; the drawing is whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "plan/pareto.h"
#include "tests/lib/plan_make.h"

static const struct hps_sched_opt preset = {
    .method = "exact", .objective = "model", .profile = "", .plan = "", .policy = "", .warm = "",
    .polish = true, .throughput_limit = INFINITY, .evaluations = 20000, .seed = 1,
};

static void check(const struct hps_pareto *f, bool optimal)
{
    bool proven;

    for (int i = 0; i < f->n; i++) {
        const struct hps_pareto_point *x = &f->point[i];
        double least = hps_exact_bound(f->profile, x->limit, 0, 0, NULL, &proven);
        assert_true(fabs(x->lower_bound_usd / least - 1) <= 1e-9);
        assert_true(isfinite(x->cost_usd) ? x->cost_usd >= least * (1 - 1e-9) : !optimal);
        assert_true(!optimal || x->cost_usd <= least * (1 + 1e-9));
        assert_true(isinf(x->cost_usd) || x->throughput * (1 + 1e-9) >= x->limit);
        assert_true(i == 0 || (x->limit > f->point[i - 1].limit &&
                               x->cost_usd >= f->point[i - 1].cost_usd &&
                               x->lower_bound_usd >= f->point[i - 1].lower_bound_usd));
    }
}

static int count(const char *text, const char *word)
{
    int n = 0;

    for (const char *at = text; (at = strstr(at, word)); at++)
        n++;
    return n;
}

static void the_ladder(void **state)
{
    struct hps_pareto *f;
    bool proven;

    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        struct hps_profile *p = make_profile(seed, 5, 3, 12, 0);
        struct hps_sched_opt opt = preset;
        assert_int_equal(hps_pareto_run(&f, p, &opt), HPS_OK);
        check(f, true);
        assert_true(fabs(f->point[f->n - 1].limit / hps_exact_max_throughput(p, 0, NULL, &proven) -
                         1) < 1e-9);
        assert_true(f->point[0].cost_usd <=
                    hps_exact_bound(p, 0, 0, 0, NULL, &proven) * (1 + 1e-9));
        hps_pareto_free(f);
        opt.method = "greedy";
        assert_int_equal(hps_pareto_run(&f, p, &opt), HPS_OK);
        check(f, false);
        hps_pareto_free(f);
        opt.method = "single:t1";
        assert_int_equal(hps_pareto_run(&f, p, &opt), HPS_OK);
        hps_pareto_free(f);
        hps_profile_free(p);
    }
}

static void what_is_shown(void **state)
{
    struct hps_profile *p = make_profile(1, 5, 3, 12, 0);
    struct hps_sched_opt opt = preset;
    struct hps_pareto *f;

    (void)state;
    assert_int_equal(hps_pareto_run(&f, p, &opt), HPS_OK);
    char *svg = hps_pareto_svg(f);
    assert_memory_equal(svg, "<svg xmlns=", 11);
    assert_string_equal(svg + strlen(svg) - 7, "</svg>\n");
    assert_int_equal(count(svg, "<path class=\"line got\""), 2);     /* curve and legend */
    assert_int_equal(count(svg, "<path class=\"line said\""), 2);
    assert_int_equal(count(svg, "<text") - count(svg, "</text>"), 0);
    assert_true(count(svg, "<circle") > 1 && !strstr(svg, "nan") && !strstr(svg, "inf"));
    hps_mem_free(svg);
    json_t *tree = hps_pareto_tree(f);
    assert_int_equal(json_array_size(json_object_get(tree, "points")), f->n);
    assert_int_equal(json_array_size(json_object_get(tree, "singles")), f->nsingle);
    json_decref(tree);
    hps_pareto_free(f);
    for (int t = 0; t < 3; t++)
        p->type[t].price_usd_hour = 0;          /* everything is free: still a frame */
    assert_int_equal(hps_pareto_run(&f, p, &opt), HPS_OK);
    svg = hps_pareto_svg(f);
    assert_null(strstr(svg, "nan"));
    hps_mem_free(svg);
    hps_pareto_free(f);
    hps_profile_free(p);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ladder),
        cmocka_unit_test(what_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
