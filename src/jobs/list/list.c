#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/say.h"
#include "jobs/job_pool.h"
#include "jobs/list/list_impl.h"
#include "config.h"

#define LONGEST 1e12            /* seconds */

const struct hps_field hps_list_pool_fields[] = {
    HPS_FIELD(hps_list_pool_opt, name, HPS_TEXT, "pool", 0, 0, "", "names its directory"),
    HPS_FIELD(hps_list_pool_opt, directory, HPS_TEXT, "", 0, 0, "",
              "of the journal and of the jobs' runs; empty: pools/NAME"),
    HPS_FIELD(hps_list_pool_opt, policy, HPS_TEXT, "prices", 0, 0, "",
              "who gets which units, and when: one of heterps(1)"),
    HPS_FIELD(hps_list_pool_opt, horizon_seconds, HPS_REAL, "0", 0, LONGEST, "s",
              "that are planned ahead; 0: until all jobs have ended"),
    { 0 }
};

static const struct hps_field entry_fields[] = {
    HPS_FIELD(hps_list_entry, name, HPS_TEXT, NULL, 0, 0, "",
              "of the job, and of its folder; members of a sweep add their values: lr-0.01"),
    HPS_FIELD(hps_list_entry, deck, HPS_TEXT, NULL, 0, 0, "", "what it trains (heterps-deck(5))"),
    HPS_FIELD(hps_list_entry, arrive, HPS_REAL, "0", 0, LONGEST, "s",
              "when it comes, from the pool's start"),
    HPS_FIELD(hps_list_entry, after, HPS_LIST, "", 0, 0, "",
              "names of jobs, or of sweeps, that must have ended before it starts"),
    HPS_FIELD(hps_list_entry, priority, HPS_REAL, "1", 1e-6, 1e6, "",
              "what it counts, against 1 of most"),
    HPS_FIELD(hps_list_entry, deadline, HPS_REAL, "0", 0, LONGEST, "s",
              "when it must have ended, from the pool's start; 0: whenever"),
    { 0 }
};

static const struct hps_field sweep_fields[] = {
    HPS_CHOICE(hps_list_entry, early, "none", "none|median",
               "ends a member early whose test metric is worse than the median of what others had "
               "after as many steps"),
    HPS_FIELD(hps_list_entry, early_steps, HPS_INT, "0", 0, INT_MAX, "",
              "of training before that, and between two such looks"),
    { 0 }
};

struct units {
    int min, max;
};
static const struct hps_field units_fields[] = {
    HPS_FIELD(units, min, HPS_INT, "1", 1, 1e6, "", "that it must have"),
    HPS_FIELD(units, max, HPS_INT, "0", 0, 1e6, "", "that it may have; 0: any"),
    { 0 }
};

/* ---- an entry ---- */

static void set_done(struct hps_list_set *set)
{
    while (set->n > 0)
        hps_mem_free(set->text[--set->n]);
    hps_mem_free(set->text);
}

static enum hps_status bind_set(struct hps_list_entry *e)
{
    const struct hps_item *set;
    enum hps_status st = hps_item_map(e->item, "set", &set);
    int n = st ? 0 : hps_item_count(set);

    e->set.text = hps_mem_new((size_t)n, sizeof *e->set.text);
    for (int i = 0; i < n && !st; i++) {
        const char *key;
        const struct hps_item *value = hps_item_at(set, i, &key);
        if (!strchr(key, '.')) return hps_deck_wrong(value, NULL, "a key has a section, like "
                                                     "train.epochs");
        char *yaml = hps_item_yaml(value);
        e->set.text[e->set.n++] = hps_mem_print("%s=%s", key, yaml);
        hps_mem_free(yaml);
    }
    return st;
}

static enum hps_status bind_units(struct hps_list_entry *e, const struct hps_deck *deck)
{
    const struct hps_item *item;
    struct units u = { 1, 0 };
    enum hps_status st = hps_item_map(e->item, "units", &item);

    if (!st) st = hps_deck_bind(deck, item, units_fields, NULL, NULL, &u);
    if (!st && u.max > 0 && u.max < u.min)
        st = hps_deck_wrong(item, "max", "%d is below min, %d", u.max, u.min);
    e->min_units = u.min;
    e->max_units = u.max > 0 ? u.max : INT_MAX;
    return st;
}

