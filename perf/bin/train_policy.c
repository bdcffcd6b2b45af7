/* train_policy.c - a policy learns on random problems of all sizes:
 *   train_policy OUT.h5 SECONDS [SEED [FROM.h5]]
 * Each round every rank draws a problem, searches it with the policy as it is, for a few plans, and
 * the policy learns what was best; the ranks' gradients are summed. Every minute the curve goes to
 * standard output: how much the same number of plans misses on problems kept apart, with the policy
 * and with one that never learned, and the policy is saved. Built by `make
 * perf/bin/train_policy`. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "lab.h"
#include "base/clock.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/say.h"
#include "base/world.h"
#include "plan/feature.h"
#include "plan/learn.h"
#include "random_profile.h"

#define BATCH 4                 /* problems of a rank between two steps  */
#define RATE 0.002              /* at the beginning; falls to a tenth    */
#define KEPT 12                 /* problems kept apart on each rank      */

struct school {
    struct hps_policy *policy;
    MPI_Comm world;
    int rank, ranks;
    uint64_t key;
    double began_s, seconds, likely;
    long long problems;
    double bound[KEPT];
};

static struct hps_profile *problem(uint64_t key, uint64_t seed)
{
    static const enum random_limits limits[] = { RANDOM_TIGHT, RANDOM_TIGHT, RANDOM_LOOSE,
                                                 RANDOM_TIGHT };
    struct random_wish w = { .limits = limits[hps_rng_bits(key, 2) % 4], .seed = seed };

    w.L = (int)exp2(2 + 4.2 * hps_rng_real(key, 0));
    w.T = (int)exp2(1 + 5 * hps_rng_real(key, 1));
    while (w.L * w.T > 1600)
        w.L = w.L * 3 / 4;
    return random_profile(&w);
}

/* The best plan of a short search; NULL: none. */
static struct hps_plan *search(const struct hps_profile *p, struct hps_policy *policy,
                               long long evaluations, int seed)
{
    struct hps_sched_opt opt = lab_options("rl", evaluations);
    struct hps_problem q = lab_problem(p, &opt);
    struct hps_plan *best;

    opt.seed = seed;
    if (hps_learn_run(&q, policy, HPS_CELL_LSTM, false, (uint64_t)seed, &best))
        HPS_DIE("the search failed");
    return best;
}

static void learn(struct school *c, uint64_t key)
{
    struct hps_profile *p = problem(key, hps_rng_bits(key, 9));
    struct hps_sched_opt opt = lab_options("rl", 0);
    struct hps_problem q = lab_problem(p, &opt);
    struct hps_plan *best = search(p, c->policy, 1500 + 6LL * p->L * p->T,
                                   (int)(hps_rng_bits(key, 3) % 1000000));

    if (best) {
        double likely = hps_learn_teach(&q, c->policy, best, hps_rng_real(key, 4));
        if (isfinite(likely))
            c->likely += 0.01 * (likely - c->likely);
    }
    c->problems++;
    hps_plan_free(best);
    hps_profile_free(p);
}

/* The ranks' gradients summed, and a step. */
static void step(struct school *c)
{
    double past = (hps_now_s() - c->began_s) / c->seconds;

    HPS_MPI(MPI_Bcast(&past, 1, MPI_DOUBLE, 0, c->world));
    HPS_MPI(MPI_Allreduce(MPI_IN_PLACE, c->policy->grad, c->policy->nparam, MPI_DOUBLE, MPI_SUM,
                          c->world));
    for (int a = 0; a < c->policy->nparam; a++)
        c->policy->grad[a] /= BATCH * c->ranks;
    hps_policy_step(c->policy, RATE * (1 - 0.9 * fmin(past, 1)));
}

