/* loop_async.c - the loop of workers that do not wait for each other. Between two cuts a worker
 * goes from clock to clock with the servers. At a cut every worker has finished its clock and
 * waits: ranks save, evaluate, stop, or end together. So a cut comes within a clock of the slowest
 * worker, however far apart workers are; the checkpoint says which batches were trained before
 * their turn. */
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/say.h"
#include "base/world.h"
#include "hw/count.h"
#include "life/stop.h"
#include "life/watch.h"
#include "step/server.h"
#include "train/loop_impl.h"

struct async {
    struct hps_loop_state *s;
    struct hps_step_agree agree;    /* of all ranks, at a cut                                  */
    struct hps_server *server;      /* on a server                                             */
    long long number;               /* next clock of this rank's worker                        */
    struct hps_heartbeat said;      /* in its last one                                         */
    long long before, cut;          /* batches when this start began; at the last cut          */
    long long examples;             /* when this start began                                   */
    bool save, evaluate;            /* why the first server wants a cut                        */
    double moved_s;                 /* when a server last applied a gradient                   */
    char held[128];                 /* the worker that it has waited for since; "": none       */
};

/* What the first server tells all ranks at a cut. */
struct cut {
    long long steps, examples, next, ndone, slowest, fastest;
    int save, evaluate, over, replayed;
};

/* ---- servers ---- */

/* The run has come to so many batches of this start, with this mean loss and these clocks. On rank
 * 0. */
static void progress(struct async *a, const struct hps_heartbeat *said)
{
    struct hps_loop_state *s = a->s;
    long long steps = said->steps;
    double loss = said->mean_loss;

    s->slowest = said->slowest;
    s->fastest = said->fastest;
    s->c->step = a->before + steps;
    s->c->examples = a->examples + steps * s->l->steps.batch;
    if (steps == 0 || !isfinite(loss)) return;
    s->c->train_loss = loss;
    hps_loop_note_loss(s, s->c->step);
    hps_loop_progress(s, false);
}

/* Nothing was applied for a while: the slowest worker that still works holds the others back, by
 * the bound or at a cut. It is named once, and to the watchdog. */
static void note_held(struct async *a, const struct hps_server *server)
{
    const double patience_s = 5;
    const struct hps_clock *x = &server->clock;
    double waited_s = hps_now_s() - a->moved_s;
    int slowest = -1;

    if (waited_s < patience_s || a->held[0]) return;
    for (int w = 0; w < x->W; w++)
        if (!x->left[w] && (slowest < 0 || x->pushed[w] < x->pushed[slowest])) slowest = w;
    if (slowest < 0) return;
    snprintf(a->held, sizeof a->held, "a wait for worker %d, which is at clock %lld", slowest,
             x->pushed[slowest]);
    if (hps_step_serves_first(a->s->l->step))
        HPS_SAY_ALL(HPS_WARN, "nothing has come from worker %d, at clock %lld, for %.0f s",
                    slowest, x->pushed[slowest], waited_s);
    hps_watch_phase(a->held, 0);
}

static void note_moved(struct async *a)
{
    a->moved_s = hps_now_s();
    if (a->held[0]) hps_watch_phase(NULL, 0);
    a->held[0] = '\0';
}

/* Now and then on a server: does it want a cut? A replay has those of its record, where it neither
 * saves nor evaluates: it cannot go on from a checkpoint. */
static bool watch(const struct hps_server *server, void *arg)
{
    struct async *a = arg;
    struct hps_loop_state *s = a->s;
    const struct hps_loop *l = s->l;
    long long now = a->before + server->steps;
    double every_s = l->ckpt->interval_seconds;

    hps_loop_check_stop(s);
    if (now == s->known) {
        note_held(a, server);
        return s->reason != NULL;
    }
    s->known = now;
    note_moved(a);
    hps_watch_heartbeat(now);
    struct hps_heartbeat news = hps_server_news(server);
    if (hps_rank() == 0) progress(a, &news);
    if (!hps_step_serves_first(l->step) || l->replay) return s->reason != NULL;
    a->evaluate |= l->test && hps_loop_passes(a->cut, now, l->train->eval_interval_steps);
    a->save |= hps_loop_passes(a->cut, now, l->ckpt->interval_steps) ||
               (every_s > 0 && hps_now_s() - s->saved_s >= every_s);
    return s->reason != NULL || a->save || a->evaluate;
}

static struct cut cut_of(const struct async *a)
{
    const struct hps_steps *steps = &a->s->l->steps;
    struct cut c = { .steps = a->before + a->server->steps,
                     .examples = a->examples + a->server->examples,
                     .next = steps->total, .save = a->save, .evaluate = a->evaluate };

