/* step.c - one step of my stage. Rows were routed a step ahead, so owners send without being asked;
 * activations and gradients travel while the next micro-batch computes; the update waits for all
 * sums. */
#include "train/step.h"

#include <math.h>
#include <time.h>

#include "base/mem.h"
#include "base/rng.h"
#include "comm/pipe.h"
#include "comm/reduce.h"
#include "hw/count.h"
#include "train/order.h"

#define BUCKET_BYTES ((size_t)4 << 20)

struct own {
    struct hps_step_opt opt;
    int M, flights, nlayer;
    bool last;             /* the backward under way is the step's last */
    struct hps_todo *todo; /* (2 M)                                     */
    struct hps_feed *feed; /* (M) of the step under way                 */
    struct hps_feeder_step taken;
    long long number, n;          /* the step and its examples                 */
    struct hps_pipe *prev, *next; /* NULL at the pipeline's ends               */
    struct hps_reduce *reduce;
    MPI_Comm active; /* all ranks that work, for the global norm; or NULL */
    float *score;    /* (rows) host copy of predictions           */
    double owed_s;   /* emulation: sleep not yet slept            */
};

static struct own *own_of(const struct hps_step *s)
{
    return s->own;
}

/* Rows of micro-batch m of a step of n examples: in all, and of my share. */
static int rows_of(const struct own *o, long long n, int m)
{
    return (int)(hps_share(n, o->M, m + 1) - hps_share(n, o->M, m));
}

static int my_rows(const struct hps_step *s, int rows)
{
    const struct hps_team *t = s->team;
    return (int)(hps_share(rows, t->nparts, t->my_part + 1) -
                 hps_share(rows, t->nparts, t->my_part));
}

/* ---- making ---- */

static void make_feeds(struct own *o)
{
    size_t n = (size_t)o->nlayer;
    o->feed = hps_mem_new((size_t)o->M, sizeof *o->feed);
    for (int m = 0; m < o->M; m++) {
        o->feed[m].bag = hps_mem_new(n, sizeof *o->feed[m].bag);
        o->feed[m].rows = hps_mem_new(n, sizeof *o->feed[m].rows);
        o->feed[m].rows_grad = hps_mem_new(n, sizeof *o->feed[m].rows_grad);
        o->feed[m].nrow = hps_mem_new(n, sizeof *o->feed[m].nrow);
    }
}

static enum hps_status make_pipes(struct hps_step *s, struct own *o, int rows)
{
    int stage = s->team->my_stage, width, grad;
    enum hps_status st = HPS_OK;
    if (stage > 0) {
        hps_net_boundary(s->net, s->slice->first, NULL, &width, &grad);
        st = hps_pipe_new(&o->prev, s->team, s->dev, -1, width, grad, o->flights, rows);
    }
    if (!st && stage < s->team->S - 1) {
        hps_net_boundary(s->net, s->slice->last + 1, NULL, &width, &grad);
        st = hps_pipe_new(&o->next, s->team, s->dev, +1, width, grad, o->flights, rows);
    }
    return st;
}

/* What a working rank needs beside the store. Local. */
static enum hps_status make_mine(struct hps_step *s, struct own *o)
{
    const struct hps_team *t = s->team;
    const struct hps_plan_stage *stage = &s->plan->stage[t->my_stage];
    int most = (int)((o->opt.steps.batch + o->M - 1) / o->M);
    int rows = (most + t->nparts - 1) / t->nparts;
    enum hps_status st;

    o->flights = hps_order_flights(t->S, t->my_stage, o->M);
    o->nlayer = stage->last - stage->first + 1;
    o->todo = hps_mem_new((size_t)o->M * 2, sizeof *o->todo);
    o->score = hps_mem_new((size_t)rows, sizeof *o->score);
    hps_order_1f1b(t->S, t->my_stage, o->M, o->todo);
    make_feeds(o);
    st = hps_slice_new(&s->slice, s->net, stage->first, stage->last, s->dev, rows, o->flights,
                       o->opt.train, o->opt.seed, o->opt.training);
    if (!st) st = make_pipes(s, o, rows);
    if (!st && o->opt.training)
        st = hps_reduce_new(&o->reduce, s->dev, s->slice->grad, s->slice->nparam, BUCKET_BYTES,
                            t->stage);
    return st;
}

/* The ranks that work, where a global norm must be agreed on. Collective over world. */
static MPI_Comm make_active(const struct hps_step *s, const struct own *o)
{
    if (o->opt.train->clip <= 0 || !o->opt.training) return MPI_COMM_NULL;
    bool *member = hps_mem_new((size_t)s->team->R, sizeof *member);
    for (int i = 0; i < s->team->S; i++)
        for (int p = 0; p < s->team->count[i]; p++)
            member[s->team->rank[i][p]] = true;
    MPI_Comm comm = hps_team_of(s->team, member);
    hps_mem_free(member);
    return comm;
}

