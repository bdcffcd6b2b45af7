/* train.c - the verb `train`: the main job, from the deck to the report. */
#include <math.h>
#include <string.h>

#include "app/args.h"
#include "app/layout.h"
#include "app/plan_sequence.h"
#include "app/recording.h"
#include "app/start.h"
#include "app/tiers.h"
#include "app/trial_plans.h"
#include "app/verbs.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/say.h"
#include "base/world.h"
#include "life/stop.h"
#include "life/watch.h"
#include "plan/budget.h"
#include "train/evaluate.h"
#include "train/report.h"

struct request {
    const char *deck, *restart; /* auto, never or a file */
    const char *replay;         /* the directory of a run, or NULL */
    bool check;
};

/* Write the deck and the pool to the run directory. Rank 0. */
static enum hps_status write_artefacts(struct hps_job *j, const char *deck_text)
{
    enum hps_status st = HPS_OK;
    if (hps_rank() == 0) {
        char *pool = hps_rundir_file(&j->dir, "pool.json");
        st = hps_rundir_put(&j->dir, "deck.yaml", deck_text);
        if (!st) st = hps_pool_save(j->pool, pool);
        hps_mem_free(pool);
    }
    st = hps_agree(j->world, st);
    return st ? st : hps_job_save_plan(j);
}

/* After the last checkpoint, short work is still done and long work left to the next start. */
static const double evaluate_s = 5;

/* Evaluate a finished run; HPS_AGAIN on a request to stop. */
static enum hps_status evaluate(struct hps_job *j, struct hps_report_input *f)
{
    struct hps_metric *metric = hps_metric_new();
    enum hps_status st = hps_evaluate(j->step, j->test, &j->o.data, evaluate_s, metric);
    if (!st) f->test = hps_metric_read(metric, j->world);
    if (st == HPS_AGAIN) {
        f->has_test = false;
        HPS_SAY(HPS_INFO, "the evaluation was cut short: %s",
                hps_stop_requested() ? hps_stop_requested() : "a wish to stop");
    }
    hps_metric_free(metric);
    return st;
}

/* The share of time in which working ranks did not compute, in a pipeline. */
static double bubble_of(const struct hps_job *j, double seconds)
{
    double mine = j->step->busy_s, all;
    int works = j->team->nmine > 0, n;
    HPS_MPI(MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, j->world));
    HPS_MPI(MPI_Allreduce(&works, &n, 1, MPI_INT, MPI_SUM, j->world));
    return j->plan->S > 1 && seconds > 0 ? 1 - all / n / seconds : NAN;
}

/* Traffic of tables of which memory has some rows, under the last plan; count (ntable), zero. */
static void add_tiers(const struct hps_job *j, struct hps_tier_count *count,
                      struct hps_report_input *f)
{
    struct hps_tier_count all = { 0 };

    hps_ps_tiers(j->step->ps, count);
    HPS_MPI(MPI_Allreduce(MPI_IN_PLACE, count, j->net->ntable * HPS_TIER_COUNTS, MPI_DOUBLE,
                          MPI_SUM, j->world));
    for (int t = 0; t < j->net->ntable; t++) {
        all.asked += count[t].asked;
        all.hits += count[t].hits;
        all.bytes += count[t].bytes;
    }
    f->traffic.tier = count;
    f->traffic.tier_hits = all.asked > 0 ? all.hits / all.asked : NAN;
    f->traffic.tier_bytes = all.bytes;
}

/* A rank's counts, summed over all ranks. */
static struct hps_message_count sum_of(const struct hps_job *j, const struct hps_message_count *c)
{
    double sum[] = { c->bytes, c->plain_bytes, c->error2, c->square };

    HPS_MPI(MPI_Allreduce(MPI_IN_PLACE, sum, 4, MPI_DOUBLE, MPI_SUM, j->world));
    return (struct hps_message_count){ sum[0], sum[1], sum[2], sum[3], 0 };
}

