/* loop.c - the loop over steps. Requests to stop or save and errors travel with the step agreement,
 * and all ranks act on them at the same boundary, without waiting for each other in a step. */
#include "train/loop.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/say.h"
#include "base/sort.h"
#include "base/world.h"
#include "hw/count.h"
#include "life/stop.h"
#include "life/watch.h"
#include "step/step_agree.h"
#include "step/wait_for.h"
#include "train/loop_impl.h"

void hps_loop_clock_on(struct hps_loop_state *s)
{
    s->t0_s = hps_now_s();
}

void hps_loop_clock_off(struct hps_loop_state *s)
{
    double now = hps_now_s(), took = now - s->t0_s;
    s->c->seconds += took;
    s->c->usd += took * s->l->usd_s;
    s->c->usd_idle += took * s->l->usd_idle_s;
    s->t0_s = now;
}

static void print_time(char *to, size_t size, double s)
{
    long long t = (long long)(s + 0.5);
    if (t >= 3600)
        snprintf(to, size, "%lld h %02lld min", t / 3600, t / 60 % 60);
    else if (t >= 60)
        snprintf(to, size, "%lld min %02lld s", t / 60, t % 60);
    else
        snprintf(to, size, "%lld s", t);
}

double hps_loop_step_s(const struct hps_loop_history *history, double share)
{
    long long n = history->nstep_time;
    double sorted[HPS_LOOP_STEP_TIMES];

    if (n == 0) return NAN;
    if (n > HPS_LOOP_STEP_TIMES) n = HPS_LOOP_STEP_TIMES;
    memcpy(sorted, history->step_time_s, (size_t)n * sizeof *sorted);
    hps_sort_ascending(sorted, (size_t)n);
    long long at = (long long)ceil(share * (double)n) - 1;
    return sorted[at < 0 ? 0 : at];
}

void hps_loop_progress(struct hps_loop_state *s, bool last)
{
    const struct hps_loop *l = s->l;
    double now = hps_now_s(), dt = now - s->said_s;
    char left[32], clocks[64] = "";

    if (hps_rank() != 0 || s->said == s->c->step) return;
    if (s->c->step == s->began.step) return; /* nothing was left to train: there is no rate */
    if (!last && (dt < l->train->log_interval_seconds || isnan(s->c->train_loss))) return;
    double rate = (double)(s->c->examples - s->said_examples) / dt;
    if (last)
        rate = (double)(s->c->examples - s->began.examples) / (s->c->seconds - s->began.seconds);
    double per_step = (now - s->began_s) / (double)(s->c->step - s->began.step);
    double left_s = per_step * (double)(l->steps.total - s->c->step);
    print_time(left, sizeof left, left_s);
    if (s->fastest > 0)
        snprintf(clocks, sizeof clocks, "  clocks %lld-%lld", s->slowest, s->fastest);
    HPS_SAY(HPS_INFO,
            "step %lld/%lld  epoch %lld  loss %.5f  %.0f examples/s  promised %.0f%s  %s left",
            s->c->step, l->steps.total, (s->c->step - 1) / l->steps.per_epoch + 1, s->c->train_loss,
            rate, l->promised_examples_s, clocks, left);
    struct hps_rundir_state *now_is = &l->history->status;
    now_is->state = "running";
    now_is->step = s->c->step;
    now_is->steps = l->steps.total;
    now_is->loss = s->c->train_loss;
    now_is->examples_s = rate;
    now_is->left_s = left_s;
    hps_rundir_status(l->dir, now_is, HPS_WARN); /* a failure is no error: there will be more */
    s->said_s = now;
    s->said = s->c->step;
    s->said_examples = s->c->examples;
}

bool hps_loop_passes(long long from, long long to, long long every)
{
    return every > 0 && to / every > from / every;
}

void hps_loop_note_loss(struct hps_loop_state *s, long long step)
{
    struct hps_loop_history *history = s->l->history;
    long long from = history->nloss ? history->loss[history->nloss - 1].step : 0;
    /* not every clock is noted where workers do not wait: points may lie further apart than that */
    while (history->nloss == HPS_LOOP_POINTS && hps_loop_passes(from, step, history->loss_every)) {
        history->nloss = from = 0;
        history->loss_every *= 2;
        for (int i = 0; i < HPS_LOOP_POINTS; i++) {
            if (!hps_loop_passes(from, history->loss[i].step, history->loss_every)) continue;
            from = history->loss[i].step;
            history->loss[history->nloss++] = history->loss[i];
        }
    }
    if (hps_loop_passes(from, step, history->loss_every))
        history->loss[history->nloss++] = (struct hps_run_loss){ step, s->c->train_loss };
}