enum hps_status hps_step_new(struct hps_step **out, const struct hps_step_opt *opt,
                             const struct hps_net *net, const struct hps_plan *plan,
                             const struct hps_team *team, struct hps_dev *dev)
{
    struct hps_step *s = hps_mem_new(1, sizeof *s);
    struct own *o = hps_mem_new(1, sizeof *o);
    enum hps_status st = HPS_OK;

    *s = (struct hps_step){ .net = net, .plan = plan, .team = team, .dev = dev, .own = o };
    o->opt = *opt;
    o->M = opt->steps.M;
    s->nstate = hps_opt_rule(opt->train, 0, 1).nstate;
    o->active = make_active(s, o);
    st = hps_store_new(&s->store, net, plan, team, dev, opt->train, opt->seed);
    if (!st) st = hps_agree(team->world, team->my_stage < 0 ? HPS_OK : make_mine(s, o));
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
    struct own *o = s->own;
    hps_reduce_free(o->reduce);
    hps_pipe_free(o->prev);
    hps_pipe_free(o->next);
    hps_store_free(s->store);
    hps_slice_free(s->slice);
    if (o->active != MPI_COMM_NULL) HPS_MPI(MPI_Comm_free(&o->active));
    for (int m = 0; o->feed && m < o->M; m++) {
        hps_mem_free(o->feed[m].bag);
        hps_mem_free(o->feed[m].rows);
        hps_mem_free(o->feed[m].rows_grad);
        hps_mem_free(o->feed[m].nrow);
    }
    hps_mem_free(o->feed);
    hps_mem_free(o->todo);
    hps_mem_free(o->score);
    hps_mem_free(o);
    hps_mem_free(s);
}

/* ---- computing ---- */

/* Let messages move on: a large one needs both sides to look at it now and then. */
static void poll_pipes(struct own *o)
{
    if (o->prev) hps_pipe_poll(o->prev);
    if (o->next) hps_pipe_poll(o->next);
}

/* When a computation began: by the wall, and by the time this thread was given on a core. */
struct since {
    double wall_s, core_s;
};

