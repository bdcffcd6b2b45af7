/* jobs.c - the verb `jobs`: many training jobs that share a pool. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/args.h"
#include "app/verbs.h"
#include "base/deck.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/outputs.h"
#include "base/say.h"
#include "jobs/facts.h"
#include "jobs/simulate.h"
#include "jobs/trace.h"

struct request {
    const char *format, *speeds, *pool, *policy, *restart, *json;
    struct hps_arg_list set;
};

/* What a simulation is made of. */
struct made {
    struct hps_job_pool *pool;
    struct hps_workload *workload;
    struct hps_policy_facts *facts;
    double restart_s;
};

static void done(struct made *m)
{
    hps_policy_facts_free(m->facts);
    hps_workload_free(m->workload);
    hps_job_pool_free(m->pool);
}

static bool wants_all(const struct request *w)
{
    return strcmp(w->policy, "all") == 0;
}

static enum hps_status check_words(struct request *w, struct made *m)
{
    char *end = NULL;

    if (!w->policy) w->policy = "fifo";
    if (!wants_all(w) && !hps_policy_find(w->policy)) {
        HPS_SAY(HPS_ERROR, "heterps jobs: '%s' is none of the policies all|%s", w->policy,
                hps_policy_words());
        return HPS_USAGE;
    }
    m->restart_s = w->restart ? strtod(w->restart, &end) : 0;
    if (w->restart && (end == w->restart || *end || !(m->restart_s >= 0 && m->restart_s < 1e9))) {
        HPS_SAY(HPS_ERROR, "heterps jobs: --restart %s is no number of seconds", w->restart);
        return HPS_USAGE;
    }
    if (!w->pool) {
        HPS_SAY(HPS_ERROR, "heterps jobs simulate: a trace says nothing of the pool: "
                "--pool NODESxUNITS is wanted");
        return HPS_USAGE;
    }
    return HPS_OK;
}

/* Parameters of policies, where only --set gives any. */
static enum hps_status bind_sets(struct hps_policy_opt *opt, const struct request *w)
{
    static const char *const sections[] = { "pool", NULL };
    static const char text[] = "pool: {}";
    struct hps_deck *deck;
    const struct hps_item *pool;
    enum hps_status st = hps_deck_parse(&deck, "--set", text, strlen(text), w->set.n, w->set.item);

    if (!st) st = hps_deck_sections(deck, sections);
    if (!st) st = hps_deck_map(deck, "pool", &pool);
    if (!st) st = hps_policy_opt_bind(opt, deck, pool, NULL);
    hps_deck_free(deck);
    return st;
}

static enum hps_status make(struct made *m, const struct request *w, const char *path)
{
    enum hps_status st = hps_job_pool_parse(&m->pool, w->pool);
    struct hps_trace_opt opt = { path, w->format, w->speeds, m->pool };

    if (!st) st = hps_trace_load(&m->workload, &opt);
    if (!st) {
        char *folder = hps_app_datadir_path();
        st = hps_policy_facts_load(&m->facts, folder);
        hps_mem_free(folder);
    }
    if (!st) st = bind_sets(&m->facts->opt, w);
    return st;
}

static enum hps_status simulate_one(const struct made *m, const struct hps_policy *policy,
                                    struct hps_job_outcomes **o)
{
    struct hps_simulation s = { m->workload, m->pool, policy, m->facts, m->restart_s };

    return hps_simulate(&s, o);
}

/* One policy, or all that a real pool can have. */
static enum hps_status simulate_wanted(const struct made *m, const struct request *w, json_t *all)
{
    bool alone = w->json && strcmp(w->json, "-") == 0;
    enum hps_status st = HPS_OK;

    if (!alone) hps_outcomes_print_head();
    for (int i = 0; !st && hps_policy_at(i); i++) {
        const struct hps_policy *policy = hps_policy_at(i);
        struct hps_job_outcomes *o = NULL;
        if (wants_all(w) ? !policy->decide : strcmp(policy->name, w->policy) != 0) continue;
        st = simulate_one(m, policy, &o);
        if (!st && !alone) hps_outcomes_print_row(o);
        if (!st) json_array_append_new(all, hps_outcomes_tree(o));
        hps_outcomes_free(o);
    }
    return st;
}

static enum hps_status show(const struct made *m, const struct request *w)
{
    json_t *all = json_array(), *tree = NULL;
    enum hps_status st = simulate_wanted(m, w, all);

    if (!st && w->json && wants_all(w)) {
        tree = json_object();
        json_object_set_new(tree, "format", json_string("heterps-jobs-all-1"));
        json_object_set(tree, "results", all);
    } else if (!st && w->json) {
        tree = json_incref(json_array_get(all, 0));
    }
    json_decref(all);
    if (tree) st = hps_args_json(w->json, hps_json_text(tree));
    return st ? st : hps_out_flush();
}

static enum hps_status simulate(int argc, char **argv)
{
    struct request w = { 0 };
    struct made m = { 0 };
    struct hps_arg_list operand = { 0, NULL };
    const struct hps_arg table[] = {
        { .name = "format", .text = &w.format },   { .name = "speeds", .text = &w.speeds },
        { .name = "pool", .text = &w.pool },       { .name = "policy", .text = &w.policy },
        { .name = "restart", .text = &w.restart }, { .name = "json", .text = &w.json },
        { .name = "set", .list = &w.set },
        { 0 },
    };
    enum hps_status st = hps_args_parse(argc, argv, table, 1, 1, &operand);

    if (!st) st = check_words(&w, &m);
    if (!st) st = hps_outputs_add("json", &w.json, HPS_OUTPUT_ANY);
    if (!st) st = make(&m, &w, operand.item[0]);
    if (!st) st = show(&m, &w);
    done(&m);
    hps_args_done(&w.set);
    hps_args_done(&operand);
    return st;
}

enum hps_status hps_app_jobs(int argc, char **argv, MPI_Comm world)
{
    static const char *const words[] = { "simulate" };

    (void)world;
    if (argc > 1 && strcmp(argv[1], words[0]) == 0) return simulate(argc - 1, argv + 1);
    const char *nearest = argc > 1 ? hps_deck_nearest(argv[1], words, 1) : NULL;
    HPS_SAY(HPS_ERROR, "heterps jobs: wants `simulate`%s%s%s", argc > 1 ? ", not '" : "",
            argc > 1 ? argv[1] : "", nearest ? "'; did you mean `simulate`?" : argc > 1 ? "'" : "");
    return HPS_USAGE;
}
