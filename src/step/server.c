/* server.c - a state for each worker's clock, looked at in turn. */
#include "step/server.h"

#include <math.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/wait.h"
#include "hw/count.h"
#include "step/step_impl.h"

/* What the server waits for: requests, the worker's turn, and rows from a disk; its rows and
 * weights to arrive; its gradients; their norm; what its ranks agree on; the turn of its gradients,
 * and their rows from a disk. */
enum state { ASKS, PULLS, PUSHES, NORMS, AGREES, APPLIES, LEFT };

struct at {
    enum state state;
    float scale;                /* of the gradients                                */
    struct hps_heartbeat said;  /* in this clock                                   */
};

struct hps_server_impl {
    struct hps_step *step;
    struct hps_feeder *feeder;
    struct hps_server_opt opt;
    bool first;                 /* the first server: it speaks for all of them     */
    bool pause;                 /* workers are to pause ...                        */
    bool together;              /* ... all behind the same clock, since they sum dense
                                   gradients in every clock                        */
    long long pause_at;         /* that one, once it is chosen; < 0: not yet       */
    struct hps_update completed;    /* the update that the last gradients complete */
    int nheld;                  /* gradients that it has                           */
    double began_s;             /* the run                                         */
    struct at *at;              /* (W)                                             */
    int bringing;               /* the worker whose rows come to memory; < 0: none */
    long long *last;            /* (W) clocks up to the replay's next cut; NULL: no replay */
    size_t event_cap;
    int W, nleft;
};

/* Count each worker's clocks up to the next cut of the replay, so that it pauses behind the last
 * one: what happens at a cut then happens at the same moment. */
static void count_to_cut(struct hps_server *v)
{
    struct hps_server_impl *o = v->impl;
    const struct hps_clock_order *order = o->opt.replay;
    long long end = order->n;

    for (long long k = order->ncut; k-- > 0 && order->cut[k] > v->clock.n;)
        end = order->cut[k];
    for (int w = 0; w < o->W; w++)
        o->last[w] = v->clock.pushed[w];
    for (long long i = v->clock.n; i < end; i++)
        o->last[order->event[i].worker] += order->event[i].act == HPS_CLOCK_APPLY;
}

struct hps_server *hps_server_new(struct hps_step *step, struct hps_feeder *feeder,
                                  const struct hps_server_opt *opt)
{
    struct hps_server *v = hps_mem_new(1, sizeof *v);
    struct hps_server_impl *o = hps_mem_new(1, sizeof *o);
    const struct hps_train_opt *train = step->train;
    int W = step->team->W;

    *o = (struct hps_server_impl){ .step = step, .feeder = feeder, .opt = *opt, .W = W,
                                   .first = hps_step_serves_first(step),
                                   .together = opt->learns && hps_train_sums_dense(train) };
    o->at = hps_mem_new((size_t)W, sizeof *o->at);
    v->impl = o;
    v->worker = hps_mem_new((size_t)W, sizeof *v->worker);
    hps_clock_init(&v->clock, W, hps_train_staleness(train), train->aggregate);
    if (o->together) hps_clock_sum(&v->clock);
    hps_clock_samples_init(&v->samples, W);
    for (int w = 0; w < W; w++) {
        v->worker[w].number = opt->number ? opt->number[w] : 0;
        hps_clock_set(&v->clock, w, hps_steps_clock(&opt->steps, v->worker[w].number));
    }
    if (opt->replay) {
        o->last = hps_mem_new((size_t)W, sizeof *o->last);
        hps_clock_prescribe(&v->clock, opt->replay->event, opt->replay->n);
    }
    if (opt->learns && train->interleaving > 0)
        hps_clock_draw(&v->clock, (uint64_t)train->interleaving);
    return v;
}

void hps_server_free(struct hps_server *v)
{
    if (!v) return;
    hps_clock_done(&v->clock);
    hps_mem_free(v->worker);
    hps_mem_free(v->event);
    hps_mem_free(v->impl->last);
    hps_mem_free(v->impl->at);
    hps_mem_free(v->impl);
    hps_mem_free(v);
}

struct hps_heartbeat hps_server_news(const struct hps_server *v)
{
    struct hps_heartbeat b = { .steps = v->steps };
    double loss = 0, n = 0;
    int which;

    for (int w = 0; w < v->impl->W; w++) {
        loss += v->worker[w].loss;
        n += (double)v->worker[w].n;
    }
    b.mean_loss = n > 0 ? loss / n : NAN;
    b.slowest = hps_clock_slowest(&v->clock, &which);
    b.fastest = hps_clock_fastest(&v->clock, &which);
    return b;
}