    for (int w = 0; w < steps->W; w++)
        c.next = a->server->worker[w].number < c.next ? a->server->worker[w].number : c.next;
    struct hps_heartbeat news = hps_server_news(a->server);
    c.slowest = news.slowest;
    c.fastest = news.fastest;
    c.over = c.next >= steps->total;
    c.replayed = hps_server_replayed(a->server);
    c.ndone = c.steps - c.next;
    return c;
}

/* The batches behind the cut's next clock that were trained, ascending. */
static void list_done(const struct async *a, const struct cut *c, long long *batch)
{
    const struct hps_steps *steps = &a->s->l->steps;
    long long n = 0, epoch, position;

    for (long long k = c->next; n < c->ndone; k = hps_steps_next(steps, k))
        for (int w = 0; w < steps->W; w++) {
            long long b = k + w;
            if (b >= hps_steps_next(steps, k)) continue;
            bool early = hps_steps_of_worker(steps, k, w, &epoch, &position) == 0;
            if (early || a->server->worker[w].number > k) batch[n++] = b;
        }
}

/* ---- workers ---- */

static void one_clock(struct async *a)
{
    struct hps_loop_state *s = a->s;
    const struct hps_loop *l = s->l;
    double t0 = hps_now_s();

    hps_loop_check_stop(s);
    struct hps_heartbeat mine = { .stop = s->reason != NULL, .loss = s->loss };
    a->said = hps_step_train(l->step, s->feeder, &l->step->channel[0].agree, a->number, mine,
                             &s->loss);
    if (a->number > s->began.step) hps_loop_note_time(s, t0);
    s->last = a->number;
    a->number = hps_steps_next(&l->steps, a->number);
    hps_watch_heartbeat(a->number);
    if (hps_rank() == 0) progress(a, &a->said);
}

/* Until the worker is to wait, or has done all. */
static enum hps_status work(struct async *a)
{
    const struct hps_step *step = a->s->l->step;
    long long total = a->s->l->steps.total;
    bool leaves = false, together = !hps_step_serves_dense(step);

    a->said = (struct hps_heartbeat){ 0 };
    while (!leaves && a->number < total) {
        one_clock(a);
        leaves = hps_server_leaves(&a->said, together);
        if (a->said.status && !leaves)
            hps_quit(a->said.status, "worker %d cannot go on, and others wait for its gradients",
                     step->team->worker);
    }
    return a->said.status;
}

/* ---- cuts ---- */

/* Wait for the other ranks at a cut; those of the slowest worker may take their time, while servers
 * watch over it. Collective. */
static struct hps_heartbeat meet(struct async *a, enum hps_status st)
{
    struct hps_heartbeat mine = { .status = st, .stop = a->s->reason != NULL };

    hps_region_enter(HPS_REGION_WAIT, 0);
    hps_step_agree_begin(&a->agree, &mine);
    while (!hps_step_agree_arrived(&a->agree)) {
        hps_sleep_s(1e-3);
        hps_watch_heartbeat(-1);
    }
    struct hps_heartbeat all = hps_step_agree_end(&a->agree, true);
    hps_region_leave(HPS_REGION_WAIT);
    return all;
}

/* The mean loss of the workers' last clocks. Collective. */
static void settle_loss(struct async *a)
{
    struct hps_loop_state *s = a->s;
    const struct hps_team *t = s->l->step->team;
    double x[2] = { hps_step_loss(s->l->step), 0 };
    long long epoch, position;

    if (t->nmine > 0 && s->last >= 0 && t->my_replica == 0 && hps_team_has_stage(t, t->S - 1))
        x[1] = (double)hps_steps_of_worker(&s->l->steps, s->last, t->worker, &epoch, &position);
    HPS_MPI(MPI_Allreduce(MPI_IN_PLACE, x, 2, MPI_DOUBLE, MPI_SUM, s->world));
    if (x[1] > 0) s->c->train_loss = x[0] / x[1];
}

/* Updates of a server's rows for one of dense weights that all workers sum: the cursor counts
 * those where there are any. */
static int updates_of_clock(const struct hps_step *step)
{
    return hps_step_serves_dense(step) ? 1 : step->team->W;
}

/* Take over what the first server found. Collective. */
static struct cut take_cut(struct async *a)
{
    struct hps_loop_state *s = a->s;
    struct hps_cursor *c = s->c;
    int root = s->l->step->team->server[0];
    struct cut now = { 0 };

    if (a->server) now = cut_of(a);
    HPS_MPI(MPI_Bcast(&now, (int)sizeof now, MPI_BYTE, root, s->world));
    hps_mem_free(s->done);
    s->done = hps_mem_new((size_t)now.ndone, sizeof *s->done);
    if (hps_rank() == root) list_done(a, &now, s->done);
    HPS_MPI(MPI_Bcast(s->done, (int)now.ndone, MPI_LONG_LONG, root, s->world));
    for (int w = 0; w < s->l->steps.W && a->server; w++)
        s->number[w] = a->server->worker[w].number;
    HPS_MPI(MPI_Bcast(s->number, s->l->steps.W, MPI_LONG_LONG, root, s->world));
    c->number = s->number;
    c->step = now.steps;
    c->examples = now.examples;
    c->next = now.next;
    c->ndone = now.ndone;
    c->done = s->done;
    c->updates = s->l->step->updates;
    HPS_MPI(MPI_Bcast(&c->updates, 1, MPI_LONG_LONG, root, s->world));
    c->updates /= updates_of_clock(s->l->step);
    s->slowest = now.slowest;
    s->fastest = now.fastest;
    a->cut = now.steps;
    a->save = a->evaluate = false;
    return now;
}