/* Rows that are kept in fewer bytes, as the last plan has them. */
static void add_encoded_rows(const struct hps_job *j, struct hps_report_input *f)
{
    struct hps_message_count mine = hps_ps_encoded(j->step->ps);

    f->traffic.rows = sum_of(j, &mine);
}

/* What was encoded, by all ranks under all plans. */
static void add_messages(const struct hps_job *j, const struct hps_plan_sequence *sequence,
                         struct hps_report_input *f)
{
    struct hps_message_count *all = f->traffic.messages;

    memcpy(all, sequence->messages, sizeof sequence->messages);
    hps_step_count(j->step, all, 1);
    for (int kind = 0; kind < HPS_MESSAGES; kind++) {
        const struct hps_codec_ops *codec =
            hps_storage_codec(&j->o.storage, (enum hps_message)kind);
        all[kind] = sum_of(j, &all[kind]);
        if (hps_codec_converts(codec)) f->traffic.codec[kind] = codec->name;
    }
    if (hps_storage_dense_share(&j->o.storage) > 0) {
        f->traffic.codec[HPS_MESSAGE_DENSE] = j->o.storage.messages.dense;
        f->traffic.residual = hps_step_residual_norm(j->step);
    }
    if (hps_storage_sends_differences(&j->o.storage))
        f->traffic.codec[HPS_MESSAGE_IDS] = j->o.storage.messages.ids;
}

/* The energy of the GPUs, each counted once. */
static void add_joules(const struct hps_job *j, double mine, struct hps_report_input *f)
{
    double *all = hps_mem_new((size_t)j->pool->R, sizeof *all);

    HPS_MPI(MPI_Allgather(&mine, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, j->world));
    f->traffic.gpu_joules = hps_pool_gpu_sum(j->pool, all);
    hps_mem_free(all);
}

/* The layout before this start; NULL: it is the same. To free. */
struct before {
    long long step;
    double seconds;
    struct hps_start_layout was;
};

static struct hps_start_layout layout_of(const struct hps_job *j, const char *pool)
{
    char *plan = hps_plan_text(j->plan);
    struct hps_start_layout start = { hps_layout_text(plan, pool), hps_layout_origin(plan) };

    hps_mem_free(plan);
    return start;
}

static void free_layout(struct hps_start_layout *start)
{
    hps_mem_free(start->layout);
    hps_mem_free(start->origin);
    *start = (struct hps_start_layout){ NULL, NULL };
}

/* Report that a run continues in another layout, and so ends in other bits. Collective. */
static enum hps_status look_back(struct before *b, const struct hps_start *s,
                                 const struct hps_job *j, const struct hps_cursor *c,
                                 const char *pool)
{
    enum hps_status st = HPS_OK;

    *b = (struct before){ c->step, c->seconds, { NULL, NULL } };
    if (c->step > 0) st = hps_start_layout(&b->was, s, c->step);
    st = hps_agree(j->world, st);
    if (st) return st;
    if (c->step > 0 && c->workers != j->o.train.workers)
        HPS_SAY(HPS_WARN, "%lld workers until step %lld, %d now: that many batches an update",
                c->workers, c->step, j->o.train.workers);
    struct hps_start_layout now = layout_of(j, pool);
    bool moved = b->was.layout && strcmp(b->was.layout, now.layout) != 0;
    bool other = b->was.origin && strcmp(b->was.origin, now.origin) != 0;
    if (moved)
        HPS_SAY(HPS_WARN, "the plan has another layout than until step %lld: %s then, %s now; sums "
                "are rounded in another order", c->step, b->was.layout, now.layout);
    if (other)
        HPS_SAY(HPS_INFO, "the plan until step %lld was made by %s, this one by %s", c->step,
                b->was.origin, now.origin);
    if (!moved && !other) free_layout(&b->was);
    free_layout(&now);
    return HPS_OK;
}

