/* m_trial: a trial trains whole steps on any number of ranks, alike on all: as many as were asked
 * for, or until a rank is asked to stop. Its step is the sum of its regions and little more; it
 * leaves no count and no memory. Bad data end it with the same status on all ranks. A table that
 * stands in for a larger one is small enough, and its layers read rows that it has. A server is
 * busy for some of the clocks of its worker, however workers are synchronised, and what a profile
 * has of it is what was measured. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/world.h"
#include "plan/budget.h"
#include "profile/measure_trial.h"
#include "profile/small_team.h"
#include "profile/small_tables.h"
#include "profile/trial_served.h"
#include "tests/lib/sample.h"

/* The last batch of BATCH in an epoch is short; those of EVEN are not, and 1, 2 or 3 workers have
 * as many each. */
enum { N = 204, BATCH = 64, EVEN = N / 6, M = 2, BUCKETS = 50 };

static const char text[] =
    "model: [{name: e, type: embedding, slots: all, dim: 4, table: t},"
    " {name: w, type: embedding, slots: [1], dim: 4, table: t},"
    " {name: b, type: concat, inputs: [e, w]}, {name: h, type: fc, width: 64, activation: relu},"
    " {name: o, type: fc, width: 1}, {name: l, type: logistic}]\n"
    "train: {optimizer: adagrad, clip: 10}\n";

struct net {
    struct hps_data *data;
    struct hps_deck *deck;
    struct hps_net *net;
    struct hps_train_opt train;
    struct hps_dev dev;
};

static void net_open(struct net *x, const char *path)
{
    const struct hps_item *item;

    if (hps_data_open(&x->data, path, MPI_COMM_WORLD) ||
        hps_deck_parse(&x->deck, "m_trial", text, strlen(text), 0, NULL) ||
        hps_net_new(&x->net, x->deck, x->data) || hps_deck_map(x->deck, "train", &item) ||
        hps_deck_bind(x->deck, item, hps_train_fields, NULL, NULL, &x->train) ||
        hps_dev_cpu.open(&x->dev, 0, 1))
        HPS_DIE("no network");
}

static void net_close(struct net *x)
{
    hps_dev_cpu.close(&x->dev);
    hps_net_free(x->net);
    hps_deck_free(x->deck);
    hps_data_close(x->data);
}

static const struct hps_storage_opt storage = { .file = "" };

static struct hps_trial_opt opt_of(const struct net *x, int min, int max)
{
    return (struct hps_trial_opt){ .train = &x->train, .storage = &storage, .data = x->data,
                                   .batch = BATCH, .microbatches = M, .prefetch = 2,
                                   .shuffle = true, .seed = 1, .nwindow = min < 3 ? 1 : 3,
                                   .min_steps = min, .max_steps = max };
}

static enum hps_status try(struct net *x, struct hps_trial *trial, int min, int max)
{
    struct hps_trial_opt opt = opt_of(x, min, max);
    struct hps_small_team stage;
    struct hps_small_tables small;

    hps_small_tables_init(&small, x->net, &x->train, 400);
    if (hps_small_team_new(&stage, x->net->L, 0, MPI_COMM_WORLD)) HPS_DIE("no stage");
    enum hps_status st = hps_trial_run(trial, &small.net, stage.plan, stage.team, &x->dev, &opt);
    hps_small_team_free(&stage);
    hps_small_tables_done(&small);
    return st;
}

static void check_counts(void)
{
    const struct hps_count_row *row;
    const struct hps_count_span *span;

    for (int r = 0; r < HPS_REGIONS; r++)
        if (hps_count_total()[r].calls != 0 || hps_count_total()[r].seconds != 0)
            HPS_DIE("region %d is still counted", r);
    if (hps_count_rows(&row) != 0 || hps_count_spans(&span) != 0) HPS_DIE("rows are left");
}

static void check_times(const struct hps_trial *t)
{
    double sum = 0;

    for (int r = 0; r < HPS_REGIONS; r++)
        sum += t->region_s[r];
    if (!(t->low_s > 0 && t->low_s <= t->step_s && t->step_s <= t->high_s))
        HPS_DIE("a step of %g s, quartiles %g and %g", t->step_s, t->low_s, t->high_s);
    if (!(t->region_s[HPS_REGION_FORWARD] > 0 && t->region_s[HPS_REGION_BACKWARD] > 0 &&
          t->region_s[HPS_REGION_PULL] > 0 && t->region_s[HPS_REGION_UPDATE] > 0))
        HPS_DIE("a region took no time");
    if (!(sum < 1.5 * t->step_s)) HPS_DIE("regions take %g s of %g", sum, t->step_s);
}