enum hps_status hps_loop_check_loss(const struct hps_loop_state *s, long long step)
{
    if (isfinite(s->c->train_loss)) return HPS_OK;
    HPS_SAY(HPS_ERROR,
            "the loss of step %lld is not finite: lower train.learning_rate, or set train.clip",
            step);
    return HPS_DECK;
}

/* Take the sum of all ranks' losses in a clock. */
static enum hps_status take_loss(struct hps_loop_state *s, long long clock, double sum)
{
    long long epoch, position, n = hps_steps_batch(&s->l->steps, clock, &epoch, &position);
    long long step = hps_steps_next(&s->l->steps, clock);
    if (n == 0) return HPS_OK;                           /* all of it was trained early */
    if (isfinite(sum) && clock < s->known) return HPS_OK; /* a checkpoint needed a later one */
    s->known = clock;
    s->c->train_loss = sum / (double)n;
    if (isfinite(sum)) hps_loop_note_loss(s, step);
    return hps_loop_check_loss(s, step);
}

/* Get the mean loss of the last step over all ranks, for a checkpoint or the report. Collective. */
static enum hps_status settle_loss(struct hps_loop_state *s)
{
    double mine = hps_step_loss(s->l->step), all;
    hps_region_enter(HPS_REGION_WAIT, 0);
    HPS_MPI(MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, s->world));
    hps_region_leave(HPS_REGION_WAIT);
    return take_loss(s, s->last, all);
}

/* The checkpoint under way is complete or has failed. */
static enum hps_status saved(struct hps_loop_state *s, enum hps_status st)
{
    struct hps_save_cost cost = hps_save_cost(s->save);

    hps_save_free(s->save);
    s->save = NULL;
    hps_stop_saving(false);
    if (st) return st;
    s->saved = s->begun;
    s->save_took_s = cost.took_s;
    hps_stop_checkpoint_s(cost.took_s);
    HPS_SAY(HPS_INFO, "checkpoint at step %lld written in %.2f s, training waited %.3f s", s->saved,
            cost.took_s, cost.waited_s);
    s->l->history->status.checkpoint = s->saved;
    s->l->history->status.checkpoint_time_s = (long long)time(NULL);
    hps_rundir_status(s->l->dir, &s->l->history->status, HPS_WARN);
    return HPS_OK;
}

/* Do the next part of the checkpoint under way, for which all ranks are ready. Collective. */
static enum hps_status go_on_saving(struct hps_loop_state *s)
{
    bool complete;

    hps_region_enter(HPS_REGION_CHECKPOINT, 0);
    enum hps_status st = hps_save_next(s->save, &complete, s->world);
    hps_region_leave(HPS_REGION_CHECKPOINT);
    return st || complete ? saved(s, st) : HPS_OK;
}

enum hps_status hps_loop_finish_saving(struct hps_loop_state *s)
{
    if (!s->save) return HPS_OK;
    hps_region_enter(HPS_REGION_CHECKPOINT, 0);
    /* syncing the rest to the disk shows no progress to the watchdog */
    hps_watch_phase(NULL, hps_ckpt_bytes(s->l->step->net, s->l->train) / HPS_CKPT_BYTES_S);
    enum hps_status st = hps_save_wait(s->save, s->world);
    hps_region_leave(HPS_REGION_CHECKPOINT);
    hps_watch_phase(NULL, 0);
    hps_watch_heartbeat(s->c->step);
    return saved(s, st);
}

enum hps_status hps_loop_save(struct hps_loop_state *s)
{
    const struct hps_loop *l = s->l;
    hps_region_enter(HPS_REGION_CHECKPOINT, 0);
    hps_loop_clock_off(s);
    HPS_MPI(MPI_Bcast(s->c, (int)sizeof *s->c, MPI_BYTE, 0, s->world));
    struct hps_save_request order = { l->ckpt, l->dir, l->step, s->c, &l->text,
                                    l->never && s->saved < 0, l->snapshot_share };
    enum hps_status st = hps_save_begin(&s->save, &order, s->world);
    hps_region_leave(HPS_REGION_CHECKPOINT);
    s->saved_s = hps_now_s();
    s->begun = s->c->step;
    hps_stop_saving(s->save != NULL);
    hps_watch_heartbeat(s->c->step);
    return st;
}

/* Begin a checkpoint of the last step, after the one under way. Collective. */
static enum hps_status save(struct hps_loop_state *s)
{
    if (s->begun == s->c->step) return HPS_OK;
    enum hps_status st = hps_loop_finish_saving(s);
    if (!st) st = settle_loss(s);
    return st ? st : hps_loop_save(s);
}

