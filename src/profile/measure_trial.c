/* measure_trial.c - trials of a fraction of a second each. */
#include "profile/measure_trial.h"

#include <math.h>

#include "base/mpi_check.h"
#include "base/wait.h"
#include "base/world.h"
#include "profile/fit.h"
#include "profile/measure_sync.h"
#include "profile/small_tables.h"
#include "profile/small_team.h"
#include "profile/trial_served.h"

#define TABLE_BYTES 268435456.0         /* of each table */
#define WANDERS     0.02                /* a share of a step */

/* Steps until the median is sure, or in little time. A step of an emulated rank may take seconds:
 * a few are enough then. */
static struct hps_trial_opt trial_opt(const struct hps_measure_opt *o)
{
    return (struct hps_trial_opt){ .train = o->train, .storage = o->storage, .data = o->data,
                                   .batch = o->batch, .microbatches = o->microbatches,
                                   .prefetch = o->prefetch, .shuffle = o->shuffle, .seed = 1,
                                   .nwindow = HPS_TRIAL_WINDOWS, .min_steps = 9,
                                   .max_steps = 1000, .seconds = 0.3, .max_seconds = 2,
                                   .sure = 0.02 };
}

enum hps_status hps_measure_trial(struct hps_trial *trial, const struct hps_net *net, int cut,
                                  struct hps_dev *dev, const struct hps_measure_opt *o,
                                  MPI_Comm comm)
{
    struct hps_trial_opt opt = trial_opt(o);
    struct hps_small_team team = { NULL, NULL };
    struct hps_small_tables small;

    hps_small_tables_init(&small, net, o->train, TABLE_BYTES);
    enum hps_status st = hps_small_team_new(&team, net->L, cut, comm);
    if (!st) st = hps_trial_run(trial, &small.net, team.plan, team.team, dev, &opt);
    hps_small_team_free(&team);
    hps_small_tables_done(&small);
    return st;
}

/* ---- two units ---- */

/* A median step; 0: none. */
struct found { double step_s, unsure; };

/* What a rank's trial found, broadcast. A machine wanders by more than the steps of a trial show.
 * Collective. */
static struct found found_by(const struct hps_trial *trial, int rank, MPI_Comm world)
{
    struct found x = { trial->n > 0 ? trial->step_s : 0, hypot(trial->unsure, WANDERS) };

    HPS_MPI(MPI_Bcast(&x, 2, MPI_DOUBLE, rank, world));
    return x;
}

enum hps_status hps_measure_pairs(struct hps_profile *p, const int *round, int nround,
                                  const struct hps_net *net, const struct hps_pool *pool,
                                  struct hps_dev *dev, const struct hps_measure_opt *o,
                                  MPI_Comm world)
{
    int me = hps_rank(), t = pool->type_of[me], index = hps_measure_pair_index(pool, me);
    bool mine = index >= 0 && p->type[t].limit >= 2;
    struct hps_trial trial = { 0 };
    enum hps_status st = HPS_OK;
    MPI_Comm pair;

    HPS_MPI(MPI_Comm_split(world, mine ? t : MPI_UNDEFINED, me, &pair));
    for (int i = 0; i < nround; i++) {
        if (mine && round[pool->type[t].first] == i)
            st = hps_measure_trial(&trial, net, 0, dev, o, pair);
        hps_barrier_sleeping(world);
    }
    if (pair != MPI_COMM_NULL) HPS_MPI(MPI_Comm_free(&pair));
    st = hps_agree(world, st);
    for (int u = 0; !st && u < pool->T; u++) {
        struct found x = found_by(&trial, pool->type[u].first, world);
        if (pool->type[u].nrank >= 2 && p->type[u].limit >= 2 && x.step_s > 0)
            hps_fit_pair(p, u, x.step_s, hypot(x.unsure, p->engine.unsure[u]));
    }
    return st;
}

/* ---- two stages ---- */

/* The cut that most crosses; 0: there is none. */
static int widest_cut(const struct hps_net *net)
{
    int best = 0, most = 0;

    for (int l = 1; l < net->L; l++) {
        int width, grad_width;
        hps_net_boundary(net, l, NULL, &width, &grad_width);
        if (width + grad_width > most) {
            most = width + grad_width;
            best = l;
        }
    }
    return best;
}

