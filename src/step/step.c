/* step.c - one step of my stages. Rows were requested a step ahead, so owners send without being
 * asked; activations and gradients travel while the next micro-batch computes; the update waits for
 * all sums. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/rng.h"
#include "base/wait.h"
#include "step/step_impl.h"

/* ---- computing ---- */

static struct hps_stage *stage_of(struct hps_step *s, int stage)
{
    return &s->stage[hps_team_part(s->team, stage)];
}

static void poll(struct hps_step *s, struct hps_feeder *feeder)
{
    hps_step_read(s, false);
    if (hps_wait_oversubscribed()) return;
    /* without a pipeline no time is lost in waiting for other stages, and the rank that sorted the
     * next step's ids first would make the others wait for it */
    hps_feeder_poll(feeder, s->team->S > 1);
    hps_ps_poll(s->ps);
    hps_step_poll(s);
    for (int i = 0; i < s->team->nmine; i++)
        hps_step_poll_reduce(s, &s->stage[i]);
}

/* Numbers of graphs: the last ones are updates of dense weights, the others micro-batches. */
enum { UPDATE_GRAPHS = HPS_NGRAPH - HPS_MY_STAGES };

static int index_of(const struct hps_step *s, const struct hps_stage *r)
{
    return (int)(r - s->stage);
}

/* A micro-batch's kernels may be launched as one graph unless they meet other ranks in between. */
static int graph_of(const struct hps_step *s, const struct hps_stage *r, int m, bool backward)
{
    int graph = index_of(s, r) + HPS_MY_STAGES * (m % r->nslot * 2 + backward);
    bool reduces = backward && r->last && s->team->nrank[r->stage] > 1;
    bool fits = !reduces && !r->stage_collective && graph < UPDATE_GRAPHS;
    return s->dev->ops->graph_begin && fits ? graph : -1;
}

static void forward(struct hps_step *s, struct hps_stage *r, int m, bool training)
{
    hps_stage_receive(r, m);
    hps_region_enter(HPS_REGION_PULL, r->part);
    hps_step_span(s, r, HPS_REGION_PULL, false);
    hps_stage_pull(r, s->ps, m);
    hps_spans_end(s->impl->spans, 0);
    hps_region_leave(HPS_REGION_PULL);
    struct hps_step_clock t0 = hps_step_compute_begin(s, r, HPS_REGION_FORWARD);
    int graph = training ? graph_of(s, r, m, false) : -1;
    if (graph >= 0) s->dev->ops->graph_begin(s->dev, graph);
    hps_slice_forward(r->slice, m % r->nslot, &r->feed[m], training);
    if (graph >= 0) s->dev->ops->graph_end(s->dev, graph);
    hps_step_compute_end(s, t0);
    hps_region_leave(HPS_REGION_FORWARD);
    hps_stage_forwarded(r, m, training);
}

/* The backward of a layer has been queued. In the last micro-batch the layer's gradient is complete
 * for the whole step, and the gradients from its offset on may be reduced. */
static void layer_done(int layer, void *arg)
{
    struct hps_step *s = arg;
    struct hps_stage *r = s->impl->in_backward;
    if (!hps_wait_oversubscribed()) hps_step_poll(s);
    if (!r->last) return;
    hps_reduce_ready(r->own ? r->own : r->reduce, r->slice->offset[layer - r->slice->first]);
    if (!hps_wait_oversubscribed()) hps_step_poll_reduce(s, r);
}

static void backward(struct hps_step *s, struct hps_stage *r, int m)
{
    hps_stage_receive_back(r, m);
    s->impl->in_backward = r;
    struct hps_step_clock t0 = hps_step_compute_begin(s, r, HPS_REGION_BACKWARD);
    int graph = graph_of(s, r, m, true);
    if (graph >= 0) s->dev->ops->graph_begin(s->dev, graph);
    hps_slice_backward(r->slice, m % r->nslot, &r->feed[m], layer_done, s);
    if (graph >= 0) s->dev->ops->graph_end(s->dev, graph);
    hps_step_compute_end(s, t0);
    hps_region_leave(HPS_REGION_BACKWARD);
    hps_stage_backwarded(r, m);
}

static void push_dense(struct hps_step *s)
{
    double *running[HPS_MY_STAGES] = { NULL };

    for (int i = 0; i < s->team->nmine; i++)
        running[i] = hps_stage_moved_running(&s->stage[i]);
    hps_dense_push_begin(s->channel[0].dense, running);
}

/* The norm of this worker's whole gradient, that of rows as the servers have it. The others' clocks
 * need not come to it. */
