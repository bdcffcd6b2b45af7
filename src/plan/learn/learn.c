#include "plan/learn.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "hw/dev.h"
#include "plan/feature.h"
#include "plan/joint.h"
#include "plan/moves.h"
#include "plan/propose.h"

#define OUTPUTS HPS_LEARN_OUTPUTS
#define FRESH 100               /* whole plans drawn first, and after a restart                  */
#define AGAIN 12                /* after a restart                                                */
#define WINDOW 5                /* a window is L * u^WINDOW layers long, u uniform               */
#define SHARP_MIN     1.0 /* log2 of the Markov policy's sharpness: anything between these        */
#define SHARP_MAX     7.0
#define AT_HOME 0.8             /* so often plans are drawn near the tau of the plan at hand     */
#define NEAR_TAU 0.1            /* how near: of log tau                                          */
#define RATE 0.5                /* of the preferences of this problem                            */
#define FADE 0.02               /* what is learned for this problem fades by so much a batch     */
#define NET_RATE 0.003          /* of a network that has not learned before                      */
#define TOP 0.25                /* the best plan is learned with this weight in every batch      */
#define ENTROPY 0.005           /* the bonus; ENTROPY_FIRST more in the first batches            */
#define ENTROPY_FIRST 0.08
#define CALM 0.95               /* of the moving averages                                        */
#define WORSE 1.005             /* a plan that costs so much more is still a place to go on from */
#define SEEN 65536              /* plans that are remembered                                     */
#define SAME 20                 /* known plans in a row, before moves are made at random         */
#define PATIENCE 8              /* moves without a gain                                          */

/* The network, and what it computed for this problem. */
struct network {
    struct hps_policy *policy;
    struct hps_policy_pass *pass;
    bool ours, knows; /* the search frees the policy; it learned before      */
    double *x, *out;  /* (L, T, F) features, (L, T, OUTPUTS) preferences     */
};

/* The plans of a search; type (L) of each. */
struct plans {
    int *top, *home, *here; /* the best; where windows are drawn; the plan at hand */
    int *scratch;
    double top_price, run_price; /* of top; the best since the restart          */
    double home_tau;             /* 0: none yet                                         */
    uint64_t *seen;              /* (SEEN) hashes of plans that were drawn before       */
};

/* Moving averages of the reward, and of how far rewards are from it. */
struct baseline {
    double mean, deviation;
    long long rewards; /* so far */
};

struct learn {
    const struct hps_problem *q;
    struct hps_pricer *pr;
    struct hps_markov *markov;
    struct hps_value *value;
    struct hps_tau_grid grid;
    struct hps_joint *joint;    /* NULL: the units are the pricer's to find            */
    struct network net;
    struct plans plans;
    struct baseline baseline;
    double *bias;               /* (2, L, T) what is learned for this problem alone    */
    long long batch;            /* plans between two steps of learning                 */
    long long fresh;            /* whole plans still to be drawn                       */
    long long same;             /* plans in a row that were drawn before               */
    long long idle, stale;      /* plans since run_price, top_price became lower       */
};

static void copy(const struct learn *k, int *to, const int *from)
{
    memcpy(to, from, (size_t)k->pr->L * sizeof *to);
}

static size_t cells(const struct learn *k)
{
    return (size_t)k->pr->L * (size_t)k->pr->T;
}

/* The network's preferences, and what was learned since. */
static void set_markov(struct learn *k)
{
    for (size_t a = 0; a < cells(k); a++) {
        k->markov->go[a] = k->net.out[OUTPUTS * a] + k->bias[a];
        k->markov->stay[a] = k->net.out[OUTPUTS * a + 1] + k->bias[cells(k) + a];
    }
    hps_markov_refresh(k->markov);
}

static double sharpness(double u)
{
    return exp2(SHARP_MIN + (SHARP_MAX - SHARP_MIN) * u);
}

/* Another sharpness for every batch; another tau when its value has been used for as long as it
 * takes to compute. */
