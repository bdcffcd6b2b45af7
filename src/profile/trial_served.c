/* trial_served.c - the loop of asynchronous workers without cuts: the server looks on while it
 * serves, and lets the workers pause when it has seen enough. */
#include "profile/trial_served.h"

#include <assert.h>

#include "base/clock.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/wait.h"
#include "plan/budget.h"
#include "profile/trial_impl.h"
#include "step/server.h"

struct hps_train_opt hps_trial_served_train(const struct hps_train_opt *train)
{
    struct hps_train_opt o = *train;

    o.record = false;
    o.interleaving = 0;
    if (hps_train_is_async(train)) return o;
    o.synchronization = "hybrid";
    o.staleness = 1;
    o.aggregate = 1;
    o.cache_clocks = 0;
    o.staleness_rate = "none";
    o.clip = 0;
    return o;
}

/* ---- the server ---- */

struct look {
    struct hps_trial_samples samples;
    int W;                      /* workers whose steps are timed; 0: the server is */
    long long group, batch;     /* clocks of a sample; examples of a whole batch   */
    long long clocks, examples; /* of the server, up to the last sample            */
    double s;                   /* then, of the clock that is read                 */
    bool enough;
};

/* The clock that is read: how long the server was busy, or that on the wall. */
static double seconds_of(const struct look *x, const struct hps_server *v)
{
    return x->W > 0 ? hps_now_s() : v->work.busy_s;
}

/* Workers that are as fast as each other finish their clocks in bursts, and a slow one few of them:
 * of single samples the median would be that of the fast ones, so the mean is taken. */
static void end_window(struct look *x)
{
    double sum_s = x->samples.sum_s;
    struct hps_trial *t = hps_trial_samples_end(&x->samples);

    if (t && x->W > 0) t->step_s = sum_s / t->n;
}

/* Begin the first window, or the one after one that has enough. Was that the last one? */
static bool next_window(struct look *look)
{
    struct hps_trial_samples *x = &look->samples;
    bool enough = hps_trial_samples_enough(x, false);

    if (enough && hps_trial_samples_last(x)) return true;
    if (!enough && !hps_trial_samples_settled(x)) return false;
    if (enough) {
        end_window(look);
        hps_trial_samples_pause(x);
    } else {
        hps_trial_samples_begin(x);
    }
    return false;
}

/* Now and then: has the server finished the clocks of a sample? With several workers, parts of what
 * it does for others are in it as well. */
static bool watch(const struct hps_server *v, void *arg)
{
    struct look *x = arg;
    long long n = v->work.clocks - x->clocks;

    if (x->enough || n < x->group) return x->enough;
    double clock_s = (seconds_of(x, v) - x->s) / (double)n;
    hps_trial_samples_add(&x->samples, x->W > 0 ? x->W * clock_s : clock_s,
                          v->examples - x->examples == n * x->batch);
    x->clocks = v->work.clocks;
    x->examples = v->examples;
    x->enough = hps_budget_over(0) || next_window(x);
    x->s = seconds_of(x, v);            /* behind a pause */
    return x->enough;
}

/* workers: those whose steps are timed, or 0. */
static enum hps_status serve(struct hps_trial *t, struct hps_trial_training *x,
                             const struct hps_trial_opt *o, int workers)
{
    struct hps_server_opt opt = { .steps = x->steps, .learns = true };
    struct hps_server *server = hps_server_new(x->step, x->feeder, &opt);
    struct look look = { .W = workers, .group = o->train->aggregate, .batch = o->batch };

    if (look.group < workers) look.group = workers;
    look.s = seconds_of(&look, server);
    hps_trial_samples_init(&look.samples, o);
    enum hps_status st = hps_server_run(server, watch, &look);
    end_window(&look);
    hps_trial_samples_median(&look.samples, t);
    hps_trial_samples_done(&look.samples);
    hps_server_free(server);
    return st;
}

/* ---- the worker ---- */

/* Until the server lets it pause. */
static enum hps_status work(struct hps_trial_training *x, const struct hps_trial_opt *o)
{
    bool together = hps_train_sums_dense(o->train), leaves = false;
    struct hps_heartbeat said = { 0 };
    double loss = 0;

    for (long long k = 0; !leaves && k < x->steps.total; k = hps_steps_next(&x->steps, k)) {
        struct hps_heartbeat mine = { .stop = hps_budget_over(0), .loss = loss };
        said = hps_step_train(x->step, x->feeder, &x->step->channel[0].agree, k, mine, &loss);
        leaves = hps_server_leaves(&said, together);
        if (said.status && !leaves)
            hps_quit(said.status, "a worker cannot go on, and a server waits for its gradients");
    }
    return said.status;
}

/* The first clock of each worker that this rank knows. */
static enum hps_status fetch(const struct hps_trial_training *x)
{
    enum hps_status st = HPS_OK;

    for (int i = 0; i < x->step->nchannel; i++) {
        enum hps_status mine = hps_feeder_fetch(x->feeder, i);
        if (mine) st = mine;
    }
    return st;
}

static enum hps_status try(struct hps_trial *t, const struct hps_net *net,
                           const struct hps_plan *plan, const struct hps_team *team,
                           struct hps_dev *dev, const struct hps_trial_opt *o, int workers)
{
    struct hps_trial_training x = { .step = NULL };

    *t = (struct hps_trial){ 0 };
    assert(team->nserver > 0 && hps_train_is_async(o->train));
    enum hps_status st = hps_trial_begin(&x, net, plan, team, dev, o);
    if (!st) st = hps_agree(team->world, fetch(&x));
    if (!st && team->serves) st = serve(t, &x, o, workers);
    if (!st && team->nmine > 0) st = work(&x, o);
    hps_barrier_sleeping(team->world);
    st = hps_agree(team->world, st);
    HPS_MPI(MPI_Bcast(t, (int)sizeof *t, MPI_BYTE, team->server[0], team->world));
    hps_trial_end(&x);
    return st;
}

enum hps_status hps_trial_served(struct hps_trial *t, const struct hps_net *net,
                                 const struct hps_plan *plan, const struct hps_team *team,
                                 struct hps_dev *dev, const struct hps_trial_opt *o)
{
    return try(t, net, plan, team, dev, o, 0);
}

enum hps_status hps_trial_async(struct hps_trial *t, const struct hps_net *net,
                                const struct hps_plan *plan, const struct hps_team *team,
                                struct hps_dev *dev, const struct hps_trial_opt *o)
{
    return try(t, net, plan, team, dev, o, team->W);
}