static double core_s(const struct hps_step *s)
{
    struct timespec t = { 0 };
    if (s->dev->slow > 1) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct since now(const struct hps_step *s)
{
    return (struct since){ hps_now_s(), core_s(s) };
}

/* An emulated slower rank computes as fast as it can and sleeps the rest, in naps between which its
 * messages move, as they would during its computation. The rest is a multiple of its time on the
 * core, not of its waiting for one; what a nap overshoots is taken off the next. */
static void computed(struct hps_step *s, struct since since)
{
    struct own *o = own_of(s);
    o->owed_s += (core_s(s) - since.core_s) * (s->dev->slow - 1);
    while (o->owed_s > 50e-6) {
        double t0 = hps_now_s();
        long ns = o->owed_s < 200e-6 ? (long)(o->owed_s * 1e9) : 200000;
        nanosleep(&(struct timespec){ 0, ns }, NULL);
        poll_pipes(o);
        o->owed_s -= hps_now_s() - t0;
    }
    s->busy_s += hps_now_s() - since.wall_s;
}

static void poll(struct hps_step *s, struct hps_feeder *feeder)
{
    struct own *o = own_of(s);
    if (hps_wait_is_crowded()) return;
    hps_feeder_poll(feeder);
    for (int i = 0; i < s->store->ntable; i++)
        hps_ps_poll(s->store->table[i].ps);
    poll_pipes(o);
    if (o->reduce) hps_reduce_poll(o->reduce);
}

/* Everything of micro-batch m that the slice reads: raw columns, rows, bags. */
static void make_feed(struct hps_step *s, int m, uint64_t key)
{
    struct own *o = own_of(s);
    struct hps_feed *f = &o->feed[m];
    const struct hps_batch *b = o->taken.batch ? &o->taken.batch[m] : NULL;

    f->B = my_rows(s, rows_of(o, o->n, m));
    f->key = key;
    f->weight = (float)(1.0 / (double)o->n);
    f->example = b ? b->example : NULL;
    f->label = b ? b->label : NULL;
    f->dense = b ? b->dense : NULL;
    for (int i = 0; i < o->nlayer; i++) {
        int l = s->slice->first + i, t = s->store->layer_table[l];
        if (t < 0) continue;
        const struct hps_store_table *st = &s->store->table[t];
        const struct hps_route_step *r = o->taken.route[st->group];
        int nlayer = s->store->group[st->group].nlayer;
        f->bag[i] = r->bag[m * nlayer + s->store->layer_bag[l]];
        f->rows[i] = hps_ps_rows(st->ps);
        f->rows_grad[i] = hps_ps_grad(st->ps);
        f->nrow[i] = (size_t)r->nplace;
    }
}

static void post_forward(struct hps_step *s, int m)
{
    struct own *o = own_of(s);
    if (o->prev && m < o->M)
        hps_pipe_recv(o->prev, HPS_WAY_FORWARD, m % o->flights, o->number, m, rows_of(o, o->n, m),
                      s->slice->in[m % o->flights]);
}

static void forward(struct hps_step *s, int m, bool training)
{
    struct own *o = own_of(s);
    int flight = m % o->flights;

    hps_region_enter(HPS_REGION_RECV);
    if (o->prev) hps_pipe_wait(o->prev, HPS_WAY_FORWARD, flight);
    hps_region_leave(HPS_REGION_RECV);
    hps_region_enter(HPS_REGION_PULL);
    for (int i = 0; i < s->store->ntable; i++)
        hps_ps_pull_end(s->store->table[i].ps, m);
    hps_region_leave(HPS_REGION_PULL);
    hps_region_enter(HPS_REGION_SEND);
    if (o->next) hps_pipe_sent(o->next, HPS_WAY_FORWARD, flight);
    hps_region_leave(HPS_REGION_SEND);
    hps_region_enter(HPS_REGION_FORWARD);
    struct since t0 = now(s);
    hps_slice_forward(s->slice, flight, &o->feed[m], training);
    computed(s, t0);
    hps_region_leave(HPS_REGION_FORWARD);
    hps_region_enter(HPS_REGION_SEND);
    int rows = rows_of(o, o->n, m);
    if (o->next)
        hps_pipe_send(o->next, HPS_WAY_FORWARD, flight, o->number, m, rows, s->slice->out[flight]);
    hps_region_leave(HPS_REGION_SEND);
    if (o->next && training)
        hps_pipe_recv(o->next, HPS_WAY_BACKWARD, flight, o->number, m, rows,
                      s->slice->out_grad[flight]);
}

/* A layer is done with a micro-batch; with the last one its gradient is complete for the whole
 * step, and everything behind its offset may travel. */
static void layer_done(int layer, void *arg)
{
    struct hps_step *s = arg;
    struct own *o = own_of(s);
    if (!hps_wait_is_crowded()) poll_pipes(o);
    if (o->last) hps_reduce_ready(o->reduce, s->slice->offset[layer - s->slice->first]);
}

static void backward(struct hps_step *s, int m)
{
    struct own *o = own_of(s);
    int flight = m % o->flights;

    hps_region_enter(HPS_REGION_RECV);
    if (o->next) hps_pipe_wait(o->next, HPS_WAY_BACKWARD, flight);
    hps_region_leave(HPS_REGION_RECV);
    hps_region_enter(HPS_REGION_SEND);
    if (o->prev) hps_pipe_sent(o->prev, HPS_WAY_BACKWARD, flight);
    hps_region_leave(HPS_REGION_SEND);
    hps_region_enter(HPS_REGION_BACKWARD);
    struct since t0 = now(s);
    o->last = m == o->M - 1;
    hps_slice_backward(s->slice, flight, &o->feed[m], layer_done, s);
    computed(s, t0);
    hps_region_leave(HPS_REGION_BACKWARD);
    hps_region_enter(HPS_REGION_SEND);
    if (o->prev)
        hps_pipe_send(o->prev, HPS_WAY_BACKWARD, flight, o->number, m, rows_of(o, o->n, m),
                      s->slice->in_grad[flight]);
    hps_region_leave(HPS_REGION_SEND);
    post_forward(s, m + o->flights);
}

/* All sums: dense gradients of the stage, row gradients at their owners. */
static void merge(struct hps_step *s)
{
    struct own *o = own_of(s);
    hps_region_enter(HPS_REGION_PUSH);
    for (int i = 0; i < s->store->ntable; i++)
        hps_ps_push_begin(s->store->table[i].ps);
    hps_region_leave(HPS_REGION_PUSH);
    hps_region_enter(HPS_REGION_REDUCE);
    hps_reduce_end(o->reduce);
    hps_region_leave(HPS_REGION_REDUCE);
    hps_region_enter(HPS_REGION_PUSH);
    for (int i = 0; i < s->store->ntable; i++)
        hps_ps_push_end(s->store->table[i].ps);
    hps_region_leave(HPS_REGION_PUSH);
}

/* The factor that brings the norm of the whole gradient, over all stages and tables, down to
 * `clip`. */
static float clip_scale(struct hps_step *s)
{
    struct own *o = own_of(s);
    double mine = 0, all;
    if (o->active == MPI_COMM_NULL) return 1.0f;
    if (s->team->my_part == 0) /* dense gradients are the same on every rank of the stage */
        s->dev->ops->norm2(s->dev, s->slice->nparam, s->slice->grad, &mine);
    for (int i = 0; i < s->store->ntable; i++)
        mine += hps_ps_norm2(s->store->table[i].ps);
    hps_region_enter(HPS_REGION_REDUCE);
    HPS_MPI(MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, o->active));
    hps_region_leave(HPS_REGION_REDUCE);
    double norm = sqrt(all), clip = o->opt.train->clip;
    return norm > clip ? (float)(clip / norm) : 1.0f;
}