static double own_norm(struct hps_step *s)
{
    double norm2 = 0;
    double mean = hps_step_own_mean(s, &s->impl->opt.steps, s->impl->number, s->team->worker);

    for (int i = 0; i < s->team->nmine; i++) {
        hps_region_part(s->stage[i].part);
        norm2 += hps_stage_own_norm2(&s->stage[i]);
    }
    hps_channel_norm_begin(s->channel, norm2 * mean * mean);
    return hps_channel_norm_end(s->channel);
}

/* Each worker clips its own gradient, the servers that of its rows, before dense ones are summed.
 */
static void merge_clipped(struct hps_step *s)
{
    double clip = s->train->clip;

    hps_region_enter(HPS_REGION_PUSH, 0);
    hps_ps_push_end(s->ps);
    hps_region_leave(HPS_REGION_PUSH);
    hps_region_enter(HPS_REGION_REDUCE, 0);
    double norm = own_norm(s);
    for (int i = 0; i < s->team->nmine; i++) {
        hps_region_part(s->stage[i].part);
        hps_stage_sum_clipped(&s->stage[i], norm > clip ? (float)(clip / norm) : 1);
    }
    hps_region_leave(HPS_REGION_REDUCE);
}

/* Sum all gradients up: dense ones over the ranks of a stage, those of rows at their owners. */
static void merge(struct hps_step *s)
{
    hps_region_enter(HPS_REGION_PUSH, 0);
    hps_ps_push_begin(s->ps);
    hps_region_leave(HPS_REGION_PUSH);
    if (hps_step_clips_own(s)) {
        merge_clipped(s);
        return;
    }
    hps_region_enter(HPS_REGION_REDUCE, 0);
    for (int i = 0; i < s->team->nmine; i++) {
        hps_region_part(s->stage[i].part);
        hps_reduce_end(s->stage[i].reduce);
    }
    hps_region_leave(HPS_REGION_REDUCE);
    hps_region_enter(HPS_REGION_PUSH, 0);
    if (hps_step_serves_dense(s) && s->team->nmine > 0) push_dense(s);
    hps_ps_push_end(s->ps);
    hps_region_leave(HPS_REGION_PUSH);
}

/* The factor that brings the norm of the whole gradient, over all stages and tables, down to
 * `clip`. */
static float clip_scale(struct hps_step *s)
{
    struct hps_step_impl *o = s->impl;
    double mine = 0, all;
    if (o->active == MPI_COMM_NULL) return 1.0f;
    /* dense gradients are the same on every rank of a stage */
    for (int i = 0; s->team->my_stage_rank == 0 && i < s->team->nmine; i++) {
        const struct hps_slice *slice = s->stage[i].slice;
        double norm2 = 0;
        s->dev->ops->dense->norm2(s->dev, slice->nparam, slice->grad, &norm2);
        mine += norm2;
    }
    mine += hps_ps_norm2(s->ps);
    hps_region_enter(HPS_REGION_REDUCE, 0);
    HPS_MPI(MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, o->active));
    hps_region_leave(HPS_REGION_REDUCE);
    double norm = sqrt(all), clip = o->opt.train->clip;
    return norm > clip ? (float)(clip / norm) : 1.0f;
}

static struct hps_update update_of(const struct hps_step *s)
{
    return (struct hps_update){ s->impl->number, s->impl->opt.steps.total, s->team->W,
                                s->updates, 0, 0 };
}

static void update_stage(struct hps_step *s, struct hps_stage *r, float scale)
{
    struct hps_update u = update_of(s);
    struct hps_step_clock t0 = hps_step_compute_begin(s, r, HPS_REGION_UPDATE);
    bool by_share = hps_reduce_by_share(r->reduce);
    bool graph = s->dev->ops->graph_begin && r->slice->nparam > 0;
    if (graph) s->dev->ops->graph_begin(s->dev, UPDATE_GRAPHS + index_of(s, r));
    if (by_share)
        hps_stage_update_share(r, u);
    else
        hps_slice_update(r->slice, u, scale);
    if (graph) s->dev->ops->graph_end(s->dev, UPDATE_GRAPHS + index_of(s, r));
    hps_ps_apply(s->ps, r->stage, u, scale);
    if (by_share) {
        hps_step_gather(s, r);
        for (int l = r->slice->first; l <= r->slice->last; l++)
            hps_slice_pack(r->slice, l);
    }
    hps_stage_merge_running(r);
    hps_step_compute_end(s, t0);
    hps_region_leave(HPS_REGION_UPDATE);
}