/* Examples of worker w's batch in its clock. */
static long long batch_of(const struct hps_server *v, int w)
{
    long long epoch, position;

    return hps_steps_of_worker(&v->impl->opt.steps, v->worker[w].number, w, &epoch, &position);
}

static bool may(const struct hps_server *v, int w, enum hps_clock_act act)
{
    return !v->impl->opt.learns || hps_clock_may(&v->clock, (struct hps_clock_event){ w, act });
}

/* The event comes now. Are gradients to be applied? */
static bool take(struct hps_server *v, int w, enum hps_clock_act act)
{
    struct hps_server_impl *o = v->impl;
    struct hps_clock_event e = { w, act };

    if (!o->opt.learns) return false;
    if (o->opt.records) {
        hps_mem_grow(&v->event, &o->event_cap, (size_t)v->nevent + 1, sizeof *v->event);
        v->event[v->nevent++] = e;
    }
    return hps_clock_take(&v->clock, e);
}

void hps_server_forget(struct hps_server *v)
{
    v->nevent = 0;
}

bool hps_server_replayed(const struct hps_server *v)
{
    return v->impl->opt.replay && v->clock.n >= v->impl->opt.replay->n;
}

/* Is this clock the worker's last one before the replay's next cut? */
static bool ends(const struct hps_server *v, int w)
{
    const struct hps_server_impl *o = v->impl;

    return o->last && v->clock.pushed[w] + 1 >= o->last[w];
}

/* ---- a clock of a worker ---- */

/* Is worker w to pause behind the clock that it has just begun? */
static bool pauses(struct hps_server *v, int w)
{
    struct hps_server_impl *o = v->impl;
    long long at = 0;

    if (!o->together || !o->pause) return o->pause || ends(v, w);
    for (int u = 0; u < o->W && o->pause_at < 0; u++) {     /* the others know of no pause yet */
        long long first = v->clock.pulled[u] + (u != w);
        at = first > at ? first : at;
    }
    if (o->pause_at < 0) o->pause_at = at;
    return v->clock.pulled[w] >= o->pause_at || ends(v, w);
}

/* Are the rows in memory that worker w may pull, or whose gradients may be applied? Else they come,
 * once no other worker's do. Nothing but the disk is waited for then: so each worker has its turn.
 */
static bool has_rows(struct hps_server *v, int w, enum hps_clock_act act)
{
    struct hps_server_impl *o = v->impl;
    bool mine = o->bringing < 0 || o->bringing == w;
    bool here = act == HPS_CLOCK_PULL ? hps_ps_bring(hps_feeder_requests(o->feeder, w), mine)
                                      : hps_ps_bring_again(o->step->channel[w].ps, mine);

    if (mine) o->bringing = here ? -1 : w;
    return here;
}

/* Gradients that are held are applied later, whose rows are brought then. */
static bool may_finish(struct hps_server *v, int w)
{
    bool applies = v->impl->opt.learns && v->clock.aggregate == 1;

    return may(v, w, HPS_CLOCK_APPLY) && (!applies || has_rows(v, w, HPS_CLOCK_APPLY));
}

static void begin(struct hps_server *v, int w)
{
    struct hps_server_impl *o = v->impl;
    struct hps_channel *c = &o->step->channel[w];
    struct hps_heartbeat mine = { 0 };

    hps_region_enter(HPS_REGION_PULL, 0);
    hps_ps_begin(c->ps, hps_feeder_requests(o->feeder, w));
    if (c->dense) hps_dense_pull_begin(c->dense);
    hps_region_leave(HPS_REGION_PULL);
    take(v, w, HPS_CLOCK_PULL);
    v->work.rows_pulled += hps_ps_rows(c->ps).pulled;
    hps_feeder_fetch(o->feeder, w);
    if (o->first) {
        mine = hps_server_news(v);
        mine.pause = pauses(v, w);
    }
    if (!isfinite(mine.mean_loss)) mine.mean_loss = 0;
    mine.status = hps_ps_status(c->ps);
    hps_step_agree_begin(&c->agree, &mine);
    o->at[w] = (struct at){ .state = PULLS, .scale = 1 };
}

static bool arrived(struct hps_channel *c)
{
    return hps_ps_arrived(c->ps) && (!c->dense || hps_dense_arrived(c->dense));
}

/* The worker has its rows and weights. */
static void pulled(struct hps_server *v, int w)
{
    struct hps_channel *c = &v->impl->step->channel[w];

    hps_ps_serve(c->ps);
    v->impl->at[w].state = AGREES;
    if (!v->impl->opt.learns) return;
    hps_ps_push_begin(c->ps);
    if (c->dense) hps_dense_push_begin(c->dense, NULL);
    v->impl->at[w].state = PUSHES;
}