/* `more`: the fields of a sweep, or NULL. */
static enum hps_status bind_entry(struct hps_list_entry *e, const struct hps_deck *deck,
                                  const struct hps_item *item, const struct hps_field *more)
{
    static const char *const of_job[] = { "set", "units", NULL };
    static const char *const of_sweep[] = { "set", "units", "over", NULL };
    enum hps_status st = hps_deck_bind(deck, item, entry_fields, more, more ? of_sweep : of_job, e);

    e->item = item;
    if (!st) st = bind_set(e);
    if (!st) st = bind_units(e, deck);
    if (!st && !*e->deck) st = hps_deck_wrong(item, "deck", "the name of a deck is wanted");
    if (!st && e->deadline > 0 && e->deadline <= e->arrive)
        st = hps_deck_wrong(item, "deadline", "%g s has passed when the job arrives, at %g s",
                            e->deadline, e->arrive);
    if (!st && more && (strcmp(e->early, "none") == 0) != (e->early_steps == 0))
        st = hps_deck_wrong(item, "early_steps", "wanted are some with early: median, 0 with none");
    return st;
}

/* A name is a folder's, a word of a command line, and a part of others'. */
static bool is_name(const char *name)
{
    static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                               "_.+-";

    return *name && strlen(name) <= 128 && !strchr(".-+", *name) && !name[strspn(name, good)];
}

enum hps_status hps_list_add(struct hps_list_maker *m, const struct hps_list_entry *e, char *name,
                             const char *sweep, int n, char *const *more)
{
    struct hps_job_list *list = m->list;

    if (!is_name(name) || list->n == HPS_LIST_JOBS) {
        enum hps_status st = is_name(name)
            ? hps_deck_wrong(e->item, NULL, "more than %d jobs", HPS_LIST_JOBS)
            : hps_deck_wrong(e->item, "name", "'%s' names no job: letters, digits and _ . + - are "
                             "wanted, 128 at most", name);
        hps_mem_free(name);
        return st;
    }
    hps_mem_grow(&list->job, &m->cap, (size_t)list->n + 1, sizeof *list->job);
    hps_mem_grow(&m->after, &m->after_cap, (size_t)list->n + 1, sizeof *m->after);
    m->after[list->n] = e->after;
    struct hps_list_job *job = &list->job[list->n];
    *job = (struct hps_list_job){
        .name = name, .sweep = sweep, .early = sweep ? e->early : "none",
        .early_steps = sweep ? e->early_steps : 0, .deck = e->deck, .arrive_s = e->arrive,
        .deadline_s = e->deadline > 0 ? e->deadline : INFINITY, .priority = e->priority,
        .min_units = e->min_units, .max_units = e->max_units, .item = e->item,
    };
    job->set = hps_mem_new((size_t)(e->set.n + n), sizeof *job->set);
    for (int i = 0; i < e->set.n; i++)
        job->set[job->nset++] = hps_mem_text(e->set.text[i]);
    for (int i = 0; i < n; i++)
        job->set[job->nset++] = hps_mem_text(more[i]);
    list->n++;
    return HPS_OK;
}

/* ---- the list ---- */

static enum hps_status bind_entries(struct hps_list_maker *m, const char *section,
                                    const struct hps_field *more)
{
    const struct hps_item *const *item;
    int n;
    enum hps_status st = hps_deck_entries(m->list->deck, section, &n, &item);

    for (int i = 0; i < n && !st; i++) {
        struct hps_list_entry e = { 0 };
        st = bind_entry(&e, m->list->deck, item[i], more);
        if (!st && more) st = hps_list_sweep(m, &e);
        if (!st && !more) st = hps_list_add(m, &e, hps_mem_text(e.name), NULL, 0, NULL);
        set_done(&e.set);
    }
    return st;
}

static enum hps_status refuse_unbuilt(const struct hps_item *pool,
                                      const struct hps_list_pool_opt *o)
{
    if (o->horizon_seconds > 0)
        return hps_deck_wrong(pool, "horizon_seconds", "does not work yet: 0 does");
    return HPS_OK;
}

static enum hps_status bind_pool(struct hps_job_list *list)
{
    static const char *const mine[] = { "name", "directory", "policy", "horizon_seconds", NULL };
    const struct hps_item *item;
    struct hps_list_pool_opt *o = &list->pool;
    enum hps_status st = hps_deck_map(list->deck, "pool", &item);

    if (!st) st = hps_deck_bind(list->deck, item, hps_list_pool_fields, NULL,
                               hps_policy_opt_keys(), o);
    if (!st) st = hps_policy_opt_bind(&o->policies, list->deck, item, mine);
    if (!st && (!o->name[0] || o->name[0] == '.' || strchr(o->name, '/')))
        st = hps_deck_wrong(item, "name", "'%s' cannot name a directory in pools/", o->name);
    return st ? st : refuse_unbuilt(item, o);
}

