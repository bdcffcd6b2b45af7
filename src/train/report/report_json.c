/* report_json.c - the report as "heterps-report-1", complete, so that it can be printed again. */
#include <assert.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/build.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/quit.h"
#include "hw/nvml_text.h"
#include "train/report/report_impl.h"

void hps_report_put(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0) HPS_DIE("no memory for the report's %s", key);
}

void hps_report_put_real(json_t *object, const char *key, double x)
{
    hps_report_put(object, key, hps_json_real(x));
}

void hps_report_put_whole(json_t *object, const char *key, long long n)
{
    hps_report_put(object, key, json_integer(n));
}

void hps_report_put_word(json_t *object, const char *key, const char *word)
{
    hps_report_put(object, key, hps_json_word(word));
}

void hps_report_append(json_t *list, json_t *value)
{
    if (json_array_append_new(list, value) != 0) HPS_DIE("no memory for the report");
}

/* Parse a JSON text of this program; frees the text. */
static json_t *read_back(char *text)
{
    json_t *j = json_loads(text, 0, NULL);

    assert(j);
    hps_mem_free(text);
    return j;
}

static void put_promises(json_t *j, const struct hps_report_input *f)
{
    struct hps_engine_result e = hps_promise_run(f->setup.plan, f->setup.profile);
    double epochs = f->setup.profile->epochs;
    double epoch = f->setup.profile->examples / (double)f->done.examples;

    hps_report_put_real(j, "examples_s", (double)f->done.examples / f->done.seconds);
    hps_report_put_real(j, "predicted_examples_s", e.examples_s);
    hps_report_put_real(j, "model_examples_s", f->setup.plan->throughput);
    hps_report_put_real(j, "predicted_step_s", e.step_s);
    hps_report_put_real(j, "model_step_s",
                        hps_engine_cut(f->setup.profile).batch / f->setup.plan->throughput);
    hps_report_put_real(j, "usd", f->done.usd);
    hps_report_put_real(j, "usd_idle", f->done.usd_idle);
    hps_report_put_real(j, "predicted_usd", e.cost_usd);
    hps_report_put_real(j, "model_usd", f->setup.plan->cost_usd);
    hps_report_put_real(j, "predicted_seconds", e.seconds);
    hps_report_put_real(j, "model_seconds", f->setup.plan->seconds);
    hps_report_put_real(j, "epoch_examples", f->setup.profile->examples);
    hps_report_put_real(j, "usd_epoch", f->done.usd * epoch);
    hps_report_put_real(j, "predicted_usd_epoch", e.cost_usd / epochs);
    hps_report_put_real(j, "model_usd_epoch", f->setup.plan->cost_usd / epochs);
    hps_report_put_real(j, "seconds_epoch", f->done.seconds * epoch);
    hps_report_put_real(j, "predicted_seconds_epoch", e.seconds / epochs);
    hps_report_put_real(j, "model_seconds_epoch", f->setup.plan->seconds / epochs);
}

static void put_test(json_t *j, const struct hps_report_input *f)
{
    hps_report_put(j, "test_auc", f->has_test ? hps_json_real(f->test.auc) : json_null());
    hps_report_put(j, "test_logloss", f->has_test ? hps_json_real(f->test.logloss) : json_null());
    hps_report_put(j, "test_accuracy", f->has_test ? hps_json_real(f->test.accuracy) : json_null());
    hps_report_put(j, "test_rmse", f->has_test ? hps_json_real(f->test.rmse) : json_null());
    hps_report_put(j, "test_loss", f->has_test ? hps_json_real(f->test.loss) : json_null());
    hps_report_put(j, "test", f->has_test ? read_back(hps_metric_text(&f->test)) : json_null());
}

