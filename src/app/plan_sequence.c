/* plan_sequence.c - runs under several plans: the state passes through the checkpoint at the
 * change. */
#include "app/plan_sequence.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/say.h"
#include "base/world.h"
#include "life/watch.h"
#include "plan/promise.h"

/* The price of a second: of the plan's units, and of idle ranks. */
static void price(const struct hps_job *j, double *usd_s, double *idle_s)
{
    *usd_s = *idle_s = 0;
    for (int r = 0; r < j->pool->R; r++)
        *(j->stage_of[r] == HPS_PLAN_IDLE ? idle_s : usd_s) +=
            j->pool->type[j->pool->type_of[r]].price_usd_hour / 3600;
}

/* ---- accounting ---- */

static void begin_epoch(struct hps_plan_sequence *c, const struct hps_job *j,
                      const struct hps_loop *l, const struct hps_cursor *at)
{
    size_t R = (size_t)j->pool->R;
    hps_mem_grow(&c->epoch, &c->cap, (size_t)c->nepoch + 1, sizeof *c->epoch);
    struct hps_plan_epoch *e = &c->epoch[c->nepoch++];

    *e = (struct hps_plan_epoch){ .first = at->step + 1,
                                  .predicted_examples_s = l->promised_examples_s,
                                  .plan = hps_plan_copy(j->plan),
                                  .stage_of = hps_mem_new(R, sizeof *e->stage_of) };
    memcpy(e->stage_of, j->stage_of, R * sizeof *e->stage_of);
    for (int part = 0; part < HPS_COUNT_PARTS; part++)
        memcpy(c->before.part[part], hps_count_part_total(part), sizeof c->before.part[part]);
    c->began = *at;
}

static void end_epoch(struct hps_plan_sequence *c, const struct hps_cursor *at)
{
    struct hps_plan_epoch *e = &c->epoch[c->nepoch - 1];

    e->last = at->step;
    e->examples = at->examples - c->began.examples;
    e->seconds = at->seconds - c->began.seconds;
    e->usd = at->usd - c->began.usd;
    e->usd_idle = at->usd_idle - c->began.usd_idle;
}

void hps_plan_sequence_done(struct hps_plan_sequence *c)
{
    for (int i = 0; i < c->nepoch; i++) {
        hps_plan_free(c->epoch[i].plan);
        hps_mem_free(c->epoch[i].stage_of);
    }
    hps_mem_free(c->epoch);
}

/* ---- changes ---- */

/* The share of this rank's rows for whose copies during a checkpoint the plan leaves memory. */
static double snapshot_share(const struct hps_job *j)
{
    int s = j->stage_of[hps_rank()], type = j->plan->server_type;
    double units = (double)j->plan->server_units;
    struct hps_memory m = hps_memory_served(j->profile);

    if (s == HPS_PLAN_IDLE) return 0;
    if (s != HPS_PLAN_SERVER) {
        type = j->plan->stage[s].type;
        units = (double)j->plan->stage[s].units;
        m = hps_plan_holds(j->plan, j->profile, s);
    }
    return m.rows > 0 ? hps_memory_snapshot(j->profile, type, m, units) / (m.rows / units) : 0;
}

static enum hps_status run_plan(struct hps_plan_sequence *c, struct hps_job *j, struct hps_loop *l,
                                struct hps_cursor *cursor, struct hps_loop_change *change)
{
    char *plan = hps_plan_text(j->plan);

    l->step = j->step;
    l->text.plan = plan;
    l->promised_examples_s = hps_promise_step(j->plan, j->profile).examples_s;
    price(j, &l->usd_s, &l->usd_idle_s);
    l->snapshot_share = snapshot_share(j);
    begin_epoch(c, j, l, cursor);
    enum hps_status st = hps_loop_run(l, cursor, change, j->world);
    end_epoch(c, cursor);
    hps_mem_free(plan);
    return st;
}

static enum hps_status adopt(struct hps_job *j, const struct hps_cursor *at,
                             struct hps_loop_change *change)
{
    char *path = hps_ckpt_path(&j->o.ckpt, &j->dir, at->step);
    enum hps_status st = hps_job_adopt(j, change->plan, change->profile);

    hps_watch_phase("loading the checkpoint",
                    hps_ckpt_bytes(j->net, &j->o.train) / HPS_CKPT_BYTES_S);
    if (!st) st = hps_ckpt_load(path, j->step, j->world);
    if (!st) st = hps_job_save_plan(j);
    if (!st) hps_plan_print(j->plan, j->profile);
    if (!st) st = hps_agree(j->world, hps_out_flush());
    hps_watch_heartbeat(-1);
    hps_mem_free(path);
    return st;
}

/* Change the plan; its time and money are accounted. */
static enum hps_status change_plan(struct hps_plan_sequence *c, struct hps_job *j,
                                   struct hps_loop *l, struct hps_cursor *cursor,
                                   struct hps_loop_change *change)
{
    double t0 = hps_now_s();

    hps_region_enter(HPS_REGION_CHECKPOINT, 0);
    c->sent_bytes += hps_step_bytes(j->step);
    hps_step_count(j->step, c->messages, 1);
    enum hps_status st = adopt(j, cursor, change);
    hps_region_leave(HPS_REGION_CHECKPOINT);
    l->never = false; /* old checkpoints were removed */
    l->made_s = hps_now_s() - t0;
    cursor->seconds += l->made_s;
    cursor->usd += l->made_s * l->usd_s;
    cursor->usd_idle += l->made_s * l->usd_idle_s;
    end_epoch(c, cursor);
    c->epoch[c->nepoch - 1].change_s = l->made_s;
    if (!st)
        HPS_SAY(HPS_INFO, "the plan changed after step %lld in %.2f s", cursor->step, l->made_s);
    return st;
}

enum hps_status hps_plan_sequence_run(struct hps_plan_sequence *c, struct hps_job *j,
                                      struct hps_loop *l, struct hps_cursor *cursor)
{
    struct hps_loop_change change;
    struct hps_adapt *adapt = NULL;
    struct hps_nvml *nvml = j->node.on_gpu ? hps_nvml_open(j->node.gpu_uuid) : NULL;
    struct hps_other_load began = hps_other_load_begin(j->pool, j->world);
    double joules = hps_nvml_joules(nvml);

    if (j->o.sched.replan) adapt = hps_adapt_new(&j->o.sched, j->profile, j->o.run.stall_seconds);
    l->adapt = adapt;
    enum hps_status st = run_plan(c, j, l, cursor, &change);
    while (!st && change.plan) {
        long long *number = change.number;
        st = change_plan(c, j, l, cursor, &change);
        if (!st) st = run_plan(c, j, l, cursor, &change);
        hps_mem_free(number);
    }
    c->gpu_joules = hps_nvml_joules(nvml) - joules;
    if (!st || st == HPS_AGAIN)
        c->other = hps_other_load_end(&began, j->pool,
                                      "during the training, of which no promise knows", j->world);
    hps_nvml_close(nvml);
    hps_adapt_free(adapt);
    return st;
}
