/* step_make.c - what a step needs, taken once: stages, parameter server, channels to servers. */
#include "base/mem.h"
#include "base/mpi_check.h"
#include "step/step_impl.h"

_Static_assert(HPS_MY_STAGES <= HPS_COUNT_PARTS, "the time of each stage is counted for itself");

/* ---- making ---- */

static void make_tasks(struct hps_step_tasks *a, const struct hps_team *t, int M, bool training)
{
    a->todo = hps_mem_new((size_t)t->nmine * (size_t)M * 2, sizeof *a->todo);
    a->n = hps_order_1f1b(t->S, t->lead, t->my_stage[0], M, training, a->todo);
}

/* What a working rank needs beside the parameter server. Collective over team->stage. */
static enum hps_status make_stages(struct hps_step *s, struct hps_step_impl *o)
{
    const struct hps_team *t = s->team;
    int max_rows = (int)((o->opt.steps.batch + o->M - 1) / o->M);
    int rows = (max_rows + t->nreplica - 1) / t->nreplica;
    enum hps_status st = HPS_OK;

    o->score = hps_mem_new((size_t)rows, sizeof *o->score);
    o->spans = hps_spans_new(s->dev);
    make_tasks(&o->train, t, o->M, true);
    make_tasks(&o->evaluate, t, o->M, false);
    struct hps_stage_opt opt = { .M = o->M, .rows = rows, .train = o->opt.train,
                                  .activations = hps_storage_codec(o->opt.storage,
                                                                   HPS_MESSAGE_ACTIVATIONS),
                                  .dense = hps_storage_codec(o->opt.storage, HPS_MESSAGE_DENSE),
                                  .dense_share = hps_storage_dense_share(o->opt.storage),
                                  .seed = o->opt.seed, .training = o->opt.training,
                                  .served = hps_step_serves_dense(s),
                                  .clips_own = hps_step_clips_own(s) };
    for (int i = 0; !st && i < t->nmine; i++)
        st = hps_stage_new(&s->stage[i], s->net, s->plan, t, t->my_stage[i], s->dev, &opt);
    return st;
}

/* The ranks that work, servers too, where a global norm must be agreed on. Collective over world.
 */
static MPI_Comm make_active_comm(const struct hps_step *s, const struct hps_step_impl *o)
{
    if (o->opt.train->clip <= 0 || !o->opt.training || s->async) return MPI_COMM_NULL;
    return hps_team_of_worker(s->team, HPS_TEAM_ALL_WORKERS);
}

/* Where a GPU computes a loss, all ranks report the loss a step later. Collective over world. */
static int make_lag(const struct hps_step *s)
{
    int mine = 1, all;
    for (int i = 0; i < s->team->nmine; i++) {
        const struct hps_plan_stage *g = &s->plan->stage[s->team->my_stage[i]];
        if (!s->dev->host && hps_slice_has_loss(s->net, g->first, g->last)) mine = 2;
    }
    HPS_MPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, s->team->world));
    return all;
}

static enum hps_status make_ps(struct hps_step *s, const struct hps_step_opt *opt)
{
    struct hps_ps_opt ps = { opt->train, opt->storage, opt->seed, HPS_TEAM_ALL_WORKERS, NULL };
    enum hps_status st;

    if (!s->async) return hps_ps_new(&s->ps, s->net, s->plan, s->team, s->dev, &ps);
    st = hps_channels_open(&s->channel, &s->nchannel, s->net, s->plan, s->team, s->dev, &ps);
    s->ps = s->channel[0].ps;
    return st;
}

bool hps_step_serves_dense(const struct hps_step *s)
{
    return s->async && !hps_train_sums_dense(s->train);
}

bool hps_step_clips_own(const struct hps_step *s)
{
    return s->async && hps_train_sums_dense(s->train) && s->train->clip > 0;
}

double hps_step_own_mean(const struct hps_step *s, const struct hps_steps *steps,
                         long long number, int w)
{
    long long epoch, position;

    if (!hps_step_clips_own(s)) return 1;
    double all = (double)hps_steps_batch(steps, number, &epoch, &position);
    long long mine = hps_steps_of_worker(steps, number, w, &epoch, &position);
    return mine > 0 ? all / (double)mine : 0;
}

