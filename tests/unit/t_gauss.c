/* Law: the process gives back the values of its plans, is sure of them and less sure the further
 * away; growing by a plan, dropping plans and starting anew give the same answer, which is that of
 * the normal equations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "plan/gauss.h"

enum { L = 7, N = 24, ASKED = 40 };

static void random_plan(int *type, uint64_t key)
{
    for (int l = 0; l < L; l++)
        type[l] = (int)(4 * hps_rng_real(key, (uint64_t)l));
}

/* Near plans have near values: the sum of what each layer brings. */
static double value_of(const int *type)
{
    double sum = 0;

    for (int l = 0; l < L; l++)
        sum += sin(1 + l + 3 * type[l]);
    return sum;
}

static struct hps_gauss *new_process(void)
{
    double weight[L];

    for (int l = 0; l < L; l++)
        weight[l] = (l + 1) / 28.0;
    return hps_gauss_new(L, N, weight);
}

static void fill(struct hps_gauss *g, int n, double *value)
{
    int type[L];

    for (uint64_t key = 0; hps_gauss_count(g) < n; key++) {
        random_plan(type, hps_rng_sub(1, key));
        if (hps_gauss_add(g, type))
            value[hps_gauss_count(g) - 1] = value_of(type);
        assert_false(hps_gauss_add(g, type));
    }
}

static void known_plans_have_their_values(void **state)
{
    struct hps_gauss *g = new_process();
    double value[N], mean[ASKED], deviation[ASKED];
    int type[ASKED][L];

    (void)state;
    fill(g, N, value);
    random_plan(type[0], 99);
    assert_false(hps_gauss_add(g, type[0]));        /* no room */
    hps_gauss_fit(g, value);
    hps_gauss_solve(g, value);
    hps_gauss_predict(g, N, hps_gauss_plan(g, 0), mean, deviation);
    for (int i = 0; i < N; i++) {
        assert_true(fabs(mean[i] - value[i]) < 1e-3);
        assert_true(deviation[i] == 0);
    }
    double error = 0, plain = 0;
    for (int c = 0; c < ASKED; c++) {               /* neighbours of known plans */
        for (int l = 0; l < L; l++)
            type[c][l] = hps_gauss_plan(g, c % N)[l];
        type[c][c % L] = (type[c][c % L] + 1) % 4;
    }
    hps_gauss_predict(g, ASKED, type[0], mean, deviation);
    for (int c = 0; c < ASKED; c++) {
        assert_true(deviation[c] >= 0 && isfinite(mean[c]));
        error += pow(mean[c] - value_of(type[c]), 2);
        plain += pow(value_of(type[c]), 2);
    }
    assert_true(error < 0.7 * plain);               /* it has learned something */
    hps_gauss_free(g);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

/* Nearer is surer: one layer off a known plan, then all of them. */
static void doubt_grows_with_distance(void **state)
{
    struct hps_gauss *g = new_process();
    int type[2][L] = { { 0 } };
    double mean[2], deviation[2], value[] = { 1, 2 };

    (void)state;
    hps_gauss_add(g, type[0]);
    type[0][3] = 1;
    hps_gauss_add(g, type[0]);
    hps_gauss_solve(g, value);
    type[0][6] = 1;
    for (int l = 0; l < L; l++)
        type[1][l] = 2 + l % 2;
    hps_gauss_predict(g, 2, type[0], mean, deviation);
    assert_true(0 < deviation[0] && deviation[0] < deviation[1]);
    assert_true(mean[0] > 1.5 && fabs(mean[1] - 1.5) < fabs(mean[0] - 1.5));
    hps_gauss_free(g);
}

/* The same plans by growing, by growing and dropping, and all at once. */
static void the_way_does_not_matter(void **state)
{
    struct hps_gauss *all = new_process(), *step = new_process(), *dropped = new_process();
    double value[N], mean[3][ASKED], deviation[3][ASKED];
    int type[ASKED][L], keep[N / 2], n = N / 2;
    struct hps_gauss *way[] = { all, step, dropped };

    (void)state;
    fill(dropped, N, value);
    hps_gauss_solve(dropped, value);
    for (int i = 0; i < n; i++) {
        keep[i] = 2 * i + 1;
        hps_gauss_add(all, hps_gauss_plan(dropped, keep[i]));
        hps_gauss_add(step, hps_gauss_plan(dropped, keep[i]));
        value[i] = value[keep[i]];
        hps_gauss_solve(step, value);               /* grows a row at a time */
    }
    hps_gauss_keep(dropped, n, keep);
    for (int c = 0; c < ASKED; c++)
        random_plan(type[c], hps_rng_sub(3, (uint64_t)c));
    for (int w = 0; w < 3; w++) {
        hps_gauss_solve(way[w], value);
        hps_gauss_predict(way[w], ASKED, type[0], mean[w], deviation[w]);
    }
    for (int w = 1; w < 3; w++)
        for (int c = 0; c < ASKED; c++) {
            assert_true(fabs(mean[w][c] - mean[0][c]) < 1e-8);
            assert_true(fabs(deviation[w][c] - deviation[0][c]) < 1e-8);
        }
    for (int w = 0; w < 3; w++)
        hps_gauss_free(way[w]);
}

/* Two plans by hand: correlations r between them, p and q to the one that is asked for. */
static void the_normal_equations_by_hand(void **state)
{
    double half[] = { 0.5, 0.5 }, value[] = { 3, 5 }, mean, deviation;
    struct hps_gauss *g = hps_gauss_new(2, 4, half);
    double r = exp(-4 * 0.5 - 1), p = exp(-4 * 0.5 - 1), q = exp(-4.0), d = 1 + 1e-6;

    (void)state;
    hps_gauss_add(g, (int[]){ 0, 0 });
    hps_gauss_add(g, (int[]){ 0, 1 });
    hps_gauss_solve(g, value);
    hps_gauss_predict(g, 1, (int[]){ 1, 0 }, &mean, &deviation);
    double det = d * d - r * r;
    double want = 4 + (p * (-d - r) + q * (d + r)) / det;
    double height = (2 * d + 2 * r) / det / 2;
    double rest = 1 - (d * p * p - 2 * r * p * q + d * q * q) / det;
    assert_true(fabs(mean - want) < 1e-12);
    assert_true(fabs(deviation - sqrt(height * rest)) < 1e-12);
    hps_gauss_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_plans_have_their_values),
        cmocka_unit_test(doubt_grows_with_distance),
        cmocka_unit_test(the_way_does_not_matter),
        cmocka_unit_test(the_normal_equations_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