static json_t *regions_of(const struct hps_report_input *f, const struct hps_report_counts *c)
{
    struct hps_report_region region[HPS_REGIONS];
    json_t *list = json_array();

    hps_report_regions(c, f->setup.stage_of, -1, f->done.seconds, region);
    for (int g = 0; g < HPS_REGIONS; g++) {
        json_t *one = json_object();
        hps_report_put_word(one, "name", hps_region_name[g]);
        hps_report_put_whole(one, "calls", region[g].calls);
        hps_report_put_real(one, "min_s", region[g].min_s);
        hps_report_put_real(one, "avg_s", region[g].avg_s);
        hps_report_put_real(one, "max_s", region[g].max_s);
        hps_report_put_real(one, "share", region[g].share);
        hps_report_put_real(one, "share_now", region[g].avg_s / f->start.seconds);
        if (!isnan(region[g].gpu_s)) hps_report_put_real(one, "gpu_s", region[g].gpu_s);
        hps_report_append(list, one);
    }
    return list;
}

static json_t *events_of(const struct hps_report_input *f, const struct hps_report_counts *c)
{
    json_t *list = json_array();

    for (int e = 0; e < c->nevent; e++) {
        double sum = 0, min = INFINITY, max = -INFINITY;
        int n = 0;
        for (int r = 0; r < c->R; r++) {
            int k = hps_report_event(&c->rank_counts[r], c->event[e]);
            double x = k < 0 || f->setup.stage_of[r] < 0 ? NAN : c->rank_counts[r].event_total[k];
            if (isnan(x)) continue;
            sum += x;
            min = fmin(min, x);
            max = fmax(max, x);
            n++;
        }
        json_t *one = json_object();
        hps_report_put_word(one, "name", c->event[e]);
        hps_report_put_whole(one, "ranks", n);
        hps_report_put_real(one, "min", n ? min : NAN);
        hps_report_put_real(one, "avg", n ? sum / n : NAN);
        hps_report_put_real(one, "max", n ? max : NAN);
        hps_report_append(list, one);
    }
    return list;
}

/* How the ranks of a stage spent their time: shares of the seconds of this start (under the last
 * plan, where there were several) without checkpoints. */
static void put_times(json_t *one, const struct hps_report_input *f,
                      const struct hps_report_counts *c, int s, const int *in_stage, int part)
{
    static const char kind[HPS_REGIONS] = {
        [HPS_REGION_FORWARD] = 'c', [HPS_REGION_BACKWARD] = 'c', [HPS_REGION_UPDATE] = 'c',
        [HPS_REGION_RECV] = 'w', [HPS_REGION_WAIT] = 'w', [HPS_REGION_CHECKPOINT] = '-'
    };
    struct hps_report_region region[HPS_REGIONS];
    double compute = 0, wait = 0, move = 0;

    double seconds = f->plans.n > 0 ? f->plans.epoch[f->plans.n - 1].seconds : f->start.seconds;
    hps_report_regions(c, in_stage, part, seconds, region);
    for (int g = 0; g < HPS_REGIONS; g++)
        if (kind[g] == 'c' && !isnan(region[g].gpu_s))
            compute += region[g].gpu_s / seconds; /* the host only queues it */
        else if (kind[g] != '-')
            *(kind[g] == 'c' ? &compute : kind[g] == 'w' ? &wait : &move) += region[g].share;
    hps_report_put_real(one, "compute", compute);
    hps_report_put_real(one, "move", move);
    hps_report_put_real(one, "wait", wait);
    hps_report_put_parts(one, f, s, region, seconds);
}

