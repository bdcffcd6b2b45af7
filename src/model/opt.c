/* opt.c - the deck's `train` section, and the update rule of one step. */
#include "model/opt.h"

#include <math.h>
#include <string.h>

#define FIELD(member, kind, preset, least, most, unit, help)                                       \
    HPS_FIELD(hps_train_opt, member, kind, preset, least, most, unit, help)
#define CHOICE(member, preset, words, help) HPS_CHOICE(hps_train_opt, member, preset, words, help)

const struct hps_field hps_train_fields[] = {
    CHOICE(optimizer, "adagrad", "sgd|adagrad|adam", "update rule (adam is lazy on rows)"),
    FIELD(learning_rate, HPS_REAL, "0.05", 0, 1e6, "", "the rate, before warm-up and decay"),
    FIELD(epochs, HPS_LONG, "6", 0, 1e12, "", "passes over the data; 0: steps decide"),
    FIELD(steps, HPS_LONG, "0", 0, 1e15, "", "most steps; 0: epochs decide"),
    CHOICE(synchronization, "bsp", "bsp", "every step ends on all ranks before the next"),
    CHOICE(precision, "fp32", "fp32", "of weights and of what travels"),
    FIELD(beta1, HPS_REAL, "0.9", 0, 0.999999, "", "adam: decay of the mean"),
    FIELD(beta2, HPS_REAL, "0.999", 0, 0.99999999, "", "adam: decay of the mean square"),
    FIELD(epsilon, HPS_REAL, "1e-8", 1e-30, 1, "", "adagrad, adam: added to the root"),
    FIELD(initial_accumulator, HPS_REAL, "0", 0, 1e6, "", "adagrad: sum of squares at the start"),
    FIELD(l2, HPS_REAL, "0", 0, 1e6, "",
          "times the weight, added to the gradient of dense weights and touched rows"),
    FIELD(clip, HPS_REAL, "0", 0, 1e30, "", "most norm of the whole gradient; 0: no clipping"),
    FIELD(warmup_steps, HPS_LONG, "0", 0, 1e12, "steps", "the rate rises linearly over these"),
    CHOICE(decay, "none", "none|linear|cosine|exponential", "of the rate after warm-up"),
    FIELD(decay_to, HPS_REAL, "0.1", 0, 1, "",
          "share of the rate that is left after decay_steps (exponential: after each)"),
    FIELD(decay_steps, HPS_LONG, "0", 0, 1e12, "steps", "length of the decay; 0: to the last step"),
    FIELD(eval_interval_steps, HPS_LONG, "0", 0, 1e12, "steps",
          "test after every so many; 0: only at the end"),
    FIELD(log_interval_seconds, HPS_REAL, "1", 0, 1e6, "s", "between two lines of progress"),
    { 0 }
};

static bool is(const char *word, const char *other)
{
    return strcmp(word, other) == 0;
}

enum hps_status hps_train_check(const struct hps_train_opt *opt, const struct hps_item *item)
{
    if (opt->epochs == 0 && opt->steps == 0)
        return hps_deck_wrong(item, "epochs", "`epochs` and `steps` are both 0: when to stop?");
    if (is(opt->decay, "exponential") && opt->decay_to == 0)
        return hps_deck_wrong(item, "decay_to", "must be above 0 when decay is exponential");
    return HPS_OK;
}

/* Share of the rate at a step: the first warm-up step has 1/warmup, the last step of the run (or of
 * decay_steps) has decay_to. */
static double share(const struct hps_train_opt *opt, long long step, long long total)
{
    const double half_turn = 3.14159265358979323846;
    long long after = step - opt->warmup_steps;
    long long span = opt->decay_steps ? opt->decay_steps : total - 1 - opt->warmup_steps;

    if (after < 0)
        return (double)(step + 1) / (double)opt->warmup_steps;
    double way = (double)after / (double)(span > 0 ? span : 1);
    if (is(opt->decay, "exponential"))
        return pow(opt->decay_to, way);
    way = way < 1 ? way : 1;
    if (is(opt->decay, "linear"))
        return 1 - (1 - opt->decay_to) * way;
    if (is(opt->decay, "cosine"))
        return opt->decay_to + (1 - opt->decay_to) * (1 + cos(half_turn * way)) / 2;
    return 1;
}

struct hps_rule hps_opt_rule(const struct hps_train_opt *opt, long long step, long long total)
{
    static const struct {
        const char *name;
        enum hps_rule_kind kind;
        int nstate;
    } rules[] = {
        { "sgd", HPS_RULE_SGD, 0 },
        { "adagrad", HPS_RULE_ADAGRAD, 1 },
        { "adam", HPS_RULE_ADAM, 2 },
    };
    size_t k = 0;

    while (!is(rules[k].name, opt->optimizer))
        k++;
    return (struct hps_rule){
        .kind = rules[k].kind,
        .nstate = rules[k].nstate,
        .lr = (float)(opt->learning_rate * share(opt, step, total)),
        .beta1 = (float)opt->beta1,
        .beta2 = (float)opt->beta2,
        .eps = (float)opt->epsilon,
        .l2 = (float)opt->l2,
        .scale = 1,
        .step = step + 1,
    };
}

float hps_opt_start(const struct hps_train_opt *opt)
{
    return is(opt->optimizer, "adagrad") ? (float)opt->initial_accumulator : 0;
}