/* What a server does in a step after its begin. */
static void serve(struct hps_step *s, struct hps_feeder *feeder, bool learns)
{
    hps_region_enter(HPS_REGION_PULL, 0);
    hps_ps_serve(s->ps);
    hps_region_leave(HPS_REGION_PULL);
    hps_feeder_poll(feeder, true);      /* the others compute meanwhile */
    if (!learns) return;
    merge(s);
    float scale = clip_scale(s);
    struct hps_step_clock t0 = hps_step_apply_begin(s, s->impl->number);
    hps_ps_apply(s->ps, 0, update_of(s), scale);
    hps_step_apply_end(s, t0);
}

/* Servers apply the gradients, whose norm they need. */
static void let_servers_update(struct hps_step *s)
{
    hps_region_enter(HPS_REGION_PUSH, 0);
    if (s->train->clip > 0) {
        hps_channel_norm_begin(s->channel, 0);
        hps_channel_norm_end(s->channel);
    }
    hps_dense_push_end(s->channel[0].dense);
    hps_region_leave(HPS_REGION_PUSH);
}

static void update(struct hps_step *s)
{
    if (hps_step_serves_dense(s)) {
        let_servers_update(s);
        return;
    }
    float scale = clip_scale(s);
    for (int i = 0; i < s->team->nmine; i++)
        update_stage(s, &s->stage[i], scale);
}

void hps_step_flush(struct hps_step *s, struct hps_feeder *feeder, int channel)
{
    hps_region_enter(HPS_REGION_PUSH, 0);
    bool dropped = hps_ps_flush(s->channel[channel].ps, hps_feeder_requests(feeder, channel));
    if (dropped) hps_feeder_request_again(feeder, channel);
    hps_region_leave(HPS_REGION_PUSH);
}

void hps_step_gather_states(struct hps_step *s)
{
    for (int i = 0; i < s->team->nmine; i++)
        hps_stage_gather_states(&s->stage[i]);
    if (s->weights) hps_dense_gather(s->weights, hps_ps_servers(s->ps));
}

/* The last micro-batches' messages must have left before their buffers are written again. */
static void drain(struct hps_step *s)
{
    for (int i = 0; i < s->team->nmine; i++)
        hps_stage_drain(&s->stage[i]);
}

/* This rank's sum of losses since this copy was last read. */
static double sum_losses(const struct hps_step *s, int copy)
{
    double loss = 0;
    for (int i = 0; i < s->team->nmine; i++)
        loss += hps_slice_loss_end(s->stage[i].slice, copy);
    return loss;
}

double hps_step_loss(struct hps_step *s)
{
    if (s->team->nmine > 0) hps_step_read(s, true);
    return sum_losses(s, s->impl->loss_copy);
}

/* ---- the verbs ---- */

enum hps_status hps_step_begin(struct hps_step *s, struct hps_feeder *feeder, long long number)
{
    struct hps_step_impl *o = s->impl;
    if (!hps_team_works(s->team)) return HPS_OK;
    o->number = number;
    hps_region_enter(HPS_REGION_PULL, 0);
    o->taken = hps_feeder_take(feeder);
    hps_ps_begin(s->ps, hps_feeder_requests(feeder, 0));
    if (s->async && s->channel[0].dense) hps_dense_pull_begin(s->channel[0].dense);
    hps_region_leave(HPS_REGION_PULL);
    enum hps_status st = hps_ps_status(s->ps), fetched = hps_feeder_fetch(feeder, 0);
    return st ? st : fetched;
}

static void start(struct hps_step *s, const struct hps_steps *steps, long long number,
                  uint64_t seed)
{
    struct hps_step_impl *o = s->impl;
    if (hps_step_serves_dense(s)) {
        hps_region_enter(HPS_REGION_PULL, 0);
        hps_dense_pull_end(s->channel[0].dense);
        hps_region_leave(HPS_REGION_PULL);
    }
    long long epoch, position, n = hps_steps_batch(steps, number, &epoch, &position);
    struct hps_stage_step step = {
        .number = number, .batch = steps->batch,
        .n = hps_steps_of_worker(steps, number, s->team->worker, &epoch, &position),
        .key = hps_rng_sub(hps_rng_key(seed, "step"), (uint64_t)epoch),
    };
    step.all = hps_step_serves_dense(s) ? step.n : n;
    for (int i = 0; i < s->team->nmine; i++)
        hps_stage_begin(&s->stage[i], &o->taken, &step);
}

