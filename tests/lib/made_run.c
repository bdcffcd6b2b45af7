#include "made_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "plan/cost.h"

static double flops(const struct hps_layer *l, const struct hps_net *net)
{
    (void)net;
    return 6 * (double)l->nparam;
}

static const struct hps_layer_type kind = { .name = "made", .flops = flops };
static int inputs[4] = { 0, 0, 1, 2 }, slots[1] = { 0 };

static void make_pool(struct made_run *m, int R)
{
    static const char *const name[] = { "cpu", "fast" };
    int T = R > 1 ? 2 : 1;

    m->pool = (struct hps_pool){ T, R, m->type, m->node, m->type_of, m->link };
    for (int t = 0; t < T; t++) {
        struct hps_type *type = &m->type[t];
        snprintf(type->name, sizeof type->name, "%s", name[t]);
        type->price_usd_hour = t ? 0.2 : 0.04;
        type->slow = 1;
        type->nrank = t ? R - 1 : 1;
        type->first = t;
        type->node.cores = type->node.threads = 2;
        type->node.sgemm_flops_s = t ? 4e11 : 1e11;
        type->node.memory_bytes_s = 1e10;
    }
    for (int r = 0; r < R; r++) {
        m->type_of[r] = r > 0;
        m->stage_of[r] = r < 2 ? r : -1;
        snprintf(m->node[r].host, sizeof m->node[r].host, "host%d", r);
    }
    for (int i = 0; i < T * T; i++)
        m->link[i] = (struct hps_link){ 1e-6, 1e9 };
}

static void make_profile(struct made_run *m)
{
    static const char *const name[] = { "ids", "nums", "h1", "loss" };
    static const char *const type[] = { "embedding", "dense_input", "fc", "logistic" };
    int T = m->pool.T;

    m->profile = hps_profile_new(4, T);
    m->profile->batch = 64;
    m->profile->examples = 7680;
    m->profile->epochs = 2;
    for (int t = 0; t < T; t++) {
        snprintf(m->profile->type[t].name, HPS_NAME, "%s", m->type[t].name);
        m->profile->type[t].price_usd_hour = m->type[t].price_usd_hour;
        m->profile->type[t].limit = m->type[t].nrank;
    }
    for (int l = 0; l < 4; l++) {
        snprintf(m->profile->layer[l].name, HPS_NAME, "%s", name[l]);
        snprintf(m->profile->layer[l].type, HPS_NAME, "%s", type[l]);
        for (int t = 0; t < T; t++) {
            m->profile->oct[l * T + t] = 0.001 * (l + 1) / (t ? 4 : 1);
            m->profile->alpha[l * T + t] = 0.9;
        }
    }
}

static void make_plan(struct made_run *m)
{
    int S = m->pool.T;

    m->plan = hps_plan_new(4, S);
    snprintf(m->plan->method, sizeof m->plan->method, "exact");
    for (int s = 0; s < S; s++) {
        m->plan->stage[s].first = s ? 2 : 0;
        m->plan->stage[s].last = s == S - 1 ? 3 : 1;
        m->plan->stage[s].type = s;
        m->plan->stage[s].units = 1;
    }
    hps_cost_of(m->plan, m->profile);
}

static void make_net(struct made_run *m)
{
    static const size_t nparam[] = { 0, 0, 100000, 0 };

    for (int l = 0; l < 4; l++) {
        m->layer[l] = (struct hps_layer){ .name = m->profile->layer[l].name, .type = &kind,
                                          .index = l, .ninput = l > 0, .input = &inputs[l],
                                          .width = 10 * (l + 1), .nparam = nparam[l],
                                          .table = l == 0 ? 0 : -1, .nslot = l == 0, .dim = 8,
                                          .slot = slots };
    }
    m->slot_ids[0] = 1;
    m->net = (struct hps_net){ .L = 4, .layer = m->layer, .nslot = 1, .slot_ids = m->slot_ids,
                               .ntable = 1, .table = &m->table };
}