static enum hps_status report(struct hps_job *j, const struct hps_loop *l,
                              const struct hps_plan_sequence *sequence, const struct hps_cursor *c,
                              double start_s, const struct before *before, bool finished)
{
    double bytes = sequence->sent_bytes + hps_step_bytes(j->step), all;
    int n = sequence->nepoch;
    struct hps_start_layout now = layout_of(j, l->text.pool);
    struct hps_tier_count *tiers = hps_mem_new((size_t)j->net->ntable, sizeof *tiers);
    struct hps_report_input f = {
        .name = j->o.run.name,
        .directory = j->dir.path,
        .deck = l->text.deck,
        .finished = finished,
        .done = *c,
        .steps_total = j->steps.total,
        .start = { .seconds = c->seconds - before->seconds,
                   .ready_s = start_s,
                   .step_median_s = hps_loop_step_s(l->history, 0.5),
                   .step_p95_s = hps_loop_step_s(l->history, 0.95) },
        .setup = { j->net, j->flops_example, j->pool, j->profile, j->plan, j->stage_of },
        .has_test = finished && j->test,
        .losses = { l->history->nloss, l->history->loss },
        .layout = { { now.layout, now.origin },
                    { before->was.layout, before->was.origin },
                    before->step },
        .served = l->history->served,
        .other = sequence->other,
        .plans = { n, sequence->epoch, n > 1 ? &sequence->before : NULL },
    };
    enum hps_status st = HPS_OK, written;

    HPS_MPI(MPI_Allreduce(&bytes, &all, 1, MPI_DOUBLE, MPI_SUM, j->world));
    if (c->step == 0) f.done.train_loss = NAN;
    f.traffic.net_bytes = all;
    add_messages(j, sequence, &f);
    add_encoded_rows(j, &f);
    add_tiers(j, tiers, &f);
    add_joules(j, sequence->gpu_joules, &f);
    f.start.bubble = bubble_of(j, n > 0 ? sequence->epoch[n - 1].seconds : 0);
    if (f.has_test) st = evaluate(j, &f);
    written = st && st != HPS_AGAIN ? st : hps_report_write(&f, j->world);
    hps_mem_free(tiers);
    free_layout(&now);
    return written ? written : st;
}

/* Load the state to go on from, and which batches were trained before their turn. Workers that do
 * not wait for each other go on each from its own clock, if they are as many as before. */
static enum hps_status load(struct hps_job *j, const struct hps_start *s, struct hps_cursor *c)
{
    enum hps_status st = hps_start_load(s, j, c);

    j->steps.ndone = c->ndone;
    j->steps.done = c->done;
    hps_step_set_steps(j->step, &j->steps);
    if (!j->step->async) c->step = c->next;
    if (!j->step->async || c->workers != j->o.train.workers) c->number = NULL;
    return st;
}

/* The rank is ready for the first step of this start. */
static void announce_start(const struct hps_job *j, const struct hps_cursor *c, bool finished,
                           struct hps_rundir_state *status, double start_s)
{
    status->step = c->step;
    status->steps = j->steps.total;
    if (c->step > 0) status->checkpoint = c->step;
    status->loss = c->train_loss;
    HPS_SAY(HPS_INFO,
            finished ? "the run is finished: step %lld of %lld; evaluating (%.2f s)"
                     : "training: steps %lld to %lld, ready after %.2f s",
            finished ? c->step : c->step + 1, j->steps.total, start_s);
}