static void update(struct hps_step *s)
{
    struct own *o = own_of(s);
    struct hps_rule rule = hps_opt_rule(o->opt.train, o->number, o->opt.steps.total);
    rule.scale = clip_scale(s);
    hps_region_enter(HPS_REGION_UPDATE);
    struct since t0 = now(s);
    hps_slice_update(s->slice, &rule);
    for (int i = 0; i < s->store->ntable; i++)
        hps_ps_apply(s->store->table[i].ps, &rule);
    computed(s, t0);
    hps_region_leave(HPS_REGION_UPDATE);
}

/* Messages of the last micro-batches must have left before their buffers are written again. */
static void drain(struct hps_step *s)
{
    struct own *o = own_of(s);
    hps_region_enter(HPS_REGION_SEND);
    for (int f = 0; f < o->flights; f++) {
        if (o->next) hps_pipe_sent(o->next, HPS_WAY_FORWARD, f);
        if (o->prev) hps_pipe_sent(o->prev, HPS_WAY_BACKWARD, f);
    }
    hps_region_leave(HPS_REGION_SEND);
}

/* ---- the verbs ---- */

enum hps_status hps_step_begin(struct hps_step *s, struct hps_feeder *feeder, long long number)
{
    struct own *o = own_of(s);
    if (!s->slice) return HPS_OK;
    o->number = number;
    hps_region_enter(HPS_REGION_PULL);
    o->taken = hps_feeder_take(feeder);
    for (int i = 0; i < s->store->ntable; i++)
        hps_ps_pull_begin(s->store->table[i].ps, o->taken.route[s->store->table[i].group]);
    hps_region_leave(HPS_REGION_PULL);
    return hps_feeder_fetch(feeder);
}

static void start(struct hps_step *s, const struct hps_steps *steps, long long number,
                  uint64_t seed)
{
    struct own *o = own_of(s);
    long long epoch, position;
    uint64_t key = hps_rng_sub(hps_rng_key(seed, "step"), (uint64_t)number);
    o->n = hps_steps_batch(steps, number, &epoch, &position);
    for (int m = 0; m < o->M; m++)
        make_feed(s, m, key);
    for (int m = 0; m < o->flights; m++)
        post_forward(s, m);
}

void hps_step_work(struct hps_step *s, struct hps_feeder *feeder, long long number, double *loss)
{
    struct own *o = own_of(s);
    *loss = 0;
    if (!s->slice) return;
    start(s, &o->opt.steps, number, o->opt.seed);
    for (int i = 0; i < 2 * o->M; i++) {
        if (o->todo[i].backward)
            backward(s, o->todo[i].m);
        else
            forward(s, o->todo[i].m, true);
        poll(s, feeder);
    }
    merge(s);
    update(s);
    drain(s);
    *loss = hps_slice_loss(s->slice);
}

static void collect(struct hps_step *s, int m, struct hps_metric *metric)
{
    struct own *o = own_of(s);
    const struct hps_batch *b = &o->taken.batch[m];
    const float *score = s->slice->score + (size_t)(m % o->flights) * (size_t)s->slice->rows;
    float *host = o->score;
    s->dev->ops->get(s->dev, host, score, (size_t)b->B * sizeof *host);
    hps_metric_add(metric, b->B, host, b->label, b->example);
}

void hps_step_evaluate(struct hps_step *s, struct hps_feeder *feeder, const struct hps_steps *steps,
                       long long number, struct hps_metric *metric)
{
    struct own *o = own_of(s);
    if (!s->slice) return;
    start(s, steps, number, o->opt.seed);
    for (int m = 0; m < o->M; m++) {
        forward(s, m, false);
        if (s->net->L - 1 == s->slice->last) collect(s, m, metric);
        post_forward(s, m + o->flights);
        poll(s, feeder);
    }
    drain(s);
    hps_slice_loss(s->slice);
}

double hps_step_bytes(const struct hps_step *s)
{
    struct own *o = own_of(s);
    double bytes = s->other_bytes;
    if (!s->slice) return 0;
    for (int i = 0; i < s->store->ntable; i++)
        bytes += hps_ps_bytes(s->store->table[i].ps);
    if (o->prev) bytes += hps_pipe_bytes(o->prev);
    if (o->next) bytes += hps_pipe_bytes(o->next);
    if (o->reduce) bytes += hps_reduce_bytes(o->reduce);
    return bytes;
}