static json_t *stage_of_plan(const struct hps_report_input *f, const struct hps_report_counts *c,
                             int s)
{
    const struct hps_plan_stage *g = &f->setup.plan->stage[s];
    int lead = hps_plan_is_second(f->setup.plan, s) ? hps_plan_partner(f->setup.plan, s) : s;
    int *in_stage = hps_mem_new((size_t)f->setup.pool->R, sizeof *in_stage);
    json_t *one = json_object(), *ranks = json_array();

    for (int r = 0; r < f->setup.pool->R; r++) {
        in_stage[r] = f->setup.stage_of[r] == lead ? s : -1;
        if (in_stage[r] == s) hps_report_append(ranks, json_integer(r));
    }
    hps_report_put_whole(one, "first", g->first);
    hps_report_put_whole(one, "last", g->last);
    hps_report_put_word(one, "first_name", f->setup.profile->layer[g->first].name);
    hps_report_put_word(one, "last_name", f->setup.profile->layer[g->last].name);
    hps_report_put_word(one, "type", f->setup.profile->type[g->type].name);
    hps_report_put_whole(one, "units", g->units);
    hps_report_put(one, "shares", lead < s ? json_integer(lead) : json_null());
    hps_report_put_real(one, "price_usd_hour", f->setup.profile->type[g->type].price_usd_hour);
    hps_report_put_real(one, "predicted_examples_s", 1 / g->et);
    put_times(one, f, c, s, in_stage, lead < s);
    hps_report_put(one, "ranks", ranks);
    hps_mem_free(in_stage);
    return one;
}

static void put_pool(json_t *j, const struct hps_report_input *f)
{
    const struct hps_pool *pool = f->setup.pool;
    json_t *types = json_array(), *idle = json_array();

    for (int t = 0; t < pool->T; t++) {
        const struct hps_type *type = &pool->type[t];
        json_t *one = json_object();
        hps_report_put_word(one, "name", type->name);
        hps_report_put_word(one, "cpu", type->node.cpu);
        hps_report_put_word(one, "gpu", type->node.gpu);
        hps_nvml_put(one, &type->node.nvml);
        hps_report_put_whole(one, "cores", type->node.cores);
        hps_report_put_whole(one, "threads", type->node.threads);
        hps_report_put_whole(one, "ranks", type->nrank);
        hps_report_put_real(one, "price_usd_hour", type->price_usd_hour);
        hps_report_put_real(one, "slow", type->slow);
        hps_report_put_real(one, "memory_bytes", type->memory_bytes);
        hps_report_put_real(one, "sgemm_flops_s", type->node.sgemm_flops_s);
        hps_report_put_real(one, "memory_bytes_s", type->node.memory_bytes_s);
        hps_report_put_real(one, "gather_rows_s", type->node.gather_rows_s);
        hps_report_append(types, one);
    }
    for (int r = 0; r < pool->R; r++) {
        if (f->setup.stage_of[r] != HPS_PLAN_IDLE) continue;
        json_t *one = json_object();
        hps_report_put_whole(one, "rank", r);
        hps_report_put_word(one, "type", pool->type[pool->type_of[r]].name);
        hps_report_put_word(one, "host", pool->node[r].host);
        hps_report_append(idle, one);
    }
    hps_report_put(j, "types", types);
    hps_report_put(j, "idle", idle);
}

/* The idle share of the units' time by the engine's model; NaN: no pipeline. */
static double promised_bubble(const struct hps_report_input *f)
{
    struct hps_engine_cut cut = hps_engine_cut(f->setup.profile);
    double step_s = hps_promise_step(f->setup.plan, f->setup.profile).step_s, busy_s = 0, units = 0;

    for (int s = 0; s < f->setup.plan->S; s++) {
        const struct hps_plan_stage *g = &f->setup.plan->stage[s];
        busy_s += (double)g->units * g->ct * cut.batch;
        units += (double)g->units;
    }
    return fmax(1 - busy_s / (units * step_s), 0);
}

/* The layout, and the one of the earlier starts where this start changed the layout or the
 * origin of the plan: its bits then differ from those of a run without a restart. */