/* Its gradients are here. */
static void pushed(struct hps_server *v, int w)
{
    struct hps_channel *c = &v->impl->step->channel[w];

    hps_region_enter(HPS_REGION_PUSH, 0);
    hps_ps_push_end(c->ps);
    hps_region_leave(HPS_REGION_PUSH);
    v->impl->at[w].state = AGREES;
    if (v->impl->step->train->clip <= 0) return;
    double mean = hps_step_own_mean(v->impl->step, &v->impl->opt.steps, v->worker[w].number, w);
    double norm2 = hps_ps_norm2(c->ps) + (c->dense ? hps_dense_norm2(c->dense) : 0);
    hps_channel_norm_begin(c, norm2 * mean * mean);
    v->impl->at[w].state = NORMS;
}

static void clip(struct hps_server *v, int w)
{
    double norm = hps_channel_norm_end(&v->impl->step->channel[w]);
    double most = v->impl->step->train->clip;

    v->impl->at[w].scale = norm > most ? (float)(most / norm) : 1;
    v->impl->at[w].state = AGREES;
}

/* A worker that leaves before its last clock of the replay ends it, since the order would wait for
 * that worker: the others finish their clocks as they come. */
static void agreed(struct hps_server *v, int w)
{
    struct at *a = &v->impl->at[w];

    a->said = hps_step_agree_end(&v->impl->step->channel[w].agree, false);
    if (!v->said.status) v->said.status = a->said.status;
    v->said.stop += a->said.stop;
    bool leaves = hps_server_leaves(&a->said, v->impl->together);
    if (leaves && !ends(v, w)) hps_clock_leave_order(&v->clock);
    a->state = APPLIES;
}

/* The update that the gradients of worker w complete. */
static struct hps_update update_of(const struct hps_server *v, int w)
{
    const struct hps_server_impl *o = v->impl;

    return (struct hps_update){ v->worker[w].number + w, o->opt.steps.total, 1, o->step->updates,
                                0, 0 };
}

/* The worker's gradients are added to those that are held. */
static void hold(struct hps_server *v, int w)
{
    struct hps_server_impl *o = v->impl;
    struct hps_channel *c = &o->step->channel[w];

    v->work.rows_pushed += hps_ps_rows(c->ps).pushed;
    if (v->clock.aggregate > 1) hps_ps_hold(c->ps, o->at[w].scale);
    if (c->dense) hps_staleness_add(&v->staleness, hps_dense_staleness(c->dense));
    if (c->dense) hps_dense_hold(c->dense, o->at[w].scale);
    o->completed = update_of(v, w);
    o->nheld++;
}

/* All gradients that are held are applied, as one sum; where each is alone, those of worker w. */
static void apply(struct hps_server *v, int w)
{
    struct hps_server_impl *o = v->impl;
    const struct hps_step *s = o->step;
    struct hps_channel *c = &s->channel[w];
    struct hps_update u = o->completed;

    struct hps_step_clock t0 = hps_step_apply_begin(o->step, u.step);
    if (v->clock.aggregate > 1)
        hps_ps_apply_held(c->ps, u);
    else
        hps_ps_apply(c->ps, 0, u, o->at[w].scale);
    if (c->dense && hps_train_slows_stale(s->train)) u.staleness = hps_dense_staleness(c->dense);
    if (c->dense) hps_dense_apply_held(s->weights, u);
    o->step->updates += o->nheld;
    o->nheld = 0;
    hps_step_apply_end(o->step, t0);
}

/* Gradients that are held are applied before their group is full. */
static void release(struct hps_server *v)
{
    if (!may(v, 0, HPS_CLOCK_RELEASE)) return;      /* not here, in the order of a replay */
    take(v, 0, HPS_CLOCK_RELEASE);
    v->impl->bringing = -1;                         /* it may be another one's turn now */
    apply(v, 0);
}

static void sample(struct hps_server *v, bool always)
{
    double s = v->work.seconds + hps_now_s() - v->impl->began_s;

    if (v->impl->first) hps_clock_samples_take(&v->samples, s, v->clock.pushed, always);
}

/* The worker has finished its clock. */
static void finish(struct hps_server *v, int w)
{
    struct hps_server_impl *o = v->impl;
    struct hps_server_worker *k = &v->worker[w];
    const struct hps_heartbeat *said = &o->at[w].said;
    long long n = batch_of(v, w);

    if (o->opt.learns) hold(v, w);
    if (take(v, w, HPS_CLOCK_APPLY)) apply(v, w);
    v->work.clocks++;
    sample(v, false);
    v->examples += n;
    v->steps += n > 0;
    if (n > 0) *k = (struct hps_server_worker){ k->number, said->loss, n };
    k->number = hps_steps_next(&o->opt.steps, k->number);
    o->at[w].state = ASKS;
    if (!hps_server_leaves(said, o->together) && k->number < o->opt.steps.total) return;
    o->at[w].state = LEFT;
    o->nleft++;
    if (o->opt.learns) hps_clock_leave(&v->clock, w);
    /* it comes back, so that the others must not get ahead of what it has pushed */
    if (v->clock.held > 0 && k->number < o->opt.steps.total) release(v);
}

