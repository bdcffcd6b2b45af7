/* stage.c - a stage's slice and its messages, seen from one of its ranks. */
#include "step/stage.h"

#include "base/mem.h"
#include "hw/count.h"
#include "plan/order.h"
#include "step/stage_impl.h"

#define BUCKET_BYTES ((size_t)4 << 20)

/* Examples of micro-batch m: in all, and this rank's. */
static int rows_of(const struct hps_stage *r, int m)
{
    return (int)(hps_share(r->step.n, r->M, m + 1) - hps_share(r->step.n, r->M, m));
}

static int my_rows(const struct hps_stage *r, int m)
{
    const struct hps_team *t = r->team;
    int rows = rows_of(r, m);
    return (int)(hps_share(rows, t->nreplica, t->my_replica + 1) -
                 hps_share(rows, t->nreplica, t->my_replica));
}

/* ---- making ---- */

static void make_feeds(struct hps_stage *r, size_t nlayer)
{
    r->feed = hps_mem_new((size_t)r->M, sizeof *r->feed);
    r->collective = hps_mem_new((size_t)r->M, sizeof *r->collective);
    for (int m = 0; m < r->M; m++)
        r->feed[m].lookup = hps_mem_new(nlayer, sizeof *r->feed[m].lookup);
}

static void make_running(struct hps_stage *r, bool served)
{
    size_t n = hps_slice_nrunning(r->slice);

    if ((r->team->W > 1 || served) && n > 0) r->running = hps_mem_new(2 * n, sizeof *r->running);
}

/* The pipe to the stage before (side -1) or after (+1); none at the pipeline's end. */
static enum hps_status make_pipe(struct hps_pipe **pipe, const struct hps_stage *r, int side,
                                 const struct hps_codec_ops *codec)
{
    const struct hps_slice *s = r->slice;
    struct hps_pipe_opt opt = { r->stage, side, { 0 }, r->nslot, s->rows, codec };

    if (r->stage + side < 0 || r->stage + side == r->team->S) return HPS_OK;
    hps_net_boundary(s->net, side == 1 ? s->last + 1 : s->first, NULL,
                     &opt.width[HPS_WAY_FORWARD], &opt.width[HPS_WAY_BACKWARD]);
    return hps_pipe_new(pipe, r->team, s->dev, &opt);
}

/* The norm of a gradient that is clipped needs all of it. */
static enum hps_status make_reduce(struct hps_stage *r, const struct hps_stage_opt *opt)
{
    struct hps_slice *s = r->slice;
    bool shares = opt->train->clip <= 0 && hps_slice_has_shares(s) && !opt->served;
    struct hps_reduce_opt how = { .n = s->nparam, .bucket_bytes = BUCKET_BYTES,
                                  .by_share = shares, .codec = opt->dense,
                                  .share = opt->dense_share };
    if (opt->clips_own) return hps_stage_clip_new(r, &how);
    enum hps_status st = hps_reduce_new(&r->reduce, s->dev, s->grad, &how,
                                        opt->served ? r->team->replicas : r->team->stage);

    if (!st) hps_slice_borrow_grad(s, hps_reduce_grad(r->reduce));
    return st;
}

enum hps_status hps_stage_new(struct hps_stage *r, const struct hps_net *net,
                               const struct hps_plan *plan, const struct hps_team *team, int stage,
                               struct hps_dev *dev, const struct hps_stage_opt *opt)
{
    const struct hps_plan_stage *g = &plan->stage[stage];
    int M = opt->M, nslot = hps_plan_in_flight(team->S, stage, M);

    if (stage > 0 && nslot < M) nslot++; /* the next one comes in while these are computed */
    *r = (struct hps_stage){ .stage = stage, .part = hps_team_part(team, stage), .M = M,
                              .nslot = nslot, .team = team };
    make_feeds(r, (size_t)(g->last - g->first + 1));
    struct hps_slice_opt slice_opt = { g->first, g->last, opt->rows, nslot, opt->train, opt->seed,
                                       opt->training };
    enum hps_status st = hps_slice_new(&r->slice, net, dev, &slice_opt);
    if (!st && opt->training) make_running(r, opt->served);
    if (!st) st = make_pipe(&r->prev, r, -1, opt->activations);
    if (!st) st = make_pipe(&r->next, r, +1, opt->activations);
    if (!st && opt->training) st = make_reduce(r, opt);
    if (!st && team->nreplica > 1 && hps_slice_is_collective(net, g->first, g->last))
        st = hps_stage_collective_new(&r->stage_collective, dev, team->replicas);
    return st;
}

void hps_stage_free(struct hps_stage *r)
{
    hps_reduce_free(r->reduce);
    hps_reduce_free(r->own);
    if (r->clipped) r->slice->dev->ops->free(r->slice->dev, r->clipped);
    hps_stage_collective_free(r->stage_collective);
    hps_pipe_free(r->prev);
    hps_pipe_free(r->next);
    hps_slice_free(r->slice);
    hps_mem_free(r->running);
    for (int m = 0; r->feed && m < r->M; m++)
        hps_mem_free(r->feed[m].lookup);
    hps_mem_free(r->feed);
    hps_mem_free(r->collective);
}

/* ---- a step ---- */

