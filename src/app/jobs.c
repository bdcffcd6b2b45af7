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
#include "jobs/accounts.h"
#include "jobs/bound.h"
#include "jobs/facts.h"
#include "jobs/gantt.h"
#include "jobs/list.h"
#include "jobs/promised.h"
#include "jobs/simulate.h"
#include "jobs/speeds.h"
#include "jobs/trace.h"

struct request {
    const char *format, *cluster, *pool, *policy, *restart, *interference, *json, *gantt, *csv;
    bool migrate, blind, bound;
    struct hps_arg_list speeds, set;
};

#define BOUND_S 10.0            /* of the search for a bound */

/* What a simulation is made of. */
struct made {
    struct hps_job_list *list;          /* NULL: of a trace */
    struct hps_job_pool *pool;
    struct hps_workload *workload;
    struct hps_policy_facts *facts;
    struct hps_interference *beside;
    double restart_s;
    struct hps_job_bound *bound;        /* NULL: none is wanted */
};

static void done(struct made *m)
{
    hps_bound_free(m->bound);
    hps_interference_free(m->beside);
    hps_policy_facts_free(m->facts);
    hps_workload_free(m->workload);
    hps_job_pool_free(m->pool);
    hps_job_list_free(m->list);
}

/* Lists are decks, and are called so. */
static bool is_list(const char *path)
{
    const char *end = strrchr(path, '.');

    return end && (strcmp(end, ".yaml") == 0 || strcmp(end, ".yml") == 0);
}

static bool wants_all(const struct request *w)
{
    return strcmp(w->policy, "all") == 0;
}

static enum hps_status check_words(struct request *w, struct made *m)
{
    char *end = NULL;