void hps_step_work(struct hps_step *s, struct hps_feeder *feeder, long long number, double *loss)
{
    struct hps_step_impl *o = s->impl;
    *loss = 0;
    if (s->team->serves) serve(s, feeder, true);
    s->updates += s->team->nmine == 0;
    if (s->team->nmine == 0) return;
    hps_step_slow(s, true);
    start(s, &o->opt.steps, number, o->opt.seed);
    for (const struct hps_todo *t = o->train.todo; t < o->train.todo + o->train.n; t++) {
        if (t->backward)
            backward(s, stage_of(s, t->stage), t->m);
        else
            forward(s, stage_of(s, t->stage), t->m, true);
        poll(s, feeder);
    }
    merge(s);
    o->loss_copy = !o->loss_copy;
    for (int i = 0; i < s->team->nmine; i++)
        hps_slice_loss_begin(s->stage[i].slice, o->loss_copy);
    update(s);
    s->updates++;
    drain(s);
    *loss = sum_losses(s, s->lag == 2 ? !o->loss_copy : o->loss_copy);
}

struct hps_heartbeat hps_step_train(struct hps_step *s, struct hps_feeder *feeder,
                                    struct hps_step_agree *agree, long long number,
                                    struct hps_heartbeat mine, double *loss)
{
    enum hps_status st = hps_step_begin(s, feeder, number);

    if (st) mine.status = st;
    hps_step_agree_begin(agree, &mine);
    hps_step_work(s, feeder, number, loss);
    hps_region_enter(HPS_REGION_WAIT, 0);
    struct hps_heartbeat all = hps_step_agree_end(agree, !hps_team_works(s->team));
    hps_region_leave(HPS_REGION_WAIT);
    hps_count_window(number);
    return all;
}

static void collect(struct hps_step *s, const struct hps_stage *r, int m,
                    struct hps_metric *metric)
{
    struct hps_step_impl *o = s->impl;
    const struct hps_batch *b = &o->taken.batch[m];
    const float *score = r->slice->score + (size_t)(m % r->nslot) * (size_t)r->slice->rows;
    float *host = o->score;
    s->dev->ops->copy_to_host(s->dev, host, score, (size_t)b->B * sizeof *host);
    hps_metric_add(metric, b->B, host, b->label, b->example);
}

void hps_step_evaluate(struct hps_step *s, struct hps_feeder *feeder, const struct hps_steps *steps,
                       long long number, struct hps_metric *metric)
{
    struct hps_step_impl *o = s->impl;
    if (s->team->serves) serve(s, feeder, false);
    if (s->team->nmine == 0) return;
    hps_step_slow(s, false);
    start(s, steps, number, o->opt.seed);
    o->evaluating = true;
    for (const struct hps_todo *t = o->evaluate.todo; t < o->evaluate.todo + o->evaluate.n; t++) {
        struct hps_stage *r = stage_of(s, t->stage);
        forward(s, r, t->m, false);
        if (s->net->L - 1 == r->slice->last) collect(s, r, t->m, metric);
        hps_stage_freed(r, t->m);
        poll(s, feeder);
    }
    o->evaluating = false;
    drain(s);
    for (int i = 0; i < s->team->nmine; i++)
        hps_metric_add_loss(metric, hps_slice_loss(s->stage[i].slice));
}

static void count_all(const struct hps_step *s, struct hps_message_count count[HPS_MESSAGES])
{
    for (int i = 0; i < s->team->nmine; i++)
        hps_stage_count(&s->stage[i], count);
    for (int i = 0; i < s->nchannel; i++)
        hps_channel_count(&s->channel[i], count);
    if (s->nchannel == 0) hps_ps_count(s->ps, count);
}

void hps_step_count(const struct hps_step *s, struct hps_message_count count[HPS_MESSAGES],
                    int sign)
{
    struct hps_message_count all[HPS_MESSAGES];

    memcpy(all, s->other_messages, sizeof all);
    count_all(s, all);
    for (int kind = 0; kind < HPS_MESSAGES; kind++)
        hps_message_count_add(&count[kind], &all[kind], sign);
}

double hps_step_bytes(const struct hps_step *s)
{
    double bytes = s->other_bytes;
    for (int i = 0; i < s->team->nmine; i++)
        bytes += hps_stage_bytes(&s->stage[i]);
    for (int i = 0; i < s->nchannel; i++)
        bytes += hps_channel_bytes(&s->channel[i]);
    return s->nchannel > 0 ? bytes : bytes + hps_ps_bytes(s->ps);
}