enum hps_status hps_measure_move(struct hps_profile *p, const struct hps_net *net,
                                 const struct hps_pool *pool, struct hps_dev *dev,
                                 const struct hps_measure_opt *o, MPI_Comm world)
{
    int me = hps_rank(), cut = widest_cut(net);
    struct hps_trial trial = { 0 };
    enum hps_status st = HPS_OK;
    MPI_Comm pair;

    if (pool->T < 2 || cut == 0 || (pool->type[0].gpu && pool->type[1].gpu)) return HPS_OK;
    int stage = me == pool->type[0].first ? 0 : me == pool->type[1].first ? 1 : -1;
    HPS_MPI(MPI_Comm_split(world, stage < 0 ? MPI_UNDEFINED : 0, stage, &pair));
    if (pair != MPI_COMM_NULL) {
        st = hps_measure_trial(&trial, net, cut, dev, o, pair);
        HPS_MPI(MPI_Comm_free(&pair));
    }
    hps_barrier_sleeping(world);
    st = hps_agree(world, st);
    struct found x = found_by(&trial, pool->type[0].first, world);
    double unsure = hypot(x.unsure, fmax(p->engine.unsure[0], p->engine.unsure[1]));
    if (!st && x.step_s > 0) hps_fit_move(p, 0, 1, cut, x.step_s, unsure);
    return st;
}

/* ---- a server ---- */

int hps_measure_workers(const struct hps_pool *pool, int t, int workers, int *worker)
{
    int n = 0, max = workers < HPS_MEASURE_WORKERS ? workers : HPS_MEASURE_WORKERS;
    double done = 0, slow;      /* types up to `done` are listed */

    for (; n < max; done = slow) {
        slow = INFINITY;
        for (int u = 0; u < pool->T; u++)
            if (pool->type[u].slow > done) slow = fmin(slow, pool->type[u].slow);
        if (isinf(slow)) return n;
        for (int r = 0; r < pool->R && n < max; r++)
            if (r != pool->type[t].first && pool->type[pool->type_of[r]].slow == slow)
                worker[n++] = r;
    }
    return n;
}

/* The first rank of comm serves, the others train. Collective over comm. */
static enum hps_status try_server(struct hps_trial *trial, const struct hps_net *net,
                                  struct hps_dev *dev, const struct hps_measure_opt *o,
                                  MPI_Comm comm)
{
    struct hps_trial_opt opt = trial_opt(o);
    struct hps_train_opt train = hps_trial_served_train(o->train);
    struct hps_small_team team = { NULL, NULL };
    struct hps_small_tables small;

    opt.train = &train;
    hps_small_tables_init(&small, net, &train, TABLE_BYTES);
    enum hps_status st = hps_small_team_served(&team, net->L, comm);
    if (!st) st = hps_trial_served(trial, &small.net, team.plan, team.team, dev, &opt);
    hps_small_team_free(&team);
    hps_small_tables_done(&small);
    return st;
}

/* Collective over world. */
static enum hps_status fit_server(struct hps_profile *p, int t, const struct hps_net *net,
                                  const struct hps_pool *pool, struct hps_dev *dev,
                                  const struct hps_measure_opt *o, MPI_Comm world)
{
    int me = hps_rank(), server = pool->type[t].first, worker[HPS_MEASURE_WORKERS];
    int n = hps_measure_workers(pool, t, o->workers, worker);
    bool mine = me == server;
    struct hps_trial trial = { 0 };
    enum hps_status st = HPS_OK;
    MPI_Comm comm;

    if (n == 0) return HPS_OK;
    for (int i = 0; i < n; i++)
        mine |= me == worker[i];
    HPS_MPI(MPI_Comm_split(world, mine ? 0 : MPI_UNDEFINED, me == server ? 0 : 1, &comm));
    if (mine) {
        st = try_server(&trial, net, dev, o, comm);
        HPS_MPI(MPI_Comm_free(&comm));
    }
    hps_barrier_sleeping(world);
    st = hps_agree(world, st);
    struct found x = found_by(&trial, server, world);
    if (!st && x.step_s > 0) hps_fit_serve(p, t, x.step_s, hypot(x.unsure, p->engine.unsure[t]));
    return st;
}

enum hps_status hps_measure_serve(struct hps_profile *p, const struct hps_net *net,
                                  const struct hps_pool *pool, struct hps_dev *dev,
                                  const struct hps_measure_opt *o, MPI_Comm world)
{
    enum hps_status st = HPS_OK;

    for (int t = 0; !st && o->servers > 0 && t < pool->T; t++)
        if (!pool->type[t].gpu && (o->server_type < 0 || o->server_type == t))
            st = fit_server(p, t, net, pool, dev, o, world);
    return st;
}
