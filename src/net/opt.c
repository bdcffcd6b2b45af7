/* opt.c - the deck's `train` section, and the update rule of one step. */
#include "net/opt.h"

#include <math.h>
#include <string.h>

#define FIELD(member, kind, preset, min, max, unit, help)                                          \
    HPS_FIELD(hps_train_opt, member, kind, preset, min, max, unit, help)
#define CHOICE(member, preset, words, help) HPS_CHOICE(hps_train_opt, member, preset, words, help)

const struct hps_field hps_train_fields[] = {
    CHOICE(optimizer, "adagrad", HPS_RULE_WORDS,
           "update rule; on rows all are lazy: only touched ones move"),
    FIELD(learning_rate, HPS_REAL, "0.05", 0, 1e6, "",
          "the rate, before warm-up and decay (ftrl: alpha, which stays as it is)"),
    CHOICE(table_optimizer, "same", "same|" HPS_RULE_WORDS, "of rows of tables; same: optimizer"),
    FIELD(table_learning_rate, HPS_REAL, "0", 0, 1e6, "", "of rows of tables; 0: learning_rate"),
    FIELD(epochs, HPS_LONG, "6", 0, 1e12, "", "passes over the data; 0: steps decide"),
    FIELD(steps, HPS_LONG, "0", 0, 1e15, "", "most steps; 0: epochs decide"),
    CHOICE(synchronization, "bsp", "bsp|ssp|asp|hybrid",
           "bsp: an update learns from a batch of each worker; ssp: workers are up to `staleness` "
           "clocks apart; asp: any number; hybrid: rows as ssp, dense weights as bsp"),
    FIELD(workers, HPS_INT, "1", 1, 1e6, "",
          "pipelines, each with a batch of its own, that share the units of each stage equally"),
    FIELD(staleness, HPS_LONG, "0", 0, 1e9, "clocks",
          "ssp, hybrid: a worker begins clock c when all have finished clock c - 1 - staleness"),
    FIELD(cache_clocks, HPS_LONG, "0", 0, 1000, "clocks",
          "ssp, hybrid: so long a worker keeps a row, and holds its gradients back; servers keep a "
          "bound of staleness less twice that; 0: no cache"),
    CHOICE(staleness_rate, "none", "none|inverse",
           "inverse: an update's rate is divided by the updates since its weights were read"),
    FIELD(aggregate, HPS_INT, "1", 1, 1e6, "gradients",
          "ssp, asp, hybrid: that a server applies together, as one sum; ssp, hybrid: at most "
          "staleness + 1"),
    FIELD(record, HPS_BOOL, "false", 0, 1, "",
          "keep the order in which servers serve workers in record.h5, for --replay"),
    FIELD(interleaving, HPS_LONG, "0", 0, 1e15, "",
          "seed of an order in which servers serve workers, for tests; 0: as they come"),
    CHOICE(precision, "fp32", HPS_PRECISION_WORDS,
           "of what large products multiply, sums are fp32; auto: bf16 where all ranks have it"),
    FIELD(momentum, HPS_REAL, "0.9", 0, 0.999999, "", "momentum: share of the last move"),
    FIELD(nesterov, HPS_BOOL, "false", 0, 1, "", "momentum: with the gradient looked ahead to"),
    FIELD(beta1, HPS_REAL, "0.9", 0, 0.999999, "", "adam, lamb: decay of the mean"),
    FIELD(beta2, HPS_REAL, "0.999", 0, 0.99999999, "",
          "adam, lamb, rmsprop: decay of the mean square"),
    FIELD(epsilon, HPS_REAL, "1e-8", 1e-30, 1, "", "added to the root of squares"),
    FIELD(initial_accumulator, HPS_REAL, "0", 0, 1e6, "",
          "adagrad, row_adagrad, ftrl: sum of squares at the start"),
    FIELD(ftrl_beta, HPS_REAL, "1", 0, 1e6, "", "ftrl: added to the root of squares"),
    FIELD(l1, HPS_REAL, "0", 0, 1e6, "", "ftrl: weights whose gradients sum up to less are 0"),
    FIELD(l2, HPS_REAL, "0", 0, 1e6, "",
          "times the weight, added to the gradient of dense weights and touched rows (lamb: to the "
          "move; ftrl: of the whole run)"),
    FIELD(clip, HPS_REAL, "0", 0, 1e30, "",
          "most norm of the whole gradient (asynchronous workers: each one's own); 0: no clipping"),
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

#define MIN_ALPHA 1e-30           /* ftrl divides by its rate; with this one weights stay */

static bool is(const char *word, const char *other)
{
    return strcmp(word, other) == 0;
}

bool hps_train_is_async(const struct hps_train_opt *opt)
{
    return is(opt->synchronization, "asp") ||
           (!is(opt->synchronization, "bsp") && opt->staleness > 0);
}

bool hps_train_sums_dense(const struct hps_train_opt *opt)
{
    return !hps_train_is_async(opt) || is(opt->synchronization, "hybrid");
}

bool hps_train_slows_stale(const struct hps_train_opt *opt)
{
    return is(opt->staleness_rate, "inverse");
}

long long hps_train_staleness(const struct hps_train_opt *opt)
{
    if (is(opt->synchronization, "asp")) return HPS_TRAIN_UNBOUNDED;
    return opt->staleness - 2 * opt->cache_clocks;
}

/* Has a worker a cache of rows, and can it have one? */
static enum hps_status check_cache(const struct hps_train_opt *opt, const struct hps_item *item)
{
    if (opt->cache_clocks == 0) return HPS_OK;
    if (is(opt->synchronization, "bsp") || is(opt->synchronization, "asp"))
        return hps_deck_wrong(item, "cache_clocks", "is a part of the bound of ssp and hybrid, not "
                              "for %s", opt->synchronization);
    if (opt->staleness < 2 * opt->cache_clocks)
        return hps_deck_wrong(item, "cache_clocks", "%lld needs a staleness of at least %lld",
                              opt->cache_clocks, 2 * opt->cache_clocks);
    if (opt->clip > 0)
        return hps_deck_wrong(item, "cache_clocks", "is not with clip: the gradient of a clock has "
                              "no norm before all of it is sent");
    if (opt->aggregate > 1)
        return hps_deck_wrong(item, "cache_clocks", "is not with aggregate: workers hold gradients "
                              "back, or servers do");
    return HPS_OK;
}

/* Can servers apply so many gradients together? */
static enum hps_status check_aggregate(const struct hps_train_opt *opt,
                                       const struct hps_item *item)
{
    if (opt->aggregate == 1) return HPS_OK;
    if (!hps_train_is_async(opt))
        return hps_deck_wrong(item, "aggregate", "is for workers that do not wait for each other: "
                              "%s merges the gradients of a clock", opt->synchronization);
    if (!is(opt->synchronization, "asp") && opt->aggregate > opt->staleness + 1)
        return hps_deck_wrong(item, "aggregate", "workers at most %lld clocks apart could wait for "
                              "%d gradients for ever: at most %lld", opt->staleness, opt->aggregate,
                              opt->staleness + 1);
    if (hps_train_slows_stale(opt))
        return hps_deck_wrong(item, "staleness_rate", "inverse is for gradients that are applied "
                              "one by one: aggregate of 1");
    return HPS_OK;
}

enum hps_status hps_train_check(const struct hps_train_opt *opt, const struct hps_item *item)
{
    if (opt->epochs == 0 && opt->steps == 0)
        return hps_deck_wrong(item, "epochs", "`epochs` and `steps` are both 0: when to stop?");
    if (is(opt->decay, "exponential") && opt->decay_to == 0)
        return hps_deck_wrong(item, "decay_to", "must be above 0 when decay is exponential");
    if (opt->staleness > 0 && (is(opt->synchronization, "bsp") || is(opt->synchronization, "asp")))
        return hps_deck_wrong(item, "staleness", "is a bound for ssp and hybrid, not for %s",
                              opt->synchronization);
    if (hps_train_is_async(opt) && is(opt->optimizer, "lamb"))
        return hps_deck_wrong(item, "optimizer", "lamb needs the norm of a layer, of which servers "
                              "have a share each: not with %s", opt->synchronization);
    if (check_cache(opt, item) || check_aggregate(opt, item)) return HPS_DECK;
    if (is(opt->optimizer, "row_adagrad"))
        return hps_deck_wrong(item, "optimizer", "row_adagrad keeps a state a row of a table: it "
                              "is for table_optimizer");
    return HPS_OK;
}

/* Factor of the rate: the first warm-up step has 1/warmup, the last step of the run (or of
 * decay_steps) has decay_to. */
static double schedule(const struct hps_train_opt *opt, struct hps_update u)
{
    const double pi = 3.14159265358979323846;
    long long after = u.step - opt->warmup_steps;
    long long span = opt->decay_steps ? opt->decay_steps : u.total - u.batches - opt->warmup_steps;

    if (after < 0) return fmin((double)(u.step + u.batches) / (double)opt->warmup_steps, 1);
    double progress = (double)after / (double)(span > 0 ? span : 1);
    if (is(opt->decay, "exponential")) return pow(opt->decay_to, progress);
    progress = progress < 1 ? progress : 1;
    if (is(opt->decay, "linear")) return 1 - (1 - opt->decay_to) * progress;
    if (is(opt->decay, "cosine"))
        return opt->decay_to + (1 - opt->decay_to) * (1 + cos(pi * progress)) / 2;
    return 1;
}

static const struct optimizer {
    const char *name;
    enum hps_rule_kind kind;
    int nstate, nrow;
    bool squares;
} optimizers[] = {
#define OPTIMIZER(kind, word, nstate, nrow, squares)                                               \
    { word, HPS_RULE_##kind, nstate, nrow, squares },
    HPS_RULES(OPTIMIZER)
#undef OPTIMIZER
};

const char *hps_opt_name(const struct hps_train_opt *opt, const struct hps_opt_override *override)
{
    if (override && override->optimizer && !is(override->optimizer, "same"))
        return override->optimizer;
    if (override && override->table && !is(opt->table_optimizer, "same"))
        return opt->table_optimizer;
    return opt->optimizer;
}

static double rate_of(const struct hps_train_opt *opt, const struct hps_opt_override *override)
{
    if (override && override->learning_rate > 0) return override->learning_rate;
    if (override && override->table && opt->table_learning_rate > 0)
        return opt->table_learning_rate;
    return opt->learning_rate;
}

struct hps_rule hps_opt_rule(const struct hps_train_opt *opt,
                             const struct hps_opt_override *override, struct hps_update update)
{
    const char *name = hps_opt_name(opt, override);
    const struct optimizer *k = optimizers;
    double rate = rate_of(opt, override);

    while (!is(k->name, name))
        k++;
    bool momentum = k->kind == HPS_RULE_MOMENTUM, ftrl = k->kind == HPS_RULE_FTRL;
    return (struct hps_rule){
        .kind = momentum && opt->nesterov ? HPS_RULE_NESTEROV : k->kind,
        .nstate = k->nstate,
        .nrow = k->nrow,
        .lr = (float)(ftrl ? fmax(rate, MIN_ALPHA)
                           : rate * schedule(opt, update) / fmax(1, (double)update.staleness)),
        .beta1 = momentum ? opt->momentum : opt->beta1,
        .beta2 = opt->beta2,
        .eps = (float)opt->epsilon,
        .beta = (float)opt->ftrl_beta,
        .l1 = (float)opt->l1,
        .l2 = (float)opt->l2,
        .start = k->squares ? (float)opt->initial_accumulator : 0,
        .scale = 1,
        .step = update.before + 1,
        .application = update.application,
    };
}

/* Algorithm 1 of McMahan et al. 2013, solved for z. */
static float z_of(const struct hps_rule *r, float w)
{
    float d = (r->beta + sqrtf(r->start)) / r->lr + r->l2;

    return w == 0 ? 0 : -(w * d + copysignf(r->l1, w));
}

void hps_opt_init_states(const struct hps_rule *r, size_t n, const float *w, float *state)
{
    size_t all = n * (size_t)r->nstate + (size_t)r->nrow;

    for (size_t i = 0; i < all; i++)
        state[i] = r->start;
    for (size_t i = 0; i < n && r->kind == HPS_RULE_FTRL; i++)
        state[n + i] = z_of(r, w[i]);
}