static enum hps_status go(struct hps_job *j, const struct hps_start *s, const struct request *w,
                          const char *deck_text, struct hps_loop_history *history)
{
    struct hps_recording recording = { 0 };
    struct hps_cursor cursor = { .train_loss = NAN };
    struct hps_plan_sequence sequence = { .gpu_joules = NAN, .other = { .cores = NAN } };
    struct hps_loop loop = { .run = &j->o.run,
                             .train = &j->o.train,
                             .data_opt = &j->o.data,
                             .ckpt = &j->o.ckpt,
                             .dir = &j->dir,
                             .data = j->train,
                             .test = j->test,
                             .steps = j->steps,
                             .never = strcmp(w->restart, "never") == 0,
                             .history = history };
    char *pool = hps_pool_text(j->pool);
    double load_s = hps_now_s();
    hps_watch_phase("loading the checkpoint",
                    hps_ckpt_bytes(j->net, &j->o.train) / HPS_CKPT_BYTES_S);
    enum hps_status st = load(j, s, &cursor), loop_st;
    loop.steps = j->steps;
    double start_s;
    struct before before = { cursor.step, cursor.seconds, { NULL, NULL } };
    bool finished = cursor.step >= j->steps.total;
    if (!st && !finished) st = look_back(&before, s, j, &cursor, pool);
    if (!st && !finished) st = hps_recording_open(&recording, &loop, j, &cursor, pool, w->replay);
    cursor.precision = finished ? cursor.precision : j->dev.precision;
    cursor.workers = finished ? cursor.workers : j->o.train.workers;

    loop.text = (struct hps_ckpt_text){ j->shape, j->course, j->planning, deck_text, NULL, pool };
    loop.made_s = j->made_s + hps_now_s() - load_s;
    if (!st && !finished)
        st = hps_ckpt_ready(&j->o.ckpt, &j->dir,
                            hps_ckpt_bytes(j->net, &j->o.train) + hps_step_residual_bytes(j->step),
                            j->world);
    hps_watch_phase(NULL, 0);
    start_s = hps_now_s();
    if (!st) {
        announce_start(j, &cursor, finished, &history->status, start_s);
        hps_stop_checkpoint_s(j->save_s);
        st = loop_st = finished ? HPS_OK : hps_plan_sequence_run(&sequence, j, &loop, &cursor);
        if (!loop_st || loop_st == HPS_AGAIN) {
            st = report(j, &loop, &sequence, &cursor, start_s, &before, loop_st == HPS_OK);
            if (!st) st = loop_st;
        }
    }
    free_layout(&before.was);
    hps_recording_close(&recording);
    hps_plan_sequence_done(&sequence);
    hps_mem_free(pool);
    return st;
}

/* Plans change at checkpoints, so there must be some. */
static enum hps_status check_replan(const struct hps_job *j)
{
    const struct hps_ckpt_opt *c = &j->o.ckpt;
    if (!j->o.sched.replan || c->interval_steps > 0 || c->interval_seconds > 0) return HPS_OK;
    HPS_SAY(HPS_ERROR, "schedule.replan changes the plan at checkpoints: it needs "
                       "checkpoint.interval_steps or checkpoint.interval_seconds above 0");
    return HPS_DECK;
}

/* Open the data, and check the test set before the training. */
static enum hps_status open_data(struct hps_job *j)
{
    enum hps_status st = hps_job_data(j);
    return st || !j->test ? st : hps_evaluate_check_labels(j->net, j->test, j->world);
}

static enum hps_status check(struct hps_job *j)
{
    hps_job_watch(j);
    enum hps_status st = open_data(j);
    if (!st) st = hps_job_hardware(j);
    if (!st) st = hps_job_plan(j, NULL, true);
    if (!st) st = hps_job_check_files(j);
    if (!st) {
        hps_pool_print(j->pool);
        hps_net_print(j->net);
        hps_plan_print(j->plan, j->profile);
        hps_plan_print_snapshot(j->plan, j->profile);
        hps_job_print_tiers(j);
        hps_out("the deck, the data and the plan are right; nothing was run\n");
        st = hps_out_flush();
    }
    return st;
}

/* Write the final status.json. Scripts wait for it, so a failure is an error of the run.
 * Collective. */
static enum hps_status announce_end(const struct hps_job *j, struct hps_rundir_state *s,
                                    enum hps_status st)
{
    s->state = st == HPS_OK ? "finished" : st == HPS_AGAIN ? "stopped" : "failed";
    s->steps = j->steps.total;
    s->exit_code = st;
    enum hps_status written = hps_agree(j->world, hps_rundir_status(&j->dir, s, HPS_ERROR));
    return st ? st : written;
}