bool hps_step_serves_first(const struct hps_step *s)
{
    int me;

    HPS_MPI(MPI_Comm_rank(s->team->world, &me));
    return s->team->serves && s->team->server[0] == me;
}

/* Dense weights on the servers. Collective over the channels. */
static enum hps_status make_dense(struct hps_step *s, const struct hps_step_opt *opt)
{
    struct hps_slice *slice[HPS_MY_STAGES];
    enum hps_status st = HPS_OK;

    if (!hps_step_serves_dense(s)) return HPS_OK;
    for (int i = 0; i < s->team->nmine; i++)
        slice[i] = s->stage[i].slice;
    if (s->team->serves)
        st = hps_dense_weights_new(&s->weights, s->net, s->team, s->dev, opt->train, opt->seed);
    hps_channels_join_dense(s->channel, s->nchannel, s->plan, s->team, slice, s->weights,
                            hps_storage_codec(opt->storage, HPS_MESSAGE_DENSE));
    return st;
}

void hps_step_set_steps(struct hps_step *s, const struct hps_steps *steps)
{
    s->impl->opt.steps = *steps;
}

enum hps_status hps_step_feeder(struct hps_feeder **feeder, const struct hps_step *s,
                                const struct hps_feeder_opt *opt)
{
    int n = s->async ? s->nchannel : 1;
    struct hps_ps **ps = hps_mem_new((size_t)n + 1, sizeof(struct hps_ps *));

    ps[0] = s->ps;
    for (int i = 0; i < s->nchannel; i++)
        ps[i] = s->channel[i].ps;
    enum hps_status st = hps_feeder_new(feeder, s->net, s->plan, s->team, n, ps, s->dev, opt);
    hps_mem_free(ps);
    return st;
}

enum hps_status hps_step_new(struct hps_step **out, const struct hps_step_opt *opt,
                             const struct hps_net *net, const struct hps_plan *plan,
                             const struct hps_team *team, struct hps_dev *dev)
{
    struct hps_step *s = hps_mem_new(1, sizeof *s);
    struct hps_step_impl *o = hps_mem_new(1, sizeof *o);
    enum hps_status st = HPS_OK;

    *s = (struct hps_step){ .net = net, .plan = plan, .team = team, .dev = dev, .impl = o };
    o->opt = *opt;
    o->M = opt->steps.M;
    s->train = opt->train;
    s->training = opt->training;
    s->async = hps_train_is_async(opt->train) && team->nserver > 0;
    o->active = make_active_comm(s, o);
    s->lag = make_lag(s);
    st = make_ps(s, opt);
    if (!st) st = hps_agree(team->world, team->nmine > 0 ? make_stages(s, o) : HPS_OK);
    if (!st) st = hps_agree(team->world, make_dense(s, opt));
    if (!st && hps_storage_dense_share(opt->storage) > 0) hps_step_find_residuals(s);
    *out = s;
    if (st) {
        hps_step_free(s);
        *out = NULL;
    }
    return st;
}

void hps_step_free(struct hps_step *s)
{
    if (!s) return;
    struct hps_step_impl *o = s->impl;
    hps_channels_close(s->channel, s->nchannel);
    hps_dense_weights_free(s->weights);
    for (int i = 0; i < s->team->nmine; i++)
        hps_stage_free(&s->stage[i]);
    if (!s->async) hps_ps_free(s->ps);
    if (o->active != MPI_COMM_NULL) HPS_MPI(MPI_Comm_free(&o->active));
    hps_spans_free(o->spans);
    hps_mem_free(o->train.todo);
    hps_mem_free(o->evaluate.todo);
    hps_mem_free(o->score);
    hps_mem_free(s->nresidual);
    hps_mem_free(o);
    hps_mem_free(s);
}

struct hps_slice *hps_step_slice(const struct hps_step *s, int l)
{
    for (int i = 0; i < s->team->nmine; i++) {
        struct hps_slice *mine = s->stage[i].slice;
        if (mine->first <= l && l <= mine->last) return mine;
    }
    return s->weights ? hps_dense_slice(s->weights) : NULL;
}