static void set_place(struct learn *k, long long batch, uint64_t key)
{
    k->markov->sharp = sharpness(hps_rng_real(key, 0));
    if (batch % (1 + (long long)cells(k) / 2000) != 0) return;
    double tau = hps_tau_grid_draw(&k->grid, hps_rng_sub(key, 0));
    if (k->plans.home_tau > 0 && k->fresh <= 0 && hps_rng_real(key, 1) < AT_HOME)
        tau = k->plans.home_tau * exp(NEAR_TAU * (hps_rng_real(key, 2) - 0.5));
    hps_tau_grid_value(&k->grid, k->q->profile, k->pr, k->value, tau);
}

static void look(struct learn *k)
{
    size_t n = cells(k);

    hps_dev_blas_alone();
    k->value = hps_value_new(k->pr->L, k->pr->T);
    k->markov = hps_markov_new(k->pr->L, k->pr->T);
    k->markov->value = k->value;
    k->net.x = hps_mem_new(n * HPS_FEATURES, sizeof *k->net.x);
    k->net.out = hps_mem_new(n * OUTPUTS, sizeof *k->net.out);
    k->bias = hps_mem_new(2 * n, sizeof *k->bias);
    k->net.pass = hps_policy_pass_new(k->net.policy, k->pr->L, k->pr->T);
    hps_tau_grid_fill(&k->grid, k->q->profile, k->pr, k->value);
    hps_feature_fill(k->q->profile, k->pr, &k->grid, k->value, k->net.x);
    hps_policy_forward(k->net.pass, k->net.x, k->net.out);
}

static enum hps_status begin(struct learn *k, struct hps_policy *policy, enum hps_cell cell,
                             uint64_t key)
{
    size_t L = (size_t)k->pr->L;
    enum hps_status s = HPS_OK;

    k->net.policy = policy;
    k->net.ours = !policy;
    k->net.knows = policy || *k->q->opt->policy;
    if (!policy && k->net.knows)
        s = hps_policy_load(&k->net.policy, k->q->opt->policy, cell, HPS_FEATURES, OUTPUTS);
    else if (!policy)
        k->net.policy = hps_policy_new(cell, HPS_FEATURES, OUTPUTS, hps_rng_sub(key, 0));
    if (s) return s;
    k->plans.seen = hps_mem_new(SEEN, sizeof *k->plans.seen);
    k->plans.top = hps_mem_new(L, sizeof(int));
    k->plans.home = hps_mem_new(L, sizeof(int));
    k->plans.here = hps_mem_new(L, sizeof(int));
    k->plans.scratch = hps_mem_new(L, sizeof(int));
    k->plans.top_price =
        hps_pricer_single_types(k->pr, k->plans.top); /* a short budget has these at least */
    look(k);
    k->batch = 16 + (long long)cells(k) / 100;
    k->plans.run_price = INFINITY;
    k->fresh = FRESH;
    copy(k, k->plans.home, k->plans.top);
    set_place(k, 0, hps_rng_sub(key, 1));
    set_markov(k);
    return HPS_OK;
}

static void end(struct learn *k)
{
    hps_policy_pass_free(k->net.pass);
    if (k->net.ours) hps_policy_free(k->net.policy);
    hps_markov_free(k->markov);
    hps_value_free(k->value);
    hps_joint_free(k->joint);
    hps_mem_free(k->net.x);
    hps_mem_free(k->net.out);
    hps_mem_free(k->bias);
    hps_mem_free(k->plans.seen);
    hps_mem_free(k->plans.top);
    hps_mem_free(k->plans.home);
    hps_mem_free(k->plans.here);
    hps_mem_free(k->plans.scratch);
    hps_pricer_free(k->pr);
}

/* Was the plan at hand drawn before? One that came later in its place made it forgotten. */
static bool again(struct learn *k)
{
    uint64_t mark = 1;

    for (int l = 0; l < k->pr->L; l++)
        mark = hps_rng_mix(mark * 0x9e3779b97f4a7c15u + (uint64_t)k->plans.here[l]);
    uint64_t *place = &k->plans.seen[mark % SEEN];
    bool is = *place == mark;
    *place = mark;
    return is;
}