/* Gradients that workers hold back come to the servers, so that a checkpoint has them, and a run
 * that goes on from it repeats what one does that did not stop. Collective. */
static enum hps_status flush(struct async *a)
{
    const struct hps_loop *l = a->s->l;

    if (l->train->cache_clocks == 0) return HPS_OK;
    if (a->server) hps_server_flush(a->server);
    if (l->step->team->nmine > 0) hps_step_flush(l->step, a->s->feeder, 0);
    return hps_agree(a->s->world, hps_ps_status(l->step->ps));
}

/* What the servers did up to this cut, before its checkpoint: a run that goes on from there can be
 * replayed too. Collective. */
static enum hps_status record(struct async *a)
{
    struct hps_server *v = a->server;
    enum hps_status st = hps_record_add(a->s->l->record, v ? v->nevent : 0, v ? v->event : NULL,
                                        a->s->c->step, a->s->world);

    if (v) hps_server_forget(v);
    return st;
}

/* Save, and wait until the file is whole. Collective. */
static enum hps_status save(struct async *a)
{
    struct hps_loop_state *s = a->s;

    if (s->begun == s->c->step) return HPS_OK;
    enum hps_status st = hps_loop_save(s);
    return st ? st : hps_loop_finish_saving(s);
}

/* From a cut to the next one. Collective. */
static enum hps_status stretch(struct async *a, bool *stop, bool *over)
{
    struct hps_loop_state *s = a->s;
    const struct hps_step *step = s->l->step;
    enum hps_status st = HPS_OK;

    hps_loop_clock_on(s);
    note_moved(a);
    if (a->server) st = hps_server_run(a->server, watch, a);
    if (step->team->nmine > 0) st = work(a);
    struct hps_heartbeat all = meet(a, st);
    st = all.status ? all.status : flush(a);
    if (st) return st;
    settle_loss(a);
    struct cut now = take_cut(a);
    *stop = all.stop > 0 || now.replayed;
    *over = now.over;
    if (now.replayed && !now.over) s->reason = "the record ends";
    st = hps_loop_check_loss(s, s->c->step);
    if (!st && s->l->record) st = record(a);
    if (!st && (now.save || *stop || *over)) st = save(a);
    hps_loop_clock_off(s);
    if (!st && now.evaluate && !*over) st = hps_loop_evaluate(s);
    if (!st && now.save && !*stop && !*over) st = hps_loop_reconsider(s);
    return st;
}

static enum hps_status begin(struct async *a)
{
    struct hps_loop_state *s = a->s;
    struct hps_step *step = s->l->step;
    struct hps_server_opt opt = { .steps = s->l->steps, .learns = true, .number = s->number,
                                  .records = s->l->record != NULL, .replay = s->l->replay };
    enum hps_status st = HPS_OK;

    for (int i = 0; i < step->nchannel; i++) {
        enum hps_status mine = hps_feeder_fetch(s->feeder, i);
        if (mine) st = mine;
    }
    if (step->team->serves) step->updates *= updates_of_clock(step);
    if (step->team->serves) a->server = hps_server_new(s->l->step, s->feeder, &opt);
    hps_step_agree_init(&a->agree, s->world);
    if (s->l->adapt) hps_adapt_begin(s->l->adapt, step, s->c);
    return hps_agree(s->world, st);
}

enum hps_status hps_loop_async(struct hps_loop_state *s)
{
    int worker = s->l->step->team->worker;
    struct async a = { .s = s, .number = s->number[worker < 0 ? 0 : worker],
                       .before = s->c->step, .cut = s->c->step, .examples = s->c->examples };
    bool stop = false, over = s->c->next >= s->l->steps.total;
    enum hps_status st = begin(&a);

    while (!st && !stop && !over && !s->change->plan)
        st = stretch(&a, &stop, &over);
    note_moved(&a);
    hps_served_free(s->l->history->served);
    s->l->history->served = st ? NULL : hps_served_gather(s->l->step, a.server);
    hps_server_free(a.server);
    hps_step_agree_done(&a.agree);
    if (st) return st;
    HPS_MPI(MPI_Bcast(s->c, (int)sizeof *s->c, MPI_BYTE, 0, s->world));
    s->c->done = s->done;
    s->c->number = s->number;
    return s->change->plan ? HPS_OK : hps_loop_end(s, stop, over);
}
