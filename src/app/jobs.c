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
    const char *format, *cluster, *pool, *policy, *restart, *interference, *json;
    bool migrate, blind;
    struct hps_arg_list speeds;
};

/* What a simulation is made of. */
struct made {
    struct hps_job_pool *pool;
    struct hps_workload *workload;
    struct hps_policy_facts *facts;
    struct hps_interference *beside;
    double restart_s;
};

static void done(struct made *m)
{
    hps_interference_free(m->beside);
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
    return HPS_OK;
}

/* What is known of pairs of jobs, and how well it predicts what is not. */
static void tell_interference(const struct made *m)
{
    const struct hps_interference *x = m->beside;

    for (int t = 0; t < x->T; t++)
        if (x->measured[t] > 0)
            HPS_SAY(HPS_INFO, "interference on %s: %d pairs of %d kinds of jobs are measured; half "
                    "of them predict the others to %.1f points", m->pool->type[t].name,
                    x->measured[t], x->n, 100 * x->error[t]);
}

static enum hps_status make(struct made *m, const struct request *w, const char *path)
{
    enum hps_status st = w->pool ? hps_job_pool_parse(&m->pool, w->pool) : HPS_OK;
    struct hps_trace_opt opt = { .path = path, .format = w->format, .nspeeds = w->speeds.n,
                                 .speeds = w->speeds.item, .cluster = w->cluster,
                                 .pool = m->pool, .own = &m->pool };

    if (!st) st = hps_trace_load(&m->workload, &opt);
    if (!st && w->interference) st = hps_interference_load(&m->beside, w->interference, m->pool);
    if (!st && m->beside) tell_interference(m);
    if (!st) {
        char *folder = hps_app_datadir_path();
        st = hps_policy_facts_load(&m->facts, folder);
        hps_mem_free(folder);
        if (w->restart) m->facts->restart_s = m->restart_s;
    }
    return st;
}

static enum hps_status simulate_one(const struct made *m, const struct request *w,
                                    const struct hps_policy *policy, struct hps_job_outcomes **o)
{
    struct hps_simulation s = { m->workload, m->pool, policy, m->facts, m->restart_s,
                                w->migrate, m->beside, w->blind };

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
        st = simulate_one(m, w, policy, &o);
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
        { .name = "format", .text = &w.format },   { .name = "speeds", .list = &w.speeds },
        { .name = "cluster", .text = &w.cluster }, { .name = "migrate", .flag = &w.migrate },
        { .name = "interference", .text = &w.interference }, { .name = "blind", .flag = &w.blind },
        { .name = "pool", .text = &w.pool },       { .name = "policy", .text = &w.policy },
        { .name = "restart", .text = &w.restart }, { .name = "json", .text = &w.json },
        { 0 },
    };
    enum hps_status st = hps_args_parse(argc, argv, table, 1, 1, &operand);

    if (!st) st = check_words(&w, &m);
    if (!st) st = hps_outputs_add("json", &w.json, HPS_OUTPUT_ANY);
    if (!st) st = make(&m, &w, operand.item[0]);
    if (!st) st = show(&m, &w);
    done(&m);
    hps_args_done(&w.speeds);
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
