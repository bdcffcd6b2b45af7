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
#include "toy.h"
#include "twin.h"

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
    double got = (double)hps_opt_rule(&opt, step, total).lr;

    if (fabs(got - want) > 1e-6 * fabs(want))
        fail_msg("%s: step %lld of %lld: rate %g, wanted %g", keys, step, total, got, want);
}

static void the_defaults_are_the_designs(void **state)
{
    struct hps_train_opt opt = train("");
    struct hps_rule rule = hps_opt_rule(&opt, 41, 100);

    (void)state;
    assert_int_equal(rule.kind, HPS_RULE_ADAGRAD);
    assert_int_equal(rule.nstate, 1);
    assert_true(rule.lr == 0.05f && rule.l2 == 0 && rule.scale == 1);
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
        for (int i = 0; i < 2 * W; i++)
            ts[i] = (double)(s[i] = hps_opt_start(&opt));
        for (int step = 0; step < STEPS; step++) {
            struct hps_rule rule = hps_opt_rule(&opt, step, STEPS);
            rule.scale = 0.5f;
            twin_fill_f((uint64_t)step, W, g);
            twin_widen(1, W, g, 0, tg);
            dev.ops->update(&dev, &rule, W, w, g, s);
            twin_rule(&rule, W, tw, tg, ts, ts + W);
            assert_true(twin_error_f(W, w, tw) <= 1e-5);
            for (int i = 0; i < W; i++)
                assert_true(g[i] == 0);
        }
    }
    dev.ops->close(&dev);
}

static void starts_and_states(void **state)
{
    struct hps_train_opt opt = train("optimizer: adagrad, initial_accumulator: 0.3");

    (void)state;
    assert_true(hps_opt_start(&opt) == 0.3f);
    opt = train("optimizer: adam, initial_accumulator: 0.3");
    assert_true(hps_opt_start(&opt) == 0);
    assert_int_equal(hps_opt_rule(&opt, 0, 1).nstate, 2);
    opt = train("optimizer: sgd");
    assert_int_equal(hps_opt_rule(&opt, 0, 1).nstate, 0);
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
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_defaults_are_the_designs, forget),
        cmocka_unit_test_teardown(the_rate_warms_up_and_decays, forget),
        cmocka_unit_test_teardown(a_rule_is_the_textbooks, forget),
        cmocka_unit_test_teardown(starts_and_states, forget),
        cmocka_unit_test_teardown(contradictions_are_refused, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