/* Is it time to save? Rank 0's clock decides; the step agreement tells the others. */
static bool save_due(const struct hps_loop_state *s)
{
    double every = s->l->ckpt->interval_seconds;
    return hps_rank() == 0 && !s->save && every > 0 && hps_now_s() - s->saved_s >= every;
}

enum hps_status hps_loop_evaluate(struct hps_loop_state *s)
{
    const struct hps_loop *l = s->l;
    hps_loop_clock_off(s);
    struct hps_metric *metric = hps_metric_new();
    enum hps_status st = hps_evaluate(l->step, l->test, l->data_opt, 0, metric);
    if (!st) {
        struct hps_metric_result r = hps_metric_read(metric, s->world);
        char *line = hps_metric_line(&r);
        HPS_SAY(HPS_INFO, "step %lld  test %s", s->c->step, line);
        hps_mem_free(line);
    }
    hps_metric_free(metric);
    hps_loop_clock_on(s);
    return st == HPS_AGAIN ? HPS_OK : st; /* the next step sees the request, too */
}

/* Evaluate where it is due. Collective. */
static enum hps_status evaluate(struct hps_loop_state *s)
{
    const struct hps_loop *l = s->l;
    bool due = hps_loop_passes(s->last, s->c->step, l->train->eval_interval_steps);
    return l->test && due && s->c->step < l->steps.total ? hps_loop_evaluate(s) : HPS_OK;
}

/* Examples left in the run. */
static double left_examples(const struct hps_loop_state *s)
{
    const struct hps_steps *t = &s->l->steps;
    return (double)(t->total - s->c->step) * (double)t->N / (double)t->per_epoch;
}

/* Begin a window of measurement. */
static void begin_window(struct hps_loop_state *s)
{
    hps_loop_clock_off(s);
    hps_adapt_begin(s->l->adapt, s->l->step, s->c);
}

enum hps_status hps_loop_reconsider(struct hps_loop_state *s)
{
    const struct hps_loop *l = s->l;
    if (!l->adapt || s->c->step >= l->steps.total) return HPS_OK;
    if (!hps_adapt_ready(l->adapt, s->c)) return HPS_OK;
    struct hps_adapt_state now = { s->c, left_examples(s), s->save_took_s + l->made_s };
    enum hps_status st =
        hps_adapt_evaluate(l->adapt, l->step, &now, &s->change->plan, &s->change->profile,
                           s->world);
    hps_watch_heartbeat(s->c->step);
    begin_window(s);
    return st;
}

bool hps_loop_check_stop(struct hps_loop_state *s)
{
    const char *reason = hps_stop_requested();

    if (reason && !s->reason) HPS_SAY(HPS_INFO, "%s: stopping, with a checkpoint", reason);
    if (reason) s->reason = reason;
    return reason != NULL;
}

void hps_loop_note_time(struct hps_loop_state *s, double t0)
{
    struct hps_loop_history *h = s->l->history;

    h->step_time_s[h->nstep_time++ % HPS_LOOP_STEP_TIMES] = hps_now_s() - t0;
}

/* One step and its agreement. *stop: all ranks end after it. */
static enum hps_status one_step(struct hps_loop_state *s, bool *stop, bool *save_now, bool *ready)
{
    const struct hps_loop *l = s->l;
    long long number = s->c->step, epoch, position;
    double t0 = hps_now_s();
    struct hps_save_poll look = hps_save_poll(s->save);
    struct hps_heartbeat mine = { .status = look.status,
                                  .stop = hps_loop_check_stop(s),
                                  .save = save_due(s),
                                  .ready = look.ready,
                                  .loss = s->loss };
    struct hps_heartbeat all = hps_step_train(l->step, s->feeder, &s->agree, number, mine,
                                              &s->loss);
    hps_watch_heartbeat(hps_steps_next(&l->steps, number));
    s->before = s->last;
    s->last = number;
    s->c->examples += hps_steps_batch(&l->steps, number, &epoch, &position);
    s->c->step = s->c->next = hps_steps_next(&l->steps, number);
    s->c->updates = l->step->updates;
    if (number > s->began.step) hps_loop_note_time(s, t0);
    *stop = all.stop > 0;
    *ready = all.ready == hps_nrank();
    *save_now = all.save > 0 || hps_loop_passes(number, s->c->step, l->ckpt->interval_steps);
    if (all.status) return all.status;
    long long reported = l->step->lag == 1 ? s->last : s->before;
    return reported >= s->began.step ? take_loss(s, reported, all.loss) : HPS_OK;
}