/* Prepare the training, phase by phase. */
static enum hps_status prepare(struct hps_job *j, const struct request *w, struct hps_start *s,
                               const char *deck_text)
{
    bool never = strcmp(w->restart, "never") == 0;

    enum hps_status st = open_data(j);
    if (!st && !never) st = hps_start_find(s, j, w->restart);
    j->continues = s->n > 0;
    if (s->n > 0) j->began = s->cursor[0].precision;
    j->trains = s->n == 0 || s->cursor[0].step < j->steps.total;
    if (!st) st = hps_start_check_stop(s, j);
    if (!st) st = hps_job_hardware(j);
    if (!st) st = hps_start_check_stop(s, j);
    if (!st) st = hps_job_plan(j, s->n > 0 ? s->planning[0] : NULL, true);
    if (!st) st = hps_start_check_stop(s, j);
    if (!st) st = hps_job_check_files(j);
    if (!st && j->trains) st = hps_trial_plans(j);
    if (!st) st = hps_start_check_stop(s, j);
    if (!st) st = write_artefacts(j, deck_text);
    if (!st) hps_pool_print(j->pool);
    if (!st) hps_plan_print(j->plan, j->profile);
    if (!st) st = hps_agree(j->world, hps_out_flush());
    return st ? st : hps_job_build(j, true);
}

/* The training did not begin: the progress is unchanged. */
static void status_at_start(struct hps_rundir_state *status, const struct hps_cursor *c)
{
    status->step = status->checkpoint = c->step;
    status->loss = c->train_loss;
}

static bool stop_requested(void)
{
    return hps_stop_requested() != NULL;
}

static enum hps_status train(struct hps_job *j, const struct request *w)
{
    struct hps_start s = { 0 };
    struct hps_loop_history history = { .status = { "starting", 0, 0, NAN, NAN, NAN, -1, -1, -1 } };
    enum hps_status st = hps_rundir_open(&j->dir, &j->o.run, j->world);
    char *text = hps_deck_text(j->o.deck);

    if (!st) {
        hps_job_watch(j);
        hps_stop_begin(&j->o.run, &j->dir);
        hps_budget_check_stop(stop_requested);
        st = hps_agree(j->world, hps_rundir_status(&j->dir, &history.status, HPS_ERROR));
        if (!st) st = prepare(j, w, &s, text);
        if (st == HPS_AGAIN && s.n > 0) status_at_start(&history.status, &s.cursor[0]);
        if (!st) st = go(j, &s, w, text, &history);
        if (st == HPS_AGAIN) hps_stop_done();
        st = announce_end(j, &history.status, st);
        hps_watch_leave();
    }
    hps_budget_check_stop(NULL);
    hps_stop_end();
    hps_served_free(history.served);
    hps_start_free(&s);
    hps_mem_free(text);
    return st;
}

enum hps_status hps_app_train(int argc, char **argv, MPI_Comm world)
{
    struct request w = { .restart = "auto" };
    struct hps_arg_list set = { 0 }, deck = { 0 };
    struct hps_job job = { .world = world };
    const struct hps_arg table[] = { { "set", NULL, NULL, &set },
                                     { "restart", &w.restart, NULL, NULL },
                                     { "replay", &w.replay, NULL, NULL },
                                     { "check", NULL, &w.check, NULL },
                                     { 0 } };
    enum hps_status st = hps_args_parse(argc, argv, table, 1, 1, &deck);

    if (w.check) hps_stop_release();
    if (!st) st = hps_job_deck(&job, deck.item[0], set.n, set.item);
    if (!st) st = check_replan(&job);
    if (!st) st = w.check ? check(&job) : train(&job, &w);
    hps_watch_leave();
    hps_job_close(&job);
    hps_args_done(&set);
    hps_args_done(&deck);
    return st;
}