static void put_layout(json_t *j, const struct hps_report_input *f)
{
    const struct hps_run_layout *now = &f->layout.now, *before = &f->layout.was;
    json_t *was = json_object();

    hps_report_put_word(j, "layout", now->layout ? now->layout : "");
    hps_report_put_word(j, "plan_origin", now->origin ? now->origin : f->setup.plan->method);
    if (!before->layout) {
        json_decref(was);
        hps_report_put(j, "before", json_null());
        return;
    }
    hps_report_put_whole(was, "last_step", f->layout.was_step);
    hps_report_put_word(was, "layout", before->layout);
    hps_report_put_word(was, "plan_origin", before->origin);
    hps_report_put(j, "before", was);
}

static void put_plan(json_t *j, const struct hps_report_input *f, const struct hps_report_counts *c)
{
    json_t *stages = json_array();
    struct hps_engine_cut cut = hps_engine_cut(f->setup.profile);
    double S = f->setup.plan->S;
    bool pipes = f->setup.plan->S > 1 && f->setup.plan->nshare == 0;
    long long units = f->setup.plan->server_units;

    for (int s = 0; s < f->setup.plan->S; s++) {
        if (!hps_plan_is_second(f->setup.plan, s)) units += f->setup.plan->stage[s].units;
        hps_report_append(stages, stage_of_plan(f, c, s));
    }
    hps_report_put_whole(j, "ranks", f->setup.pool->R);
    hps_report_put_whole(j, "units", units);
    hps_report_put(j, "plan", read_back(hps_plan_text(f->setup.plan)));
    hps_report_put(j, "stages", stages);
    hps_report_put_real(j, "bubble", f->start.bubble);
    hps_report_put_real(j, "predicted_bubble", pipes ? promised_bubble(f) : NAN);
    hps_report_put_real(j, "bubble_1f1b", pipes ? (S - 1) / (cut.M + S - 1) : NAN);
    hps_report_put_real(j, "batch", cut.batch);
    hps_report_put_whole(j, "microbatches", (long long)cut.M);
}

static json_t *plan_of(const struct hps_plan_epoch *e)
{
    json_t *one = json_object();

    hps_report_put_whole(one, "first_step", e->first);
    hps_report_put_whole(one, "last_step", e->last);
    hps_report_put_whole(one, "examples", e->examples);
    hps_report_put_real(one, "seconds", e->seconds);
    hps_report_put_real(one, "change_s", e->change_s);
    hps_report_put_real(one, "usd", e->usd);
    hps_report_put_real(one, "usd_idle", e->usd_idle);
    hps_report_put_real(one, "examples_s", (double)e->examples / (e->seconds - e->change_s));
    hps_report_put_real(one, "predicted_examples_s", e->predicted_examples_s);
    hps_report_put_real(one, "model_examples_s", e->plan->throughput);
    hps_report_put(one, "plan", read_back(hps_plan_text(e->plan)));
    return one;
}

/* The plans with their steps, including those of an earlier report up to the step at which this
 * start began. */
static json_t *plans_of(const struct hps_report_input *f, const json_t *old)
{
    const json_t *before = json_object_get(old, "plans");
    json_t *list = json_array();

    for (size_t i = 0; i < json_array_size(before); i++) {
        json_t *one = json_array_get(before, i);
        if (f->plans.n > 0 && hps_report_whole(one, "last_step") < f->plans.epoch[0].first)
            hps_report_append(list, json_incref(one));
    }
    for (int i = 0; i < f->plans.n; i++)
        hps_report_append(list, plan_of(&f->plans.epoch[i]));
    return list;
}

static void put_ranks(json_t *j, const struct hps_report_counts *c)
{
    double cpu_s = 0, max = 0;

    for (int r = 0; r < c->R; r++) {
        cpu_s += c->rank_counts[r].cpu_s;
        max = fmax(max, c->rank_counts[r].peak_bytes);
    }
    hps_report_put_real(j, "cpu_s", cpu_s);
    hps_report_put_real(j, "peak_bytes", max);
}