/* The lowest rank with a reason to stop prints it. Collective. */
static void say_reason(const struct hps_loop_state *s)
{
    int me = s->reason ? hps_rank() : INT_MAX, first;
    HPS_MPI(MPI_Allreduce(&me, &first, 1, MPI_INT, MPI_MIN, s->world));
    if (me == first) HPS_SAY_ALL(HPS_INFO, "stopping after step %lld: %s", s->c->step, s->reason);
}

enum hps_status hps_loop_end(struct hps_loop_state *s, bool stop, bool over)
{
    hps_loop_progress(s, true);
    if (stop) hps_stop_done();
    if (over) return HPS_OK;
    say_reason(s);
    return HPS_AGAIN;
}

/* Step until the end, a stop, an error or a change of plan; then the last checkpoint is begun. */
static enum hps_status steps(struct hps_loop_state *s, bool *stop)
{
    const struct hps_loop *l = s->l;
    enum hps_status st = hps_agree(s->world, hps_feeder_fetch(s->feeder, 0));
    bool save_now, ready;

    hps_loop_clock_on(s);
    while (!st && !*stop && !s->change->plan && s->c->step < l->steps.total) {
        st = one_step(s, stop, &save_now, &ready);
        if (l->adapt && s->last == s->began.step) begin_window(s);
        if (!st && ready) st = go_on_saving(s);
        if (!st && save_now) st = save(s);
        if (!st) hps_loop_progress(s, false);
        if (!st) st = evaluate(s);
        if (!st && save_now && !*stop) st = hps_loop_reconsider(s);
    }
    return st ? st : save(s);
}

static enum hps_status all_steps(struct hps_loop_state *s)
{
    bool stop = false;
    enum hps_status st = steps(s, &stop), last = hps_loop_finish_saving(s);

    hps_loop_clock_off(s);
    if (!st) st = last;
    if (st) return st;
    HPS_MPI(MPI_Bcast(s->c, (int)sizeof *s->c, MPI_BYTE, 0, s->world));
    if (s->change->plan) return HPS_OK;
    return hps_loop_end(s, stop, !stop || s->c->step == s->l->steps.total);
}

/* The checkpoint from which the new plan was to continue has failed. */
static void drop(struct hps_loop_change *change)
{
    hps_plan_free(change->plan);
    hps_profile_free(change->profile);
    *change = (struct hps_loop_change){ 0 };
}

/* The next clock of each worker (W). To free. */
static long long *clocks_of(const struct hps_cursor *c, int W)
{
    long long *number = hps_mem_new((size_t)W, sizeof *number);

    for (int w = 0; w < W; w++)
        number[w] = c->number ? c->number[w] : c->next;
    return number;
}

enum hps_status hps_loop_run(const struct hps_loop *l, struct hps_cursor *cursor,
                             struct hps_loop_change *change, MPI_Comm world)
{
    struct hps_loop_state s = { .l = l, .c = cursor, .world = world, .begun = -1, .saved = -1,
                                .said = -1, .known = -1, .last = -1, .before = -1,
                                .began = *cursor, .change = change };
    struct hps_order order = hps_order_of_data(
        l->data, l->data_opt->shuffle, hps_data_interleaved(l->data_opt), (uint64_t)l->run->seed);
    const struct hps_step *step = l->step;

    *change = (struct hps_loop_change){ 0 };
    s.number = clocks_of(cursor, l->steps.W);
    const long long *first = s.number + (step->team->worker > 0 ? step->team->worker : 0);
    struct hps_feeder_opt feed = { l->data, &order, &l->steps, l->data_opt->prefetch, first,
                                   true };
    enum hps_status st = hps_step_feeder(&s.feeder, step, &feed);
    if (st) {
        hps_mem_free(s.number);
        return st;
    }
    if (l->history->loss_every == 0) l->history->loss_every = 1;
    s.began_s = s.said_s = s.saved_s = hps_now_s();
    s.said_examples = cursor->examples;
    l->step->updates = cursor->updates;
    hps_step_agree_init(&s.agree, world);
    hps_wait_for_announce(step);
    hps_watch_phase(NULL, 0);
    st = step->async ? hps_loop_async(&s) : all_steps(&s);
    if (st) drop(change);
    l->history->status.step = cursor->step;
    l->history->status.loss = cursor->train_loss;
    hps_step_agree_done(&s.agree);
    hps_mem_free(s.done);
    if (change->plan)
        change->number = s.number;
    else
        hps_mem_free(s.number);
    l->step->other_bytes += hps_feeder_bytes(s.feeder);
    hps_feeder_count(s.feeder, &l->step->other_messages[HPS_MESSAGE_IDS]);
    hps_feeder_free(s.feeder);
    return st;
}
