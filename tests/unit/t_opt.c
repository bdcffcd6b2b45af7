/* t_opt: the rate of a step is what the deck says, warm-up and decay included; the rule it makes is
 * the textbook's on a device; what contradicts itself is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "tests/lib/twin.h"
#include "tests/lib/toy.h"

/* The `train` section of a text, bound; the deck lives until the test's end. */
static struct hps_deck *deck;
static const struct hps_item *section;

static struct hps_train_opt train(const char *keys)
{
    struct hps_train_opt opt;
    char text[256];

    hps_deck_free(deck);
    snprintf(text, sizeof text, "train: {%s}", keys);
    assert_int_equal(hps_deck_parse(&deck, "toy.yaml", text, strlen(text), 0, NULL), HPS_OK);
    assert_int_equal(hps_deck_map(deck, "train", &section), HPS_OK);
    assert_int_equal(hps_deck_bind(deck, section, hps_train_fields, NULL, NULL, &opt), HPS_OK);
    return opt;
}

static int forget(void **state)
{
    (void)state;
    hps_deck_free(deck);
    deck = NULL;
    return hps_mem_held_bytes() != 0;
}

static void rate_is(const char *keys, long long step, long long total, double want)
{
    struct hps_train_opt opt = train(keys);
    double got = (double)hps_opt_rule(&opt, NULL, hps_update_of(step, total)).lr;

    if (fabs(got - want) > 1e-6 * fabs(want))
        fail_msg("%s: step %lld of %lld: rate %g, wanted %g", keys, step, total, got, want);
}

/* W workers' updates have the rates of one worker with a batch W times as large. */
static void rates_go_by_examples(void **state)
{
    const char *keys[2][4] = {
        { "warmup_steps: 12, decay: linear", "warmup_steps: 12, decay: cosine",
          "decay: exponential, decay_steps: 12",
          "warmup_steps: 24, decay: linear, decay_steps: 30" },
        { "warmup_steps: 4, decay: linear", "warmup_steps: 4, decay: cosine",
          "decay: exponential, decay_steps: 4", "warmup_steps: 8, decay: linear, decay_steps: 10" },
    };

    (void)state;
    for (int i = 0; i < 4; i++)
        for (long long k = 0; k < 20; k++) {
            struct hps_train_opt opt = train(keys[0][i]);
            struct hps_update update = { 3 * k, 60, 3, k, 0, 0 };
            struct hps_rule mine = hps_opt_rule(&opt, NULL, update);
            opt = train(keys[1][i]);
            struct hps_rule one = hps_opt_rule(&opt, NULL, hps_update_of(k, 20));
            if (fabsf(mine.lr - one.lr) > 1e-6f || mine.step != one.step)
                fail_msg("%s, update %lld: rate %g, not %g", keys[0][i], k, (double)mine.lr,
                         (double)one.lr);
        }
}

static void the_defaults_are_the_designs(void **state)
{
    struct hps_train_opt opt = train("");
    struct hps_rule rule = hps_opt_rule(&opt, NULL, hps_update_of(41, 100));

    (void)state;
    assert_int_equal(rule.kind, HPS_RULE_ADAGRAD);
    assert_int_equal(rule.nstate, 1);
    assert_true(rule.lr == 0.05f && rule.l2 == 0 && rule.scale == 1);
    assert_true(rule.beta2 == 0.999);   /* to the last digit: rmsprop moves by 1 - beta2 */
    assert_int_equal(rule.step, 42);
    assert_int_equal(opt.epochs, 6);
    assert_int_equal(opt.steps, 0);
    assert_int_equal(hps_train_check(&opt, section), HPS_OK);
}

