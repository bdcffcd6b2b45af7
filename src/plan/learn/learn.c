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
#define SHARP_LEAST 1.0         /* log2 of the chain's sharpness: anything between these         */
#define SHARP_MOST 7.0
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

struct learn {
    const struct hps_problem *q;
    struct hps_pricer *pr;
    struct hps_markov *chain;
    struct hps_value *value;
    struct hps_tau_grid ladder;
    struct hps_joint *joint;    /* NULL: the units are the pricer's to find            */
    struct hps_policy *policy;
    struct hps_policy_pass *pass;
    bool ours, knows;           /* free the policy; it learned before                  */
    double *x, *out;            /* (L, T, F), (L, T, OUTPUTS)                          */
    double *own;                /* (2, L, T) what is learned for this problem          */
    uint64_t *seen;             /* (SEEN) marks of plans that were drawn before        */
    int *top, *home, *here, *work;      /* (L) the best; where windows are drawn; scratch */
    double top_price, run_price;        /* of top; the best since the restart             */
    double home_tau;            /* 0: none yet                                         */
    double mean, spread;        /* moving averages of the reward, and of how it varies */
    long long batch;            /* plans between two steps of learning                 */
    long long drawn, fresh;     /* plans so far; whole plans still to be drawn         */
    long long same;             /* plans in a row that were drawn before               */
    long long idle, stale;      /* plans since run_price, top_price became better      */
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
static void set_chain(struct learn *k)
{
    for (size_t a = 0; a < cells(k); a++) {
        k->chain->go[a] = k->out[OUTPUTS * a] + k->own[a];
        k->chain->stay[a] = k->out[OUTPUTS * a + 1] + k->own[cells(k) + a];
    }
    hps_markov_refresh(k->chain);
}

static double sharpness(double u)
{
    return exp2(SHARP_LEAST + (SHARP_MOST - SHARP_LEAST) * u);
}

/* Another sharpness for every batch; another tau when its value has been used for as long as it
 * takes to compute. */
static void set_place(struct learn *k, long long batch, uint64_t key)
{
    k->chain->sharp = sharpness(hps_rng_real(key, 0));
    if (batch % (1 + (long long)cells(k) / 2000) != 0)
        return;
    double tau = hps_tau_grid_draw(&k->ladder, hps_rng_sub(key, 0));
    if (k->home_tau > 0 && k->fresh <= 0 && hps_rng_real(key, 1) < AT_HOME)
        tau = k->home_tau * exp(NEAR_TAU * (hps_rng_real(key, 2) - 0.5));
    hps_tau_grid_value(&k->ladder, k->q->profile, k->pr, k->value, tau);
}

static void look(struct learn *k)
{
    size_t n = cells(k);

    hps_dev_blas_alone();
    k->value = hps_value_new(k->pr->L, k->pr->T);
    k->chain = hps_markov_new(k->pr->L, k->pr->T);
    k->chain->value = k->value;
    k->x = hps_mem_new(n * HPS_FEATURES, sizeof *k->x);
    k->out = hps_mem_new(n * OUTPUTS, sizeof *k->out);
    k->own = hps_mem_new(2 * n, sizeof *k->own);
    k->pass = hps_policy_pass_new(k->policy, k->pr->L, k->pr->T);
    hps_tau_grid_fill(&k->ladder, k->q->profile, k->pr, k->value);
    hps_feature_fill(k->q->profile, k->pr, &k->ladder, k->value, k->x);
    hps_policy_forward(k->pass, k->x, k->out);
}

static enum hps_status begin(struct learn *k, struct hps_policy *policy, enum hps_cell cell,
                             uint64_t key)
{
    size_t L = (size_t)k->pr->L;
    enum hps_status s = HPS_OK;

    k->policy = policy;
    k->ours = !policy;
    k->knows = policy || *k->q->opt->policy;
    if (!policy && k->knows)
        s = hps_policy_load(&k->policy, k->q->opt->policy, cell, HPS_FEATURES, OUTPUTS);
    else if (!policy)
        k->policy = hps_policy_new(cell, HPS_FEATURES, OUTPUTS, hps_rng_sub(key, 0));
    if (s)
        return s;
    k->seen = hps_mem_new(SEEN, sizeof *k->seen);
    k->top = hps_mem_new(4 * L, sizeof *k->top);
    k->home = k->top + L;
    k->here = k->top + 2 * L;
    k->work = k->top + 3 * L;
    k->top_price = hps_pricer_single_types(k->pr, k->top); /* a short budget has these at least */
    look(k);
    k->batch = 16 + (long long)cells(k) / 100;
    k->run_price = INFINITY;
    k->fresh = FRESH;
    copy(k, k->home, k->top);
    set_place(k, 0, hps_rng_sub(key, 1));
    set_chain(k);
    return HPS_OK;
}

static void end(struct learn *k)
{
    hps_policy_pass_free(k->pass);
    if (k->ours)
        hps_policy_free(k->policy);
    hps_markov_free(k->chain);
    hps_value_free(k->value);
    hps_joint_free(k->joint);
    hps_mem_free(k->x);
    hps_mem_free(k->out);
    hps_mem_free(k->own);
    hps_mem_free(k->seen);
    hps_mem_free(k->top);
    hps_pricer_free(k->pr);
}

/* Was the plan at hand drawn before? One that came later in its place made it forgotten. */
static bool again(struct learn *k)
{
    uint64_t mark = 1;

    for (int l = 0; l < k->pr->L; l++)
        mark = hps_rng_mix(mark * 0x9e3779b97f4a7c15u + (uint64_t)k->here[l]);
    uint64_t *place = &k->seen[mark % SEEN];
    bool is = *place == mark;
    *place = mark;
    return is;
}

/* The price of the plan at hand, after moves where it is better than all since the restart. */
static double price_of(struct learn *k, uint64_t key)
{
    bool polish = k->q->opt->polish;

    if (k->joint) {
        hps_joint_draw(k->joint, k->pr, k->value, k->here, key);
        return hps_joint_price(k->joint, k->pr, k->here, polish && k->idle % 8 == 0);
    }
    double price = hps_pricer_price(k->pr, k->here, INFINITY);
    if (polish && price < k->run_price)
        price = hps_propose_local_search(k->chain, k->pr, k->here, k->work, price, PATIENCE, key);
    return price;
}

/* A whole plan, or a window of the plan to go on from; its price. INFINITY: it was drawn before. */
static double draw(struct learn *k, uint64_t key)
{
    int L = k->pr->L, from = 0, n = L;

    if (k->fresh > 0 || !k->q->opt->polish) {
        k->fresh--;
    } else {
        copy(k, k->here, k->home);
        n = 1 + (int)(pow(hps_rng_real(key, 0), WINDOW) * L);
        from = (int)(hps_rng_real(key, 1) * (L - n + 1));
    }
    hps_markov_draw(k->chain, k->pr, from, from + n, hps_rng_sub(key, 2), k->here);
    k->same = !k->joint && again(k) ? k->same + 1 : 0;
    if (k->same > SAME && k->q->opt->polish) {
        hps_moves_shake(k->here, k->work, L, k->pr->T, 1, hps_rng_sub(key, 4));
        k->same = again(k) ? k->same : 0;
    }
    return k->same > 0 ? INFINITY : price_of(k, hps_rng_sub(key, 3));
}

static void go_home(struct learn *k, double price)
{
    copy(k, k->home, k->here);
    if (price < k->pr->ceiling && isfinite(hps_pricer_price(k->pr, k->here, INFINITY)))
        k->home_tau = hps_pricer_last_tau(k->pr);
}

/* Keep what is better; from where the next windows are drawn. */
static void judge(struct learn *k, double price)
{
    bool better = price < k->run_price;

    k->idle = better ? 0 : k->idle + 1;
    k->stale++;
    if (price < k->top_price) {
        k->stale = 0;
        k->top_price = price;
        copy(k, k->top, k->here);
    }
    if (better)
        k->run_price = price;
    if (better || (price < k->pr->ceiling && price <= k->run_price * WORSE &&
                   memcmp(k->home, k->here, (size_t)k->pr->L * sizeof *k->home) != 0))
        go_home(k, price);
}

/* REINFORCE: the reward is -log price, in units of how it varies, above its moving average. */
static void reward(struct learn *k, double price)
{
    double value = -log(price), gain;

    if (!isfinite(value))
        return;
    if (k->drawn++ == 0)
        k->mean = value;
    gain = value - k->mean;
    k->mean += (1 - CALM) * gain;
    k->spread += (1 - CALM) * (fabs(gain) - k->spread);
    gain = k->spread > 0 ? gain / k->spread : 0;
    gain = fmax(-2, fmin(2, gain)) / (double)k->batch;
    hps_markov_add(k->chain, 0, k->pr->L, k->here, gain);
    if (k->joint)
        hps_joint_add(k->joint, gain);
}

/* The chain's gradient to the network's; the outputs are lost. */
static void pass_back(struct learn *k)
{
    for (size_t a = 0; a < cells(k); a++) {
        k->out[OUTPUTS * a] = k->chain->dgo[a];
        k->out[OUTPUTS * a + 1] = k->chain->dstay[a];
    }
    hps_policy_backward(k->pass, k->out);
}

static void step_network(struct learn *k)
{
    pass_back(k);
    hps_policy_step(k->policy, NET_RATE);
    hps_policy_forward(k->pass, k->x, k->out);
}

/* A step of learning after each batch. The network's way over all cells takes as long as many
 * plans: it steps more seldom. */
static void step(struct learn *k, long long batch, uint64_t key)
{
    size_t n = cells(k);

    hps_markov_add_entropy(k->chain, ENTROPY + ENTROPY_FIRST / (1 + (double)batch / 8));
    hps_markov_add(k->chain, 0, k->pr->L, k->top, TOP);
    if (!k->knows && batch % (32 + (long long)n / 2) == 0)
        step_network(k);
    for (size_t a = 0; a < n; a++) {
        k->own[a] += RATE * k->chain->dgo[a] - FADE * k->own[a];
        k->own[n + a] += RATE * k->chain->dstay[a] - FADE * k->own[n + a];
    }
    if (k->joint)
        hps_joint_step(k->joint, RATE, FADE);
    hps_markov_clear(k->chain);
    set_place(k, batch, key);
    set_chain(k);
}

/* Nothing gained for long: forget this problem; go on from the next plan whatever it is, a window
 * of the best or a new one. */
static void restart(struct learn *k, uint64_t key)
{
    k->idle = 0;
    k->run_price = INFINITY;
    copy(k, k->home, k->top);
    if (hps_rng_real(key, 0) < 0.5)
        k->fresh = AGAIN;
    memset(k->own, 0, 2 * cells(k) * sizeof *k->own);
    if (k->joint)
        hps_joint_forget(k->joint);
    set_chain(k);
}

static void search(struct learn *k, uint64_t key)
{
    long long L = k->pr->L, patience = 60 + L, most = 20000 + 1000 * L;

    for (uint64_t n = 1; !hps_pricer_over(k->pr) && k->stale < most; n++) {
        uint64_t mine = hps_rng_sub(key, n);
        double price = draw(k, hps_rng_sub(mine, 0));
        judge(k, price);
        reward(k, price);
        if (n % (uint64_t)k->batch == 0) {
            if (hps_pricer_late(k->pr))     /* plans that come again price nothing */
                break;
            step(k, (long long)(n / (uint64_t)k->batch), hps_rng_sub(mine, 1));
        }
        if (k->idle > patience)
            restart(k, hps_rng_sub(mine, 2));
    }
}

enum hps_status hps_learn_run(const struct hps_problem *q, struct hps_policy *policy,
                              enum hps_cell cell, bool joint, uint64_t key,
                              struct hps_plan **best)
{
    struct learn k = { .q = q, .pr = hps_pricer_new(q),
                       .joint = joint ? hps_joint_new(q->profile->L, q->profile->T) : NULL };
    enum hps_status s = begin(&k, policy, cell, key);

    if (!s && k.pr->T > 1)
        search(&k, hps_rng_sub(key, 2));
    *best = s ? NULL : hps_pricer_plan(k.pr);
    end(&k);
    return s;
}

double hps_learn_teach(const struct hps_problem *q, struct hps_policy *policy,
                       const struct hps_plan *plan, double sharp)
{
    struct learn k = { .q = q, .pr = hps_pricer_new(q), .policy = policy };
    int L = k.pr->L, *type = hps_mem_new((size_t)L, sizeof *type);
    double likely;

    hps_plan_assignment(plan, type);
    look(&k);
    hps_tau_grid_value(&k.ladder, q->profile, k.pr, k.value, 1 / plan->throughput);
    k.chain->sharp = sharpness(sharp);
    set_chain(&k);
    likely = hps_markov_log(k.chain, 0, L, type) / L;
    hps_markov_add(k.chain, 0, L, type, 1.0 / L);
    pass_back(&k);
    hps_mem_free(type);
    end(&k);
    return likely;
}