/* Do for worker w what can be done now. Has anything been done? */
static bool look(struct hps_server *v, int w)
{
    struct hps_server_impl *o = v->impl;
    struct hps_channel *c = &o->step->channel[w];
    enum state was = o->at[w].state;
    double t0 = hps_now_s();

    if (was == ASKS && hps_ps_requests_arrived(hps_feeder_requests(o->feeder, w)) &&
        may(v, w, HPS_CLOCK_PULL) && has_rows(v, w, HPS_CLOCK_PULL))
        begin(v, w);
    else if (was == PULLS && arrived(c))
        pulled(v, w);
    else if (was == PUSHES && arrived(c))
        pushed(v, w);
    else if (was == NORMS && hps_channel_norm_arrived(c))
        clip(v, w);
    else if (was == AGREES && hps_step_agree_arrived(&c->agree))
        agreed(v, w);
    else if (was == APPLIES && may_finish(v, w))
        finish(v, w);
    if (o->at[w].state == was) return false;
    v->work.busy_s += hps_now_s() - t0;
    return true;
}

/* ---- a run ---- */

static void join(struct hps_server *v)
{
    struct hps_server_impl *o = v->impl;

    v->said = (struct hps_heartbeat){ 0 };
    o->pause = false;
    o->pause_at = -1;
    o->bringing = -1;
    o->nleft = 0;
    if (o->last) count_to_cut(v);
    for (int w = 0; w < o->W; w++) {
        bool over = v->worker[w].number >= o->opt.steps.total ||
                    (o->last && v->clock.pushed[w] >= o->last[w]);
        o->at[w].state = over ? LEFT : ASKS;
        o->nleft += over;
        if (o->opt.learns && over && !v->clock.left[w]) hps_clock_leave(&v->clock, w);
        if (o->opt.learns && !over && v->clock.left[w]) hps_clock_join(&v->clock, w);
    }
}

/* Sent to all workers so far. */
static double bytes_of(const struct hps_step *step)
{
    double bytes = 0;

    for (int i = 0; i < step->nchannel; i++)
        bytes += hps_channel_bytes(&step->channel[i]);
    return bytes;
}

static void begin_work(struct hps_server *v)
{
    v->impl->began_s = hps_now_s();
    v->work.bytes -= bytes_of(v->impl->step);
    sample(v, true);
}

static void end_work(struct hps_server *v)
{
    v->work.bytes += bytes_of(v->impl->step);
    sample(v, true);
    v->work.seconds += hps_now_s() - v->impl->began_s;
}

void hps_server_flush(struct hps_server *v)
{
    struct hps_server_impl *o = v->impl;

    begin_work(v);
    for (int w = 0; w < o->W; w++) {
        struct hps_ps *ps = o->step->channel[w].ps;
        hps_step_flush(o->step, o->feeder, w);
        v->work.rows_pulled += hps_ps_rows(ps).pulled;
        v->work.rows_pushed += hps_ps_rows(ps).pushed;
        struct hps_update u = update_of(v, w);
        u.application = w + 1;
        hps_ps_apply(ps, 0, u, 1);
    }
    end_work(v);
}

enum hps_status hps_server_run(struct hps_server *v, hps_server_watch *watch, void *arg)
{
    struct hps_server_impl *o = v->impl;
    double idle_s = hps_now_s();                /* since then nobody was served */

    join(v);
    begin_work(v);
    while (o->nleft < o->W) {
        int n = 0;
        if (hps_clock_releases(&v->clock)) release(v);
        for (int w = 0; w < o->W; w++)
            n += look(v, w);
        v->work.npass += n > 0;
        v->work.nserved += n;
        if (watch) o->pause |= watch(v, arg);
        if (v->said.stop || v->said.status) o->pause = true;
        if (n > 0) idle_s = hps_now_s();
        if (n > 0) continue;
        hps_feeder_poll(o->feeder, true);
        hps_wait_nap(idle_s);
    }
    /* what follows, a checkpoint say, is to have all gradients */
    if (v->clock.held > 0) release(v);
    end_work(v);
    return v->said.status ? v->said.status : hps_ps_status(o->step->ps);
}