static void the_rate_warms_up_and_decays(void **state)
{
    (void)state;
    rate_is("learning_rate: 2", 7, 10, 2);
    rate_is("learning_rate: 2, warmup_steps: 4", 0, 10, 0.5);
    rate_is("learning_rate: 2, warmup_steps: 4", 2, 10, 1.5);
    rate_is("learning_rate: 2, warmup_steps: 4", 4, 10, 2);
    rate_is("learning_rate: 2, warmup_steps: 40", 9, 10, 0.5);          /* never warm */

    rate_is("learning_rate: 2, decay: linear, decay_to: 0.5", 0, 11, 2);
    rate_is("learning_rate: 2, decay: linear, decay_to: 0.5", 5, 11, 1.5);
    rate_is("learning_rate: 2, decay: linear, decay_to: 0.5", 10, 11, 1);
    rate_is("learning_rate: 2, decay: linear, decay_to: 0", 10, 11, 0);
    rate_is("learning_rate: 2, decay: linear, decay_to: 0.5, decay_steps: 4", 2, 99, 1.5);
    rate_is("learning_rate: 2, decay: linear, decay_to: 0.5, decay_steps: 4", 50, 99, 1);
    rate_is("learning_rate: 2, decay: linear, decay_to: 0, warmup_steps: 6", 8, 11, 1);

    rate_is("learning_rate: 2, decay: cosine, decay_to: 0.5", 0, 11, 2);
    rate_is("learning_rate: 2, decay: cosine, decay_to: 0.5", 5, 11, 1.5);
    rate_is("learning_rate: 2, decay: cosine, decay_to: 0", 2, 9, 1 + sqrt(0.5));
    rate_is("learning_rate: 2, decay: cosine, decay_to: 0.5", 10, 11, 1);

    rate_is("learning_rate: 2, decay: exponential, decay_to: 0.25", 5, 11, 1);
    rate_is("learning_rate: 2, decay: exponential, decay_to: 0.5, decay_steps: 3", 9, 99, 0.25);
    rate_is("learning_rate: 2, decay: exponential, decay_to: 0.5, decay_steps: 3, warmup_steps: 3",
            9, 99, 0.5);
    rate_is("learning_rate: 2, decay: linear", 0, 1, 2);                /* a run of one step */
}

static void a_rule_is_the_textbooks(void **state)
{
    static const char *const keys[] = {
        "optimizer: sgd, learning_rate: 0.1, l2: 0.01",
        "optimizer: adagrad, learning_rate: 0.1, initial_accumulator: 0.2, l2: 0.01",
        "optimizer: adagrad, learning_rate: 0.1, decay: linear",
        "optimizer: adam, learning_rate: 0.01, beta1: 0.8, beta2: 0.99, epsilon: 1e-4, l2: 0.1",
        "optimizer: momentum, learning_rate: 0.1, momentum: 0.8, l2: 0.1",
        "optimizer: momentum, learning_rate: 0.1, nesterov: true",
        "optimizer: rmsprop, learning_rate: 0.01, beta2: 0.9, l2: 0.1",
        "optimizer: lamb, learning_rate: 0.1, epsilon: 1e-6, l2: 0.1",
        "optimizer: ftrl, learning_rate: 0.1, l1: 0.3, l2: 0.1, ftrl_beta: 0.5",
        "optimizer: ftrl, initial_accumulator: 0.1, warmup_steps: 9",
    };
    enum { W = 37, STEPS = 12 };
    struct hps_dev dev;

    (void)state;
    assert_int_equal(hps_dev_cpu.open(&dev, 0, 2), HPS_OK);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        struct hps_train_opt opt = train(keys[k]);
        float w[W], g[W], s[2 * W];
        double tw[W], tg[W], ts[2 * W];
        twin_fill_f(1, W, w);
        twin_widen(1, W, w, 0, tw);
        struct hps_rule begin = hps_opt_rule(&opt, NULL, hps_update_of(0, STEPS));
        hps_opt_init_states(&begin, W, w, s);
        twin_widen(1, W * begin.nstate, s, 0, ts);
        for (int step = 0; step < STEPS; step++) {
            struct hps_rule rule = hps_opt_rule(&opt, NULL, hps_update_of(step, STEPS));
            rule.scale = 0.5f;
            twin_fill_f((uint64_t)step, W, g);
            twin_widen(1, W, g, 0, tg);
            dev.ops->dense->update(&dev, &rule, W, w, g, s, W);
            twin_rule(&rule, W, tw, tg, ts, ts + W);
            assert_true(twin_error_f(W, w, tw) <= 1e-5);
            for (int i = 0; i < W; i++)
                assert_true(g[i] == 0);
        }
    }
    dev.ops->close(&dev);
}

/* What n weights w begin with under `keys`. */
static struct hps_rule start(const char *keys, size_t n, const float *w, float *s)
{
    struct hps_train_opt opt = train(keys);
    struct hps_rule rule = hps_opt_rule(&opt, NULL, hps_update_of(0, 1));

    hps_opt_init_states(&rule, n, w, s);
    return rule;
}

static void starts_and_states(void **state)
{
    float w[3] = { 0.5f, 0, -2 }, was[3] = { 0.5f, 0, -2 }, g[3] = { 0 }, s[6];
    struct hps_dev dev;

    (void)state;
    assert_int_equal(start("optimizer: adagrad, initial_accumulator: 0.3", 3, w, s).nstate, 1);
    assert_true(s[0] == 0.3f && s[2] == 0.3f);
    assert_int_equal(start("optimizer: adam, initial_accumulator: 0.3", 3, w, s).nstate, 2);
    assert_true(s[0] == 0 && s[5] == 0);
    assert_int_equal(start("optimizer: sgd", 3, w, s).nstate, 0);
    /* ftrl knows weights only by its states: without a gradient it must find the first ones */
    struct hps_rule rule = start("optimizer: ftrl, l1: 2, l2: 1, initial_accumulator: 1", 3, w, s);
    assert_int_equal(hps_dev_cpu.open(&dev, 0, 1), HPS_OK);
    dev.ops->dense->update(&dev, &rule, 3, w, g, s, 3);
    dev.ops->close(&dev);
    for (int i = 0; i < 3; i++)
        assert_true(fabsf(w[i] - was[i]) <= 1e-6f * fabsf(was[i]));
}

