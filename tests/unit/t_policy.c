/* Laws: the network's gradient is the derivative of its outputs, for both cells, and its answer
 * does not depend on how the types are numbered; a policy that was saved is the same policy, and a
 * damaged one is refused; learning makes what was taught likelier. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/h5.h"
#include "base/mem.h"
#include "base/rng.h"
#include "plan/policy.h"

enum { L = 4, T = 3, F = 5, D = 2, N = L * T };

static double *random_numbers(int n, uint64_t seed)
{
    double *x = hps_mem_new((size_t)n, sizeof *x);

    for (int a = 0; a < n; a++)
        x[a] = hps_rng_normal(hps_rng_key(seed, "policy"), (uint64_t)a);
    return x;
}

static double value(struct hps_policy *p, const double *x, const double *weight)
{
    struct hps_policy_pass *a = hps_policy_pass_new(p, L, T);
    double out[N * D], sum = 0;

    hps_policy_forward(a, x, out);
    for (int n = 0; n < N * D; n++)
        sum += weight[n] * out[n];
    hps_policy_pass_free(a);
    return sum;
}

static void gradient_is_the_derivative(enum hps_cell cell)
{
    struct hps_policy *p = hps_policy_new(cell, F, D, hps_rng_key(3, "cell"));
    struct hps_policy_pass *a = hps_policy_pass_new(p, L, T);
    double *x = random_numbers(N * F, 1), *weight = random_numbers(N * D, 2), out[N * D];
    double worst = 0, e = 1e-5;

    for (int n = 0; n < p->nparam; n++)
        p->param[n] += 0.1 * hps_rng_normal(hps_rng_key(4, "more"), (uint64_t)n);
    hps_policy_forward(a, x, out);
    hps_policy_backward(a, weight);
    for (int n = 0; n < p->nparam; n += 7) {
        double was = p->param[n], up, down;
        p->param[n] = was + e;
        up = value(p, x, weight);
        p->param[n] = was - e;
        down = value(p, x, weight);
        p->param[n] = was;
        worst = fmax(worst, fabs((up - down) / (2 * e) - p->grad[n]));
    }
    assert_true(worst < 1e-8);
    hps_mem_free(x);
    hps_mem_free(weight);
    hps_policy_pass_free(a);
    hps_policy_free(p);
}

static void lstm_learns_downhill(void **state)
{
    (void)state;
    gradient_is_the_derivative(HPS_CELL_LSTM);
}

static void rnn_learns_downhill(void **state)
{
    (void)state;
    gradient_is_the_derivative(HPS_CELL_RNN);
}

static void types_have_no_numbers(void **state)
{
    struct hps_policy *p = hps_policy_new(HPS_CELL_LSTM, F, D, hps_rng_key(3, "cell"));
    struct hps_policy_pass *a = hps_policy_pass_new(p, L, T);
    double *x = random_numbers(N * F, 1), *y = random_numbers(N * F, 1), u[N * D], v[N * D];

    (void)state;
    for (int l = 0; l < L; l++)
        for (int t = 0; t < T; t++)
            memcpy(y + (l * T + t) * F, x + (l * T + (t + 1) % T) * F, F * sizeof *y);
    hps_policy_forward(a, x, u);
    hps_policy_forward(a, y, v);
    for (int l = 0; l < L; l++)
        for (int t = 0; t < T; t++)
            for (int d = 0; d < D; d++)
                assert_true(fabs(v[(l * T + t) * D + d] - u[(l * T + (t + 1) % T) * D + d]) <
                            1e-14);
    hps_mem_free(x);
    hps_mem_free(y);
    hps_policy_pass_free(a);
    hps_policy_free(p);
}

static void climbing_raises_the_value(void **state)
{
    struct hps_policy *p = hps_policy_new(HPS_CELL_LSTM, F, D, hps_rng_key(3, "cell"));
    struct hps_policy_pass *a = hps_policy_pass_new(p, L, T);
    double *x = random_numbers(N * F, 1), *weight = random_numbers(N * D, 2), out[N * D];
    double before = value(p, x, weight);

    (void)state;
    for (int n = 0; n < 20; n++) {
        hps_policy_forward(a, x, out);
        hps_policy_backward(a, weight);
        hps_policy_step(p, 0.01);
    }
    assert_true(value(p, x, weight) > before + 0.1);
    hps_mem_free(x);
    hps_mem_free(weight);
    hps_policy_pass_free(a);
    hps_policy_free(p);
}

static void refused(const char *what, enum hps_status wanted)
{
    struct hps_policy *p;

    if (hps_policy_load(&p, "p.h5", HPS_CELL_LSTM, F, D) != wanted || p)
        fail_msg("%s", what);
}

static void change(void (*make)(struct hps_h5 *h))
{
    struct hps_h5 h;

    assert_int_equal(hps_h5_change(&h, "p.h5"), HPS_OK);
    make(&h);
    assert_int_equal(hps_h5_close(&h), HPS_OK);
}

static void other_format(struct hps_h5 *h) { hps_h5_put_text(h, "/", "format", "other"); }
static void our_format(struct hps_h5 *h)
{
    hps_h5_put_text(h, "/", "format", "heterps-policy-1");
}
static void plain_cell(struct hps_h5 *h) { hps_h5_put_text(h, "/", "cell", "rnn"); }
static void lstm_cell(struct hps_h5 *h) { hps_h5_put_text(h, "/", "cell", "lstm"); }
static void huge(struct hps_h5 *h) { hps_h5_put_long(h, "/", "hidden", 1LL << 40); }
static void less(struct hps_h5 *h) { hps_h5_put_long(h, "/", "hidden", 7); }

/* A full disk, as a file size limit makes one: the policy of before stays, and nothing else. */
static void full_disk(const struct hps_policy *p)
{
    const struct rlimit none = { 0, RLIM_INFINITY };
    struct rlimit before;

    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    setrlimit(RLIMIT_FSIZE, &none);
    assert_int_equal(hps_policy_save(p, "p.h5"), HPS_OUTPUT);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_not_equal(access("p.h5.part", F_OK), 0);
}

static void saved_is_loaded(void **state)
{
    struct hps_policy *p = hps_policy_new(HPS_CELL_LSTM, F, D, hps_rng_key(3, "cell")), *q;

    (void)state;
    refused("missing", HPS_INPUT);
    assert_int_equal(hps_policy_save(p, "p.h5"), HPS_OK);
    full_disk(p);
    assert_int_equal(hps_policy_load(&q, "p.h5", HPS_CELL_LSTM, F, D), HPS_OK);
    assert_int_equal(q->nparam, p->nparam);
    for (int n = 0; n < p->nparam; n++)
        assert_true(q->param[n] == (double)(float)p->param[n]);
    hps_policy_free(q);
    change(other_format);
    refused("another format", HPS_DECK);
    change(our_format);
    change(plain_cell);
    refused("another cell", HPS_DECK);
    change(lstm_cell);
    change(huge);
    refused("a huge cell", HPS_DECK);
    change(less);
    refused("fewer weights than it says", HPS_DECK);
    p->param[11] = NAN;
    assert_int_equal(hps_policy_save(p, "p.h5"), HPS_OK);
    refused("a weight that is no number", HPS_DECK);
    assert_int_equal(hps_policy_save(p, "nowhere/p.h5"), HPS_OUTPUT);
    unlink("p.h5");
    hps_policy_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lstm_learns_downhill),
        cmocka_unit_test(rnn_learns_downhill),
        cmocka_unit_test(types_have_no_numbers),
        cmocka_unit_test(climbing_raises_the_value),
        cmocka_unit_test(saved_is_loaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