/* The raw columns of micro-batch m that the slice reads. */
static void make_feed(struct hps_stage *r, const struct hps_feeder_step *taken, int m)
{
    struct hps_feed *f = &r->feed[m];
    const struct hps_load_raw none = { 0 }, *raw = taken->batch ? &taken->raw[m] : &none;

    f->example = raw->example;
    f->label = raw->label;
    f->dense = raw->dense;
}

void hps_stage_pull(struct hps_stage *r, struct hps_ps *ps, int m)
{
    for (int l = r->slice->first; l <= r->slice->last; l++)
        r->feed[m].lookup[l - r->slice->first] = hps_ps_pull(ps, m, l);
}

static void post_forward(struct hps_stage *r, int m)
{
    if (r->prev && m < r->M)
        hps_pipe_recv(r->prev, HPS_WAY_FORWARD, m % r->nslot, r->step.number, m, rows_of(r, m),
                      r->slice->in[m % r->nslot]);
}

void hps_stage_begin(struct hps_stage *r, const struct hps_feeder_step *taken,
                     const struct hps_stage_step *step)
{
    r->step = *step;
    if (r->running) hps_stage_read_running(r, r->running);
    for (int m = 0; m < r->M; m++) {
        r->feed[m].B = my_rows(r, m);
        r->feed[m].key = step->key;
        r->feed[m].weight = (float)(1.0 / (double)step->all);
        if (r->stage_collective) {
            r->collective[m] = hps_stage_collective_over(r->stage_collective, rows_of(r, m));
            r->feed[m].collective = &r->collective[m];
        }
        make_feed(r, taken, m);
    }
    for (int m = 0; m < r->nslot; m++)
        post_forward(r, m);
}

/* Wait for the input of m, and until the last message from its slot's output has left. */
static void clear_slot(const struct hps_stage *r, struct hps_pipe *from, struct hps_pipe *to,
                       enum hps_way way, int m)
{
    int slot = m % r->nslot;

    hps_region_enter(HPS_REGION_RECV, r->part);
    if (from) hps_pipe_wait(from, way, slot);
    hps_region_leave(HPS_REGION_RECV);
    hps_region_enter(HPS_REGION_SEND, r->part);
    if (to) hps_pipe_sent(to, way, slot);
    hps_region_leave(HPS_REGION_SEND);
}

void hps_stage_receive(struct hps_stage *r, int m)
{
    clear_slot(r, r->prev, r->next, HPS_WAY_FORWARD, m);
}

void hps_stage_receive_back(struct hps_stage *r, int m)
{
    r->last = m == r->M - 1;
    clear_slot(r, r->next, r->prev, HPS_WAY_BACKWARD, m);
}

static void send(struct hps_stage *r, struct hps_pipe *to, enum hps_way way, int m,
                 float *const *buf)
{
    int slot = m % r->nslot;

    hps_region_enter(HPS_REGION_SEND, r->part);
    if (to) hps_pipe_send(to, way, slot, r->step.number, m, rows_of(r, m), buf[slot]);
    hps_region_leave(HPS_REGION_SEND);
}

void hps_stage_forwarded(struct hps_stage *r, int m, bool training)
{
    send(r, r->next, HPS_WAY_FORWARD, m, r->slice->out);
    if (r->next && training)
        hps_pipe_recv(r->next, HPS_WAY_BACKWARD, m % r->nslot, r->step.number, m, rows_of(r, m),
                      r->slice->out_grad[m % r->nslot]);
}

void hps_stage_backwarded(struct hps_stage *r, int m)
{
    send(r, r->prev, HPS_WAY_BACKWARD, m, r->slice->in_grad);
    hps_stage_freed(r, m);
}

void hps_stage_freed(struct hps_stage *r, int m)
{
    post_forward(r, m + r->nslot);
}

void hps_stage_drain(struct hps_stage *r)
{
    hps_region_enter(HPS_REGION_SEND, r->part);
    for (int f = 0; f < r->nslot; f++) {
        if (r->next) hps_pipe_sent(r->next, HPS_WAY_FORWARD, f);
        if (r->prev) hps_pipe_sent(r->prev, HPS_WAY_BACKWARD, f);
    }
    hps_region_leave(HPS_REGION_SEND);
}

void hps_stage_poll(struct hps_stage *r)
{
    if (r->prev) hps_pipe_poll(r->prev);
    if (r->next) hps_pipe_poll(r->next);
}

double hps_stage_bytes(const struct hps_stage *r)
{
    double bytes = 0;

    if (r->prev) bytes += hps_pipe_bytes(r->prev);
    if (r->next) bytes += hps_pipe_bytes(r->next);
    if (r->reduce) bytes += hps_reduce_bytes(r->reduce);
    if (r->own) bytes += hps_reduce_bytes(r->own);
    bytes += hps_stage_collective_bytes(r->stage_collective);
    return bytes;
}

void hps_stage_count(const struct hps_stage *r, struct hps_message_count count[HPS_MESSAGES])
{
    struct hps_message_count *rows = &count[HPS_MESSAGE_ACTIVATIONS];
    struct hps_message_count *dense = &count[HPS_MESSAGE_DENSE];

    if (r->prev) hps_message_count_add(rows, hps_pipe_count(r->prev), 1);
    if (r->next) hps_message_count_add(rows, hps_pipe_count(r->next), 1);
    if (r->reduce) hps_message_count_add(dense, hps_reduce_count(r->reduce), 1);
    if (r->own) hps_message_count_add(dense, hps_reduce_count(r->own), 1);
}