/* The price of the plan at hand, after moves where it is better than all since the restart. */
static double price_of(struct learn *k, uint64_t key)
{
    bool polish = k->q->opt->polish;

    if (k->joint) {
        hps_joint_draw(k->joint, k->pr, k->value, k->plans.here, key);
        return hps_joint_price(k->joint, k->pr, k->plans.here, polish && k->idle % 8 == 0);
    }
    double price = hps_pricer_price(k->pr, k->plans.here, INFINITY);
    if (polish && price < k->plans.run_price)
        price = hps_propose_local_search(k->markov, k->pr, k->plans.here, k->plans.scratch, price,
                                         PATIENCE, key);
    return price;
}

/* A whole plan, or a window of the plan to go on from; its price. INFINITY: it was drawn before. */
static double draw(struct learn *k, uint64_t key)
{
    int L = k->pr->L, from = 0, n = L;

    if (k->fresh > 0 || !k->q->opt->polish) {
        k->fresh--;
    } else {
        copy(k, k->plans.here, k->plans.home);
        n = 1 + (int)(pow(hps_rng_real(key, 0), WINDOW) * L);
        from = (int)(hps_rng_real(key, 1) * (L - n + 1));
    }
    hps_markov_draw(k->markov, k->pr, from, from + n, hps_rng_sub(key, 2), k->plans.here);
    k->same = !k->joint && again(k) ? k->same + 1 : 0;
    if (k->same > SAME && k->q->opt->polish) {
        hps_moves_perturb(k->plans.here, k->plans.scratch, L, k->pr->T, 1, hps_rng_sub(key, 4));
        k->same = again(k) ? k->same : 0;
    }
    return k->same > 0 ? INFINITY : price_of(k, hps_rng_sub(key, 3));
}

static void go_home(struct learn *k, double price)
{
    copy(k, k->plans.home, k->plans.here);
    if (price < k->pr->ceiling && isfinite(hps_pricer_price(k->pr, k->plans.here, INFINITY)))
        k->plans.home_tau = hps_pricer_last_tau(k->pr);
}

/* Keep what is better; from where the next windows are drawn. */
static void accept(struct learn *k, double price)
{
    bool better = price < k->plans.run_price;

    k->idle = better ? 0 : k->idle + 1;
    k->stale++;
    if (price < k->plans.top_price) {
        k->stale = 0;
        k->plans.top_price = price;
        copy(k, k->plans.top, k->plans.here);
    }
    if (better) k->plans.run_price = price;
    if (better ||
        (price < k->pr->ceiling && price <= k->plans.run_price * WORSE &&
         memcmp(k->plans.home, k->plans.here, (size_t)k->pr->L * sizeof *k->plans.home) != 0))
        go_home(k, price);
}

/* REINFORCE: the reward is -log price, in units of how it varies, above its moving average. */
static void reward(struct learn *k, double price)
{
    double value = -log(price), gain;

    if (!isfinite(value)) return;
    if (k->baseline.rewards++ == 0) k->baseline.mean = value;
    gain = value - k->baseline.mean;
    k->baseline.mean += (1 - CALM) * gain;
    k->baseline.deviation += (1 - CALM) * (fabs(gain) - k->baseline.deviation);
    gain = k->baseline.deviation > 0 ? gain / k->baseline.deviation : 0;
    gain = fmax(-2, fmin(2, gain)) / (double)k->batch;
    hps_markov_add(k->markov, 0, k->pr->L, k->plans.here, gain);
    if (k->joint) hps_joint_add(k->joint, gain);
}

/* The Markov policy's gradient to the network's; the outputs are lost. */
static void pass_back(struct learn *k)
{
    for (size_t a = 0; a < cells(k); a++) {
        k->net.out[OUTPUTS * a] = k->markov->dgo[a];
        k->net.out[OUTPUTS * a + 1] = k->markov->dstay[a];
    }
    hps_policy_backward(k->net.pass, k->net.out);
}