static void put_head(json_t *j, const struct hps_report_input *f)
{
    char when[32];
    time_t now = time(NULL);
    struct tm utc;

    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    hps_report_put_word(j, "format", "heterps-report-1");
    hps_report_put_word(j, "name", f->name);
    hps_report_put_word(j, "version", hps_build.version);
    hps_report_put_word(j, "revision", hps_build.revision);
    hps_report_put_word(j, "written", when);
    hps_report_put(j, "finished", json_boolean(f->finished));
    hps_report_put_whole(j, "steps", f->done.step);
    hps_report_put_whole(j, "steps_total", f->steps_total);
    hps_report_put_whole(j, "examples", f->done.examples);
    hps_report_put_word(j, "precision", hps_dev_precision_word(f->done.precision));
    hps_report_put_real(j, "seconds", f->done.seconds);
    hps_report_put_real(j, "seconds_now", f->start.seconds);
    hps_report_put_real(j, "start_seconds", f->start.ready_s);
    hps_report_put_real(j, "step_median_s", f->start.step_median_s);
    hps_report_put_real(j, "step_p95_s", f->start.step_p95_s);
}

static json_t *losses_of(const struct hps_report_input *f)
{
    json_t *list = json_array();

    for (int i = 0; i < f->losses.n; i++) {
        json_t *point = json_array();
        hps_report_append(point, json_integer(f->losses.loss[i].step));
        hps_report_append(point, hps_json_real(f->losses.loss[i].loss));
        hps_report_append(list, point);
    }
    return list;
}

/* The run was finished before: keep its measurements, renew the evaluation. */
static json_t *renewed(const struct hps_report_input *f, const json_t *old)
{
    json_t *j = json_deep_copy(old);

    if (!j) HPS_DIE("no memory for the report");
    hps_report_put(j, "finished", json_boolean(f->finished));
    hps_report_put_whole(j, "steps_total", f->steps_total);
    if (f->has_test) put_test(j, f);
    return j;
}

json_t *hps_report_json(const struct hps_report_input *f, const struct hps_report_counts *c,
                        const json_t *old)
{
    if (old && f->start.seconds == 0 && hps_report_whole(old, "steps") == f->done.step)
        return renewed(f, old);
    json_t *j = json_object();
    put_head(j, f);
    put_promises(j, f);
    hps_report_put_real(j, "train_loss", f->done.train_loss);
    put_test(j, f);
    put_plan(j, f, c);
    put_layout(j, f);
    hps_report_put(j, "plans", plans_of(f, old));
    put_pool(j, f);
    hps_report_put(j, "regions", regions_of(f, c));
    hps_report_put(j, "events", events_of(f, c));
    hps_report_put(j, "layers", hps_report_layers(f));
    hps_report_put(j, "loss", losses_of(f));
    hps_report_put_async(j, f);
    put_ranks(j, c);
    hps_report_put_real(j, "net_bytes", f->traffic.net_bytes);
    hps_report_put_messages(j, f);
    hps_report_put_rows(j, f);
    hps_report_put_real(j, "tier_hits", f->traffic.tier_hits);
    hps_report_put_real(j, "tier_bytes", f->traffic.tier_bytes);
    hps_report_put_tiers(j, f);
    hps_report_put_real(j, "gpu_joules", f->traffic.gpu_joules);
    hps_report_put_real(j, "other_cores", f->other.cores);
    hps_report_put_word(j, "other_host", isnan(f->other.cores)
                                             ? "" : f->setup.pool->node[f->other.rank].host);
    hps_report_put_real(j, "flops_example", f->setup.flops_example);
    hps_report_put_real(j, "flops_s",
                        f->setup.flops_example * (double)f->done.examples / f->done.seconds);
    return j;
}

double hps_report_real(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

long long hps_report_whole(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    return json_is_integer(v) ? json_integer_value(v) : -1;
}

const char *hps_report_word(const json_t *object, const char *key)
{
    const char *word = json_string_value(json_object_get(object, key));
    return word ? word : "";
}