/* The same number of steps on all ranks; 0 seconds are over after the least. */
static void check_steps(struct net *x, int min, int max, int want)
{
    struct hps_trial t;
    int n[2];

    if (try(x, &t, min, max)) HPS_DIE("the trial fails");
    n[0] = t.n;
    n[1] = -t.n;
    HPS_MPI(MPI_Allreduce(MPI_IN_PLACE, n, 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (n[0] != want || -n[1] != want) HPS_DIE("%d to %d steps, not %d", n[0], -n[1], want);
    check_times(&t);
    check_counts();
}

static bool stop(void)
{
    return hps_rank() == hps_nrank() - 1;
}

static void check_stop(struct net *x)
{
    struct hps_trial t;

    hps_budget_check_stop(stop);
    if (try(x, &t, 50, 50) || t.n > 40) HPS_DIE("%d steps after a request to stop", t.n);
    hps_budget_check_stop(NULL);
    check_counts();
}

/* One id is out of its range; one rank reads it. */
static void check_bad(const struct sample *s)
{
    struct hps_trial t;
    struct net x;

    if (hps_rank() == 0) {
        sample_write("m_trial_bad.h5", s);
        sample_put_id("m_trial_bad.h5", "/slots/s0/ids", N / 2, BUCKETS);
    }
    HPS_MPI(MPI_Barrier(MPI_COMM_WORLD));
    net_open(&x, "m_trial_bad.h5");
    enum hps_status st = try(&x, &t, 9, 9), worst = hps_agree(MPI_COMM_WORLD, st);
    if (st == HPS_OK || st != worst) HPS_DIE("an id too large: status %d of %d", st, worst);
    net_close(&x);
    if (hps_rank() == 0) unlink("m_trial_bad.h5");
}

/* Both layers read one table, whose parts are smaller by one factor. */
static void check_small(const struct net *x, double max_bytes)
{
    struct hps_small_tables s;
    struct hps_rule rule = hps_opt_rule(&x->train, &x->net->table[0].override, hps_update_of(0, 1));
    double row = (double)hps_rule_stride(&rule, 4) * sizeof(float);

    hps_small_tables_init(&s, x->net, &x->train, max_bytes);
    if ((double)(s.table[0].rows - 1) * row > max_bytes) HPS_DIE("%lld rows", s.table[0].rows);
    for (int l = 0; l < 2; l++)
        for (int i = 0; i < s.layer[l].nslot; i++) {
            long long ids = s.layer[l].modulo[i] > 0 ? s.layer[l].modulo[i] : BUCKETS;
            if (s.layer[l].base[i] + ids > s.table[0].rows)
                HPS_DIE("layer %d: rows up to %lld of %lld", l, s.layer[l].base[i] + ids,
                        s.table[0].rows);
        }
    if (s.layer[1].base[0] != s.layer[0].base[0] || s.layer[1].modulo[0] != s.layer[0].modulo[0])
        HPS_DIE("two layers read other rows for the same ids");
    hps_small_tables_done(&s);
}

/* ---- a server ---- */

typedef enum hps_status trial_of(struct hps_trial *, const struct hps_net *,
                                 const struct hps_plan *, const struct hps_team *,
                                 struct hps_dev *, const struct hps_trial_opt *);

/* The first rank serves, each of the others is a worker. */
static enum hps_status serve(struct net *x, trial_of *of, struct hps_trial *trial, int min,
                             int max)
{
    struct hps_train_opt train = hps_trial_served_train(&x->train);
    struct hps_trial_opt opt = opt_of(x, min, max);
    struct hps_small_team served;

    opt.train = &train;
    opt.batch = EVEN;
    if (hps_small_team_served(&served, x->net->L, MPI_COMM_WORLD)) HPS_DIE("no team");
    enum hps_status st = of(trial, x->net, served.plan, served.team, &x->dev, &opt);
    hps_small_team_free(&served);
    return st;
}

/* All ranks know the same. */
static void check_agreed(const struct hps_trial *t, const char *how)
{
    double least, most;

    HPS_MPI(MPI_Allreduce(&t->step_s, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD));
    HPS_MPI(MPI_Allreduce(&t->step_s, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    if (least != most) HPS_DIE("%s: ranks know of %g to %g s", how, least, most);
}

/* The workers are timed: 6 steps in windows take no longer than the whole trial did. */
static void check_async(struct net *x, const char *how)
{
    struct hps_trial t;
    double t0 = hps_now_s();

    if (serve(x, hps_trial_async, &t, 6, 6)) HPS_DIE("%s: the trial of workers fails", how);
    if (t.n != 6 || !(t.step_s > 0 && 2 * t.step_s <= hps_now_s() - t0))
        HPS_DIE("%s: %d samples, a step of %g s", how, t.n, t.step_s);
    check_agreed(&t, how);
    check_counts();
}

static void check_served(struct net *x, const char *how)
{
    struct hps_trial t;

    if (serve(x, hps_trial_served, &t, 6, 6)) HPS_DIE("%s: the trial fails", how);
    if (t.n != 6 || !(t.low_s > 0 && t.low_s <= t.step_s && t.step_s <= t.high_s))
        HPS_DIE("%s: %d samples, busy for %g s, quartiles %g and %g", how, t.n, t.step_s, t.low_s,
                t.high_s);
    check_agreed(&t, how);
    check_counts();
    check_async(x, how);
    hps_budget_check_stop(stop);
    if (serve(x, hps_trial_served, &t, 50, 50) || t.n > 40)
        HPS_DIE("%d clocks after a request to stop", t.n);
    hps_budget_check_stop(NULL);
}

/* A profile of absurd seconds, which are not unsure: those of the last type are replaced by ones
 * that a server was busy for, where a rank is left to be its worker. */
static void check_profile(struct net *x)
{
    enum { TYPES = 2, ABSURD = 1000 };
    int R = hps_nrank(), *type_of = hps_mem_new((size_t)R, sizeof *type_of);
    struct hps_type type[TYPES] = { { .slow = 1, .first = 0 }, { .slow = 2, .first = R - 1 } };
    struct hps_pool pool = { .T = TYPES, .R = R, .type = type, .type_of = type_of };
    struct hps_measure_opt opt = { .train = &x->train, .data = x->data, .batch = BATCH,
                                   .microbatches = M, .workers = 3, .shuffle = true,
                                   .storage = &storage, .prefetch = 2, .server_type = 1,
                                   .servers = 1 };
    struct hps_profile *p = hps_profile_new(x->net->L, TYPES);

    type_of[R - 1] = 1;
    p->batch = BATCH / M;
    p->workers = 3;
    p->engine.batch = BATCH;
    p->engine.microbatches = M;
    p->serve[0] = p->serve[1] = p->serve[2 * TYPES + 1] = ABSURD;
    if (hps_measure_serve(p, x->net, &pool, &x->dev, &opt, MPI_COMM_WORLD)) HPS_DIE("no trial");
    double busy_s = M * (p->serve[1] + p->serve[2 * TYPES + 1]);
    if (R == 1 && busy_s != M * 2 * ABSURD) HPS_DIE("%g s of no server", busy_s);
    if (R > 1 && !(busy_s > 0 && busy_s < 10)) HPS_DIE("a server that is busy for %g s", busy_s);
    if (p->serve[0] != ABSURD) HPS_DIE("a type that does not serve changed");
    hps_profile_free(p);
    hps_mem_free(type_of);
}

/* Ranks 0 and 5 are 16 times slower, 1 and 4 as they are, 2 and 3 slower by 2. */
static void check_workers(void)
{
    static const int want[3][5] = { { 1, 4, 2, 3, 5 }, { 4, 2, 3, 0, 5 }, { 1, 4, 3, 0, 5 } };
    int type_of[] = { 0, 1, 2, 2, 1, 0 }, worker[HPS_MEASURE_WORKERS];
    struct hps_type type[] = { { .slow = 16, .first = 0 }, { .slow = 1, .first = 1 },
                               { .slow = 2, .first = 2 } };
    struct hps_pool pool = { .T = 3, .R = 6, .type = type, .type_of = type_of };

    for (int t = 0; t < 3; t++)
        for (int n = 0; n < 9; n++) {
            int got = hps_measure_workers(&pool, t, n, worker);
            if (got != (n < 5 ? n : 5)) HPS_DIE("%d workers, not %d", got, n);
            for (int i = 0; i < got; i++)
                if (worker[i] != want[t][i]) HPS_DIE("type %d: worker %d is %d", t, i, worker[i]);
        }
}

/* bsp with clipping; dense weights on the server; gradients that are applied together; a cache. */
static void check_servers(struct net *x)
{
    struct hps_train_opt kept = x->train;

    check_workers();
    check_profile(x);
    if (hps_nrank() == 1) return;
    check_served(x, "bsp");
    x->train.synchronization = "asp";
    check_served(x, "asp");
    x->train.clip = 0;
    x->train.aggregate = 2;
    check_served(x, "two at a time");
    x->train.synchronization = "ssp";
    x->train.staleness = 3;
    x->train.cache_clocks = 1;
    x->train.aggregate = 1;
    check_served(x, "a cache");
    x->train = kept;
}

int main(int argc, char **argv)
{
    const struct sample s = { .N = N, .D = 1, .nsingle = 1, .nmulti = 1, .buckets = BUCKETS };
    struct net x;

    hps_begin(&argc, &argv, true);
    if (hps_rank() == 0) sample_write("m_trial.h5", &s);
    HPS_MPI(MPI_Barrier(MPI_COMM_WORLD));
    net_open(&x, "m_trial.h5");
    for (double max_bytes = 100; max_bytes < 1e5; max_bytes *= 3)
        check_small(&x, max_bytes);
    check_steps(&x, 5, 20, 5);
    check_steps(&x, 7, 7, 7);
    check_stop(&x);
    check_servers(&x);
    check_bad(&s);
    net_close(&x);
    if (hps_rank() == 0) unlink("m_trial.h5");
    if (hps_mem_held_bytes() != 0) HPS_DIE("%zu bytes are still held", hps_mem_held_bytes());
    return hps_end(HPS_OK);
}