/* Least |w| where ftrl's l1 is above the sum of gradients: exactly 0, not just small. */
static void ftrl_forgets_what_is_not_needed(void **state)
{
    float w = 0, g = 0.4f, s[2];
    struct hps_rule rule = start("optimizer: ftrl, l1: 1, learning_rate: 1", 1, &w, s);
    struct hps_dev dev;

    (void)state;
    assert_int_equal(hps_dev_cpu.open(&dev, 0, 1), HPS_OK);
    for (int i = 0; i < 2; i++, g = 0.4f)
        dev.ops->dense->update(&dev, &rule, 1, &w, &g, s, 1);
    assert_true(w == 0);
    dev.ops->dense->update(&dev, &rule, 1, &w, &g, s, 1);
    assert_true(w < 0);
    dev.ops->close(&dev);
}

static void who_learns_how(void **state)
{
    struct hps_train_opt opt = train("optimizer: adam, learning_rate: 0.5, decay: linear, "
                                     "table_optimizer: ftrl, table_learning_rate: 0.2");
    struct hps_opt_override rows = { .table = true }, layer = { .optimizer = "sgd" };
    struct hps_opt_override mine = { "momentum", 0.1, true };
    struct hps_rule r = hps_opt_rule(&opt, &rows, hps_update_of(50, 101));

    (void)state;
    assert_true(r.kind == HPS_RULE_FTRL && r.lr == 0.2f);       /* alpha stays as it is */
    r = hps_opt_rule(&opt, NULL, hps_update_of(0, 101));
    assert_true(r.kind == HPS_RULE_ADAM && r.lr == 0.5f);
    r = hps_opt_rule(&opt, &layer, hps_update_of(0, 101));
    assert_true(r.kind == HPS_RULE_SGD && r.lr == 0.5f);
    r = hps_opt_rule(&opt, &mine, hps_update_of(0, 101));
    assert_true(r.kind == HPS_RULE_MOMENTUM && r.lr == 0.1f && r.nstate == 1);
    opt = train("optimizer: adam, learning_rate: 0.5");
    r = hps_opt_rule(&opt, &rows, hps_update_of(0, 101));
    assert_true(r.kind == HPS_RULE_ADAM && r.lr == 0.5f);
    opt = train("table_optimizer: row_adagrad");
    r = hps_opt_rule(&opt, &rows, hps_update_of(0, 1));
    assert_int_equal(hps_rule_stride(&r, 10), 11);
    assert_string_equal(hps_opt_name(&opt, &rows), "row_adagrad");
    assert_string_equal(hps_opt_name(&opt, NULL), "adagrad");
}

static void contradictions_are_refused(void **state)
{
    struct hps_train_opt opt = train("epochs: 0, steps: 0");

    (void)state;
    toy_listen();
    assert_int_equal(hps_train_check(&opt, section), HPS_DECK);
    assert_non_null(strstr(toy_heard(), "toy.yaml:1:17: train.epochs: "));
    opt = train("epochs: 0, steps: 5");
    assert_int_equal(hps_train_check(&opt, section), HPS_OK);
    opt = train("decay: exponential, decay_to: 0");
    toy_listen();
    assert_int_equal(hps_train_check(&opt, section), HPS_DECK);
    assert_non_null(strstr(toy_heard(), "train.decay_to: must be above 0"));
    opt = train("optimizer: row_adagrad");
    toy_listen();
    assert_int_equal(hps_train_check(&opt, section), HPS_DECK);
    assert_non_null(strstr(toy_heard(), "train.optimizer: row_adagrad keeps a state a row"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_defaults_are_the_designs, forget),
        cmocka_unit_test_teardown(rates_go_by_examples, forget),
        cmocka_unit_test_teardown(the_rate_warms_up_and_decays, forget),
        cmocka_unit_test_teardown(a_rule_is_the_textbooks, forget),
        cmocka_unit_test_teardown(starts_and_states, forget),
        cmocka_unit_test_teardown(ftrl_forgets_what_is_not_needed, forget),
        cmocka_unit_test_teardown(who_learns_how, forget),
        cmocka_unit_test_teardown(contradictions_are_refused, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