/* The mean miss of a few plans, in parts of the cost, on the problems kept apart. */
static double miss(struct school *c, struct hps_policy *policy)
{
    double sum[2] = { 0 };

    for (int n = 0; n < KEPT; n++) {
        uint64_t key = hps_rng_sub(hps_rng_key(1, "kept"), (uint64_t)(n * c->ranks + c->rank));
        struct hps_profile *p = problem(key, hps_rng_bits(key, 9));
        bool proven;
        if (c->bound[n] == 0)
            c->bound[n] = hps_exact_bound(p, p->throughput_limit, 5, 0, NULL, &proven);
        struct hps_plan *best = search(p, policy, 300, 1);
        if (best && isfinite(c->bound[n])) {
            sum[0] += (best->cost_usd - c->bound[n]) / best->cost_usd;
            sum[1]++;
        }
        hps_plan_free(best);
        hps_profile_free(p);
    }
    HPS_MPI(MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_DOUBLE, MPI_SUM, c->world));
    return sum[1] > 0 ? sum[0] / sum[1] : 0;
}

static enum hps_status tell(struct school *c, const char *path, struct hps_policy *fresh)
{
    double with = miss(c, c->policy), without = miss(c, fresh);
    enum hps_status s = HPS_OK;

    if (c->rank == 0) {
        hps_out("%8.0f %10lld %10.4f %9.3f %9.3f\n", hps_now_s() - c->began_s,
                c->problems * c->ranks, c->likely, 100 * with, 100 * without);
        s = hps_out_flush();
        if (!s)
            s = hps_policy_save(c->policy, path);
    }
    return hps_agree(c->world, s);
}

static enum hps_status train(struct school *c, const char *path)
{
    struct hps_policy *fresh = hps_policy_new(HPS_CELL_LSTM, HPS_FEATURES, HPS_LEARN_OUTPUTS, 7);
    enum hps_status s = HPS_OK;
    double told_s = 0, now_s = 0;

    if (c->rank == 0)
        hps_out("# seconds   problems   log P/L   miss %%  unlearned %%   (300 plans each)\n");
    for (uint64_t n = 0; !s && now_s < c->seconds; n++) {
        for (uint64_t a = 0; a < BATCH; a++)
            learn(c, hps_rng_sub(c->key, (n * BATCH + a) * (uint64_t)c->ranks + (uint64_t)c->rank));
        step(c);
        now_s = hps_now_s() - c->began_s;
        HPS_MPI(MPI_Bcast(&now_s, 1, MPI_DOUBLE, 0, c->world));
        if (now_s - told_s > 60 || now_s >= c->seconds) {
            told_s = now_s;
            s = tell(c, path, fresh);
        }
    }
    hps_policy_free(fresh);
    return s;
}

static enum hps_status run(int argc, char **argv, MPI_Comm world)
{
    struct school c = { .world = world, .began_s = hps_now_s() };
    enum hps_status s = HPS_OK;

    if (argc < 3 || !(atof(argv[2]) > 0)) {
        HPS_SAY(HPS_ERROR, "usage: train_policy OUT.h5 SECONDS [SEED [FROM.h5]]");
        return HPS_USAGE;
    }
    HPS_MPI(MPI_Comm_rank(c.world, &c.rank));
    HPS_MPI(MPI_Comm_size(c.world, &c.ranks));
    c.seconds = atof(argv[2]);
    c.key = hps_rng_key(argc > 3 ? strtoull(argv[3], NULL, 10) : 1, "school");
    if (argc > 4)
        s = hps_policy_load(&c.policy, argv[4], HPS_CELL_LSTM, HPS_FEATURES, HPS_LEARN_OUTPUTS);
    else
        c.policy = hps_policy_new(HPS_CELL_LSTM, HPS_FEATURES, HPS_LEARN_OUTPUTS, c.key);
    s = hps_agree(c.world, s);
    if (!s)
        s = train(&c, argv[1]);
    hps_policy_free(c.policy);
    return s;
}

int main(int argc, char **argv)
{
    MPI_Comm world = hps_begin(&argc, &argv, true);

    return hps_end(run(argc, argv, world));
}
