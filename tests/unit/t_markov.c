/* Laws: the cost to go is that of the best of all plans without shared limits; the chain's gradient
 * is the derivative of its log P, and plans are drawn as often as P says; what was learned is
 * likelier; a move is a plan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "plan/feature.h"
#include "plan/learn.h"
#include "plan/propose.h"
#include "tests/lib/plan_make.h"

enum { L = 5, T = 3, PLANS = 243 };

static const struct hps_sched_opt preset = {
    .method = "rl", .objective = "model", .profile = "", .plan = "", .policy = "", .warm = "",
    .polish = true, .seed = 1, .evaluations = 100000,
};

struct desk {
    struct hps_profile *p;
    struct hps_pricer *pr;
    struct hps_value *value;
    struct hps_markov *c;
};

static struct hps_problem problem_of(const struct hps_profile *p)
{
    return (struct hps_problem){ .profile = p, .opt = &preset, .argument = "" };
}

/* Wide room: drawing minds nothing but P. */
static struct desk desk_of(uint64_t seed, double tau)
{
    struct desk k = { .p = make_profile(seed, L, T, 1000, 0) };
    struct hps_problem q = problem_of(k.p);

    for (int t = 0; t < T; t++)
        k.p->type[t].limit = 1000;
    k.pr = hps_pricer_new(&q);
    k.value = hps_value_new(L, T);
    hps_value_fill(k.value, k.p, hps_pricer_cost(k.pr), hps_pricer_capacities(k.pr), tau);
    k.c = hps_markov_new(L, T);
    k.c->value = k.value;
    k.c->sharp = 1;
    for (int a = 0; a < L * T; a++) {
        k.c->go[a] = hps_rng_normal(hps_rng_key(seed, "go"), (uint64_t)a);
        k.c->stay[a] = hps_rng_normal(hps_rng_key(seed, "stay"), (uint64_t)a);
    }
    hps_markov_refresh(k.c);
    return k;
}

static void desk_free(struct desk *k)
{
    hps_markov_free(k->c);
    hps_value_free(k->value);
    hps_pricer_free(k->pr);
    hps_profile_free(k->p);
}

static void plan_of(int n, int *type)
{
    for (int l = 0; l < L; l++, n /= T)
        type[l] = n % T;
}

static int number_of(const int *type)
{
    int n = 0;

    for (int l = L; l-- > 0;)
        n = n * T + type[l];
    return n;
}

/* USD an hour of the least units at tau, every stage for itself. */
static double dear(const struct desk *k, const int *type, double tau)
{
    double sum = 0;

    for (int i = 0, j; i < L; i = j) {
        for (j = i + 1; j < L && type[j] == type[i]; j++)
            continue;
        long long units = 1;
        while (units <= 1000 && make_et(k->p, i, j - 1, type[i], units) > tau)
            units++;
        sum += units > 1000 ? INFINITY : k->p->type[type[i]].price_usd_hour * (double)units;
    }
    return sum;
}

static void value_is_the_best_plan(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        double tau = 2e-4 * exp2((double)(seed % 5)), least = INFINITY;
        struct desk k = desk_of(seed, tau * (1 + 1e-9));
        int type[L];
        for (int n = 0; n < PLANS; n++) {
            plan_of(n, type);
            least = fmin(least, dear(&k, type, tau * (1 + 1e-9)));
        }
        /* cutting inside one type may only help: it drops what parts of one stage share */
        assert_true(isinf(least) || k.value->rest[0] <= least * (1 + 1e-9));
        assert_true(isinf(least) || k.value->rest[0] >= 0.3 * least);
        assert_true(k.value->unit > 0);
        desk_free(&k);
    }
}