void made_run_init(struct made_run *m, int R, const char *directory)
{
    memset(m, 0, sizeof *m);
    make_pool(m, R);
    make_profile(m);
    make_plan(m);
    make_net(m);
    m->profile->engine.batch = 256;
    m->profile->engine.microbatches = 4;
    for (int i = 0; i < 3; i++)
        m->loss[i] = (struct hps_run_loss){ 20 * (i + 1), 0.7 - 0.1 * i };
    m->facts = (struct hps_report_input){
        .name = "made", .directory = directory, .deck = "run: {name: made}\n", .finished = true,
        .done = { .step = 60, .examples = 15360, .seconds = 3, .usd = 3.0 / 3600 * 0.24,
                  .usd_idle = R > 2 ? 3.0 / 3600 * 0.4 : 0, .train_loss = 0.4375 },
        .steps_total = 60,
        .start = { .seconds = 3, .ready_s = 0.5, .step_median_s = 0.048, .step_p95_s = 0.064,
                   .bubble = R > 1 ? 0.25 : NAN },
        .traffic = { .net_bytes = 1e6, .tier_hits = 0.75, .tier_bytes = 2.5e9,
                     .gpu_joules = 1234 },
        .setup = { &m->net, 600000, &m->pool, m->profile, m->plan, m->stage_of },
        .has_test = true, .losses = { 3, m->loss }, .other = { 1.5, R - 1 }
    };
    m->facts.test = (struct hps_metric_result){ .examples = 1000, .positives = 250, .auc = 0.875,
                                                .logloss = 0.3125, .calibration = 1.0625 };
    for (int b = 0; b < HPS_METRIC_BINS; b++) {
        m->facts.test.bin[b].n = 100;
        m->facts.test.bin[b].score = 0.1 * b + 0.05;
        m->facts.test.bin[b].positives = 0.1 * b;
    }
}

void made_encode_all(struct made_run *m)
{
    for (int kind = 0; kind < HPS_MESSAGES; kind++) {
        m->facts.traffic.codec[kind] = "delta";
        m->facts.traffic.messages[kind] =
            (struct hps_message_count){ 1.2345e15, 2.469e15, 1.2345e-11, 3, 1234567 };
    }
    m->facts.traffic.messages[HPS_MESSAGE_IDS].square = 0;     /* they are exact */
}

void made_tier(struct made_run *m)
{
    m->table.name = "a table of a name that is very long indeed";
    m->tier = (struct hps_tier_count){ 1.2345e9, 1.2345e7, 1.5e12, 1.25e12, 1.2345e9, 1.2345e11,
                                       1.1111e11, 1.2345e15, 1.2345e5, 6e9, 1.2e11 };
    m->facts.traffic.tier = &m->tier;
}

void made_run_done(struct made_run *m)
{
    hps_profile_free(m->profile);
    hps_plan_free(m->plan);
}

struct hps_report_counts *made_counts(int R)
{
    struct hps_report_counts *c = hps_mem_new(1, sizeof *c);

    c->R = R;
    c->rank_counts = hps_mem_new((size_t)R, sizeof *c->rank_counts);
    c->nevent = R > 1 ? 2 : 1;
    c->event = hps_mem_new(2, sizeof *c->event);
    strcpy(c->event[0], "instructions");
    strcpy(c->event[1], "cycles");
    for (int r = 0; r < R; r++) {
        struct hps_report_rank *its = &c->rank_counts[r];
        for (int g = 0; g < HPS_REGIONS; g++)
            its->total[g] = (struct hps_count_sum){ r + g + 1, (r + 1) * (g + 1) / 100.0, 0 };
        memcpy(its->part[0], its->total, sizeof its->part[0]);
        its->nevent = 1;
        strcpy(its->event[0], r > 0 && r == R - 1 ? "cycles" : "instructions");
        its->event_total[0] = r > 0 && r == R - 1 ? 5 : 1000 * (r + 1);
        its->cpu_s = 1;
        its->peak_bytes = 1e8 * (r + 1);
    }
    return c;
}