static void step_network(struct learn *k)
{
    pass_back(k);
    hps_policy_step(k->net.policy, NET_RATE);
    hps_policy_forward(k->net.pass, k->net.x, k->net.out);
}

/* A step of learning after each batch. A pass of the network over all cells takes as long as many
 * plans, so the network learns less often. */
static void step(struct learn *k, long long batch, uint64_t key)
{
    size_t n = cells(k);

    hps_markov_add_entropy(k->markov, ENTROPY + ENTROPY_FIRST / (1 + (double)batch / 8));
    hps_markov_add(k->markov, 0, k->pr->L, k->plans.top, TOP);
    if (!k->net.knows && batch % (32 + (long long)n / 2) == 0) step_network(k);
    for (size_t a = 0; a < n; a++) {
        k->bias[a] += RATE * k->markov->dgo[a] - FADE * k->bias[a];
        k->bias[n + a] += RATE * k->markov->dstay[a] - FADE * k->bias[n + a];
    }
    if (k->joint) hps_joint_step(k->joint, RATE, FADE);
    hps_markov_clear(k->markov);
    set_place(k, batch, key);
    set_markov(k);
}

/* Nothing gained for long: forget this problem; go on from the next plan whatever it is, a window
 * of the best or a new one. */
static void restart(struct learn *k, uint64_t key)
{
    k->idle = 0;
    k->plans.run_price = INFINITY;
    copy(k, k->plans.home, k->plans.top);
    if (hps_rng_real(key, 0) < 0.5) k->fresh = AGAIN;
    memset(k->bias, 0, 2 * cells(k) * sizeof *k->bias);
    if (k->joint) hps_joint_forget(k->joint);
    set_markov(k);
}

static void search(struct learn *k, uint64_t key)
{
    long long L = k->pr->L, patience = 60 + L, max = 20000 + 1000 * L;

    for (uint64_t n = 1; !hps_pricer_over(k->pr) && k->stale < max; n++) {
        uint64_t mine = hps_rng_sub(key, n);
        double price = draw(k, hps_rng_sub(mine, 0));
        accept(k, price);
        reward(k, price);
        if (n % (uint64_t)k->batch == 0) {
            if (hps_pricer_late(k->pr))     /* plans that come again price nothing */
                break;
            step(k, (long long)(n / (uint64_t)k->batch), hps_rng_sub(mine, 1));
        }
        if (k->idle > patience) restart(k, hps_rng_sub(mine, 2));
    }
}

enum hps_status hps_learn_run(const struct hps_problem *q, struct hps_policy *policy,
                              enum hps_cell cell, bool joint, uint64_t key,
                              struct hps_plan **best)
{
    struct learn k = { .q = q, .pr = hps_pricer_new(q),
                       .joint = joint ? hps_joint_new(q->profile->L, q->profile->T) : NULL };
    enum hps_status s = begin(&k, policy, cell, key);

    if (!s && k.pr->T > 1) search(&k, hps_rng_sub(key, 2));
    *best = s ? NULL : hps_pricer_plan(k.pr);
    end(&k);
    return s;
}

double hps_learn_teach(const struct hps_problem *q, struct hps_policy *policy,
                       const struct hps_plan *plan, double sharp)
{
    struct learn k = { .q = q, .pr = hps_pricer_new(q), .net.policy = policy };
    int L = k.pr->L, *type = hps_mem_new((size_t)L, sizeof *type);
    double likely;

    hps_plan_assignment(plan, type);
    look(&k);
    hps_tau_grid_value(&k.grid, q->profile, k.pr, k.value, 1 / plan->throughput);
    k.markov->sharp = sharpness(sharp);
    set_markov(&k);
    likely = hps_markov_log(k.markov, 0, L, type) / L;
    hps_markov_add(k.markov, 0, L, type, 1.0 / L);
    pass_back(&k);
    hps_mem_free(type);
    end(&k);
    return likely;
}