static enum hps_status bind_all(struct hps_job_list *list)
{
    static const char *const sections[] = { "pool", "jobs", "sweep", "types", "nodes", NULL };
    struct hps_list_maker m = { .list = list };
    enum hps_status st = hps_deck_sections(list->deck, sections);

    if (!st) st = bind_pool(list);
    if (!st) st = bind_entries(&m, "jobs", NULL);
    if (!st) st = bind_entries(&m, "sweep", sweep_fields);
    if (!st && list->n == 0)
        st = hps_deck_wrong(hps_deck_root(list->deck), "jobs", "there is no job");
    if (!st) st = hps_list_order(&m);
    hps_mem_free(m.after);
    return st;
}

enum hps_status hps_job_list_load(struct hps_job_list **list, const char *path, int nset,
                                  char *const *set)
{
    struct hps_job_list *l = hps_mem_new(1, sizeof *l);
    enum hps_status st = hps_deck_load(&l->deck, path, nset, set, MPI_COMM_NULL);

    if (!st) st = bind_all(l);
    *list = st ? NULL : l;
    if (st) hps_job_list_free(l);
    return st;
}

void hps_job_list_free(struct hps_job_list *list)
{
    if (!list) return;
    for (int j = 0; j < list->n; j++) {
        struct hps_list_job *job = &list->job[j];
        while (job->nset > 0)
            hps_mem_free(job->set[--job->nset]);
        hps_mem_free(job->set);
        hps_mem_free(job->after);
        hps_mem_free(job->name);
    }
    hps_mem_free(list->job);
    hps_deck_free(list->deck);
    hps_mem_free(list);
}

char *hps_job_list_directory(const struct hps_job_list *list)
{
    return *list->pool.directory ? hps_mem_text(list->pool.directory)
                                 : hps_mem_print("pools/%s", list->pool.name);
}

/* ---- the reference ---- */

static void print_entries(enum hps_deck_form form, const char *section, const char *lines,
                          const struct hps_field *more)
{
    hps_deck_print_section(form, section, lines);
    hps_deck_print_group(form, "Every entry has:", NULL);
    hps_deck_print_table(form, true, entry_fields);
    if (more) hps_deck_print_table(form, true, more);
    if (more)
        hps_deck_print_group(form, "over: {KEY: [VALUE, ...], ...}",
                             "keys of the deck: a job of each combination of their values");
    hps_deck_print_group(form, "set: {KEY: VALUE, ...}", "keys of the deck, like train.epochs");
    hps_deck_print_group(form, "units: {...}", "of all types together");
    hps_deck_print_table(form, true, units_fields);
}

static const char yaml_head[] =
    "# The reference list of jobs that share a pool: every section and key with its default.\n"
    "# Printed by `heterps deck --jobs`. Keys without a value here must be given. `types` and\n"
    "# `nodes` may stand in a deck of their own, for the option --pool.\n\n";

static const char man_head[] =
    ".\\\" printed by `heterps deck --jobs --man` from the tables that the program reads lists by\n"
    ".TH HETERPS\\-JOBS 5 \"\" \"heterps " PACKAGE_VERSION "\" \"File Formats\"\n"
    ".SH NAME\n"
    "heterps\\-jobs \\- jobs that share a pool, and the pool, for heterps jobs\n"
    ".SH DESCRIPTION\n"
    "A list of jobs is a YAML file as a deck is (heterps\\-deck(5)), with the sections below. The\n"
    "sections \\fBtypes\\fR and \\fBnodes\\fR are the pool; they may stand in a file of their\n"
    "own, for the option \\fB\\-\\-pool\\fR. Times are seconds from the start of the pool.\n"
    ".SH SECTIONS\n";

static const char man_tail[] = ".SH SEE ALSO\n"
                               ".BR heterps (1),\n"
                               ".BR heterps\\-deck (5),\n"
                               ".BR heterps\\-formats (5)\n";

void hps_job_list_print_reference(enum hps_deck_form form)
{
    hps_out("%s", form == HPS_DECK_YAML ? yaml_head : man_head);
    hps_deck_print_section(form, "pool", NULL);
    hps_deck_print_table(form, false, hps_list_pool_fields);
    hps_policy_opt_print(form);
    print_entries(form, "jobs", "  - {name: a, deck: inputs/census.yaml}\n", NULL);
    print_entries(form, "sweep", "  - {name: lr, deck: inputs/census.yaml, "
                  "over: {train.learning_rate: [0.01, 0.03, 0.1]}}\n", sweep_fields);
    hps_job_pool_print_reference(form);
    hps_out("%s", form == HPS_DECK_YAML ? "" : man_tail);
}