static void gradient_is_the_derivative(void **state)
{
    struct desk k = desk_of(1, 1e-3);
    double e = 1e-6;
    int type[L];

    (void)state;
    plan_of(37, type);
    hps_markov_add(k.c, 0, L, type, 2);
    for (int a = 0; a < 2 * L * T; a++) {
        double *x = a < L * T ? k.c->go + a : k.c->stay + a - L * T, was = *x, up, down;
        double got = a < L * T ? k.c->dgo[a] : k.c->dstay[a - L * T];
        *x = was + e;
        hps_markov_refresh(k.c);
        up = hps_markov_log(k.c, 0, L, type);
        *x = was - e;
        hps_markov_refresh(k.c);
        down = hps_markov_log(k.c, 0, L, type);
        *x = was;
        assert_true(fabs((up - down) / e - got) < 1e-7);
    }
    hps_markov_clear(k.c);
    hps_markov_refresh(k.c);
    double before = hps_markov_entropy(k.c);
    hps_markov_add_entropy(k.c, 1);
    for (int a = 0; a < L * T; a++)
        k.c->go[a] += 0.1 * k.c->dgo[a];
    hps_markov_refresh(k.c);
    assert_true(hps_markov_entropy(k.c) > before);
    desk_free(&k);
}

static void plans_are_drawn_as_often_as_p_says(void **state)
{
    struct desk k = desk_of(2, 1e-3);
    enum { DRAWS = 40000 };
    static int seen[PLANS];
    double sum = 0;
    int type[L] = { 0 };

    (void)state;
    memset(seen, 0, sizeof seen);
    for (uint64_t n = 0; n < DRAWS; n++) {
        hps_markov_draw(k.c, k.pr, 0, L, hps_rng_sub(hps_rng_key(1, "draw"), n), type);
        seen[number_of(type)]++;
    }
    for (int n = 0; n < PLANS; n++) {
        plan_of(n, type);
        double p = exp(hps_markov_log(k.c, 0, L, type));
        sum += p;
        if (fabs(seen[n] - DRAWS * p) > 5 * sqrt(DRAWS * p) + 3)
            fail_msg("plan %d: drawn %d times, %g wanted", n, seen[n], DRAWS * p);
    }
    assert_true(fabs(sum - 1) < 1e-9);
    desk_free(&k);
}

static void windows_leave_the_rest(void **state)
{
    struct desk k = desk_of(3, 1e-3);
    int type[L], next[L];

    (void)state;
    for (uint64_t n = 0; n < 200; n++) {
        plan_of((int)(n % PLANS), type);
        memcpy(next, type, sizeof next);
        hps_markov_draw(k.c, k.pr, 1, 3, n, next);
        for (int l = 0; l < L; l++)
            assert_true(next[l] >= 0 && next[l] < T && (next[l] == type[l] || (l > 0 && l < 3)));
        bool moved = hps_propose_move(k.c, type, next, n);
        assert_int_equal(moved, memcmp(type, next, sizeof next) != 0);
        for (int l = 0; l < L; l++)
            assert_in_range(next[l], 0, T - 1);
    }
    desk_free(&k);
}

static void what_is_taught_is_likelier(void **state)
{
    struct hps_profile *p = make_profile(5, 8, 4, 6, 0);
    struct hps_problem q = problem_of(p);
    struct hps_policy *policy = hps_policy_new(HPS_CELL_LSTM, HPS_FEATURES, HPS_LEARN_OUTPUTS, 1);
    struct hps_plan *plan;
    double first, last = 0;
    bool proven;

    (void)state;
    hps_exact_max_throughput(p, 0, &plan, &proven);
    first = hps_learn_teach(&q, policy, plan, 0.5);
    for (int n = 0; n < 40; n++) {
        hps_policy_step(policy, 0.01);
        last = hps_learn_teach(&q, policy, plan, 0.5);
    }
    if (!(last > 0.5 * first))
        fail_msg("log P from %g to %g", first, last);
    hps_plan_free(plan);
    hps_policy_free(policy);
    hps_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(value_is_the_best_plan),
        cmocka_unit_test(gradient_is_the_derivative),
        cmocka_unit_test(plans_are_drawn_as_often_as_p_says),
        cmocka_unit_test(windows_leave_the_rest),
        cmocka_unit_test(what_is_taught_is_likelier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