    if (w->policy && !wants_all(w) && !hps_policy_find(w->policy)) {
        HPS_SAY(HPS_ERROR, "heterps jobs: '%s' is none of the policies all|%s", w->policy,
                hps_policy_words());
        return HPS_USAGE;
    }
    if (w->policy && wants_all(w) && (w->gantt || w->csv)) {
        HPS_SAY(HPS_ERROR, "heterps jobs: --%s is of one policy, not of all",
                w->gantt ? "gantt" : "csv");
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

/* The list's own policy, of a trace prices, where none is asked for. */
static enum hps_status find_policy(struct request *w, const struct made *m)
{
    if (w->policy) return HPS_OK;
    w->policy = m->list ? m->list->pool.policy : "prices";
    if (hps_policy_find(w->policy)) return HPS_OK;
    HPS_SAY(HPS_ERROR, "pool.policy: '%s' is none of the policies %s", w->policy,
            hps_policy_words());
    return HPS_DECK;
}

/* Parameters of policies, where there is no list that has them. */
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

static enum hps_status make_of_list(struct made *m, struct request *w, const char *path,
                                    bool measure)
{
    enum { RESTART_S = 4 };     /* what a stop and a start were measured to take, at most */
    enum hps_status st = hps_job_list_load(&m->list, path, w->set.n, w->set.item);

    if (!w->restart) m->restart_s = RESTART_S;
    if (!st) st = find_policy(w, m);
    if (!st && w->pool) st = hps_job_pool_parse(&m->pool, w->pool);
    if (!st) st = hps_job_list_check_decks(m->list);
    struct hps_speeds_opt opt = { m->list, measure };
    return st ? st : hps_speeds_workload(&m->workload, &m->pool, &opt);
}

static enum hps_status make_of_trace(struct made *m, const struct request *w, const char *path)
{
    enum hps_status st = w->pool ? hps_job_pool_parse(&m->pool, w->pool) : HPS_OK;
    struct hps_trace_opt opt = { .path = path, .format = w->format, .nspeeds = w->speeds.n,
                                 .speeds = w->speeds.item, .cluster = w->cluster,
                                 .pool = m->pool, .own = &m->pool };

    return st ? st : hps_trace_load(&m->workload, &opt);
}

static enum hps_status make(struct made *m, struct request *w, const char *path, bool measure)
{
    enum hps_status st = is_list(path) && !w->format ? make_of_list(m, w, path, measure)
                                                     : make_of_trace(m, w, path);

    if (!st) st = find_policy(w, m);
    if (!st && w->interference) st = hps_interference_load(&m->beside, w->interference, m->pool);
    if (!st && m->beside) tell_interference(m);
    if (!st) {
        char *folder = hps_app_datadir_path();
        st = hps_policy_facts_load(&m->facts, folder);
        hps_mem_free(folder);
        if (w->restart) m->facts->restart_s = m->restart_s;
    }
    if (!st && m->list) m->facts->opt = m->list->pool.policies;
    if (!st && !m->list) st = bind_sets(&m->facts->opt, w);
    if (!st && w->bound)
        m->bound = hps_bound_find(m->workload, m->pool, m->facts->opt.objective, m->restart_s,
                                  BOUND_S);
    return st;
}

static enum hps_status simulate_one(const struct made *m, const struct request *w,
                                    const struct hps_policy *policy, struct hps_job_outcomes **o)
{
    struct hps_simulation s = { m->workload, m->pool, policy, m->facts, m->restart_s,
                                w->migrate, m->beside, w->blind };

    return hps_simulate(&s, o);
}

static json_t *tree_of(const struct made *m, const struct hps_job_outcomes *o)
{
    json_t *tree = hps_outcomes_tree(o);

    if (m->bound) hps_bound_add(m->bound, o, tree);
    return tree;
}

/* The outcome of the one policy as files. */
static enum hps_status write_files(const struct made *m, const struct request *w,
                                   const struct hps_job_outcomes *o)
{
    enum hps_status st = w->gantt ? hps_gantt_save(o, m->restart_s, w->gantt) : HPS_OK;

    if (!st && w->csv) {
        char *text = hps_accounts_text(o, m->list ? m->list->pool.name : "");
        st = hps_json_write(w->csv, text);
        hps_mem_free(text);
    }
    return st;
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
        if (!st && !alone && m->bound) hps_bound_print(m->bound, o);
        if (!st) json_array_append_new(all, tree_of(m, o));
        if (!st) st = write_files(m, w, o);
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

static enum hps_status name_outputs(struct request *w)
{
    enum hps_status st = hps_outputs_add("json", &w->json, HPS_OUTPUT_ANY);

    if (!st) st = hps_outputs_add("gantt", &w->gantt, HPS_OUTPUT_NEW);
    return st ? st : hps_outputs_add("csv", &w->csv, HPS_OUTPUT_NEW);
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
        { .name = "set", .list = &w.set },         { .name = "bound", .flag = &w.bound },
        { .name = "gantt", .text = &w.gantt },     { .name = "csv", .text = &w.csv },
        { 0 },
    };
    enum hps_status st = hps_args_parse(argc, argv, table, 1, 1, &operand);

    if (!st) st = check_words(&w, &m);
    if (!st) st = name_outputs(&w);
    if (!st) st = make(&m, &w, operand.item[0], false);
    if (!st) st = show(&m, &w);
    done(&m);
    hps_args_done(&w.speeds);
    hps_args_done(&w.set);
    hps_args_done(&operand);
    return st;
}

/* ---- plan ---- */

static enum hps_status show_plan(const struct made *m, const struct request *w)
{
    bool alone = w->json && strcmp(w->json, "-") == 0;
    struct hps_job_outcomes *o = NULL;
    enum hps_status st = simulate_one(m, w, hps_policy_find(w->policy), &o);

    if (!st && !alone) {
        hps_promised_print(o, m->restart_s);
        hps_out("\n");
        hps_outcomes_print_head();
        hps_outcomes_print_row(o);
    }
    if (!st) st = write_files(m, w, o);
    if (!st && w->json)
        st = hps_args_json(w->json, hps_json_text(hps_promised_tree(o, m->restart_s)));
    hps_outcomes_free(o);
    return st ? st : hps_out_flush();
}

/* What a list's jobs would come to: nothing is run, but what is not known of their speed is
 * measured. */
static enum hps_status plan(int argc, char **argv)
{
    struct request w = { 0 };
    struct made m = { 0 };
    struct hps_arg_list operand = { 0, NULL };
    const struct hps_arg table[] = {
        { .name = "pool", .text = &w.pool },       { .name = "policy", .text = &w.policy },
        { .name = "restart", .text = &w.restart }, { .name = "json", .text = &w.json },
        { .name = "gantt", .text = &w.gantt },     { .name = "csv", .text = &w.csv },
        { .name = "set", .list = &w.set },
        { 0 },
    };
    enum hps_status st = hps_args_parse(argc, argv, table, 1, 1, &operand);

    if (!st) st = check_words(&w, &m);
    if (!st && w.policy && wants_all(&w)) {
        HPS_SAY(HPS_ERROR, "heterps jobs plan: --policy all is for `simulate`");
        st = HPS_USAGE;
    }
    if (!st && !is_list(operand.item[0])) {
        HPS_SAY(HPS_ERROR, "heterps jobs plan: '%s' is no list of jobs, NAME.yaml",
                operand.item[0]);
        st = HPS_USAGE;
    }
    if (!st) st = name_outputs(&w);
    if (!st) st = make(&m, &w, operand.item[0], true);
    if (!st) st = show_plan(&m, &w);
    done(&m);
    hps_args_done(&w.set);
    hps_args_done(&operand);
    return st;
}

enum hps_status hps_app_jobs(int argc, char **argv, MPI_Comm world)
{
    static const char *const words[] = { "simulate", "plan" };

    (void)world;
    if (argc > 1 && strcmp(argv[1], words[0]) == 0) return simulate(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], words[1]) == 0) return plan(argc - 1, argv + 1);
    const char *nearest = argc > 1 ? hps_deck_nearest(argv[1], words, 2) : NULL;
    HPS_SAY(HPS_ERROR, "heterps jobs: wants `simulate` or `plan`%s%s%s%s%s",
            argc > 1 ? ", not '" : "", argc > 1 ? argv[1] : "",
            nearest ? "'; did you mean `" : argc > 1 ? "'" : "", nearest ? nearest : "",
            nearest ? "`?" : "");
    return HPS_USAGE;
}
