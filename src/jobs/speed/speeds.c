#include "jobs/speeds.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/mem.h"
#include "base/say.h"
#include "jobs/child.h"
#include "jobs/configs.h"
#include "jobs/fit.h"
#include "jobs/speed/speeds_impl.h"
#include "plan/memory.h"

/* A profile, and the configurations of a job that has it. */
struct source {
    char *path;                 /* "": the speed is fitted to what runs measured */
    struct hps_profile *p;      /* NULL then */
    struct hps_config_part_of *part;    /* (p->T); NULL: configurations are still to be found */
    int nconfig;
    struct hps_job_config *config;
    double rows;                /* of the data set, where the speed is fitted */
    struct hps_correction correction;   /* learned from runs of all jobs that are as fast */
    uint64_t hash;              /* of the deck that its limits are of */
};

struct maker {
    const struct hps_speeds_opt *opt;
    char *directory;            /* of the pool */
    struct hps_job_pool *pool;
    int nsource;
    size_t cap;
    struct source *source;
    struct hps_speed_deck *deck;        /* (list->n) */
    int *source_of;             /* (list->n) */
    struct hps_speed_run *run;  /* (list->n) of its folder in the pool */
    struct hps_speed_run *before;       /* (list->n) of its deck's own run */
};

/* ---- profiles ---- */

static enum hps_status measure(const struct hps_list_job *job, const char *path)
{
    int n = 0;
    const char **argument = hps_mem_new((size_t)job->nset * 2 + 4, sizeof *argument);
    char *error;

    HPS_SAY(HPS_INFO, "job '%s' has no profile: it is measured, and kept in %s", job->name, path);
    enum hps_status st = hps_folder_for(path);
    if (!st) {
        argument[n++] = "plan";
        argument[n++] = job->deck;
        argument[n++] = "--keep-profile";
        argument[n++] = path;
        for (int i = 0; i < job->nset; i++) {
            argument[n++] = "--set";
            argument[n++] = job->set[i];
        }
        int code = hps_child_run(n, argument, &error);
        if (code) HPS_SAY(HPS_ERROR, "job '%s': cannot be measured: %s", job->name, error);
        if (code) st = code == HPS_INPUT || code == HPS_OUTPUT ? (enum hps_status)code : HPS_DECK;
        hps_mem_free(error);
    }
    hps_mem_free(argument);
    return st;
}

/* The profile of a run's directory, if it is this job's; NULL: it has none. To free. */
static char *of_run(const struct hps_speed_deck *d, const char *directory)
{
    char *path = hps_mem_print("%s/profile.json", directory);

    if (access(path, R_OK) == 0 && hps_speed_deck_ran(d, directory)) return path;
    hps_mem_free(path);
    return NULL;
}

/* Did a run of such a job measure how fast it is? */
static bool has_measured(const struct maker *m, uint64_t hash)
{
    for (int j = 0; j < m->opt->list->n; j++)
        if (m->deck[j].hash == hash && (m->run[j].nparts > 0 || m->before[j].nparts > 0))
            return true;
    return false;
}

/* Where the profile of job j is, in *path, to free; "": there is none, but runs measured. */
static enum hps_status find_profile(const struct maker *m, int j, char **path)
{
    const struct hps_list_job *job = &m->opt->list->job[j];
    const struct hps_speed_deck *d = &m->deck[j];
    char *own = hps_mem_print("%s/jobs/%s", m->directory, job->name);

    *path = d->profile ? hps_mem_text(d->profile) : of_run(d, own);
    if (!*path) *path = of_run(d, d->run);
    hps_mem_free(own);
    if (*path) return HPS_OK;
    *path = hps_mem_print("%s/profiles/%016llx.json", m->directory, (unsigned long long)d->hash);
    if (access(*path, R_OK) == 0) return HPS_OK;
    if (has_measured(m, d->hash)) {
        (*path)[0] = 0;
        return HPS_OK;
    }
    if (m->opt->measure) return measure(job, *path);
    HPS_SAY(HPS_ERROR, "job '%s' has no profile, so nobody knows how fast it is: `heterps jobs "
            "plan` measures it", job->name);
    return HPS_INPUT;
}

/* The source with this profile and these limits; takes `path` over. */
static enum hps_status source_of(struct maker *m, char *path, uint64_t hash, int *at)
{
    for (*at = 0; *at < m->nsource; ++*at)
        if (m->source[*at].hash == hash && strcmp(m->source[*at].path, path) == 0) {
            hps_mem_free(path);
            return HPS_OK;
        }
    hps_mem_grow(&m->source, &m->cap, (size_t)m->nsource + 1, sizeof *m->source);
    m->source[m->nsource++] = (struct source){ .path = path, .hash = hash };
    return *path ? hps_profile_load(&m->source[*at].p, path) : HPS_OK;
}

/* What the run in this directory measured, if it was of this job. */
static struct hps_speed_run read_run(const struct hps_speed_deck *d, const char *directory)
{
    struct hps_speed_run run = hps_speed_run_read(directory);

    if (run.nparts > 0 && !hps_speed_deck_ran(d, directory)) hps_speed_run_done(&run);
    return run;
}

static enum hps_status load_decks(struct maker *m)
{
    const struct hps_job_list *list = m->opt->list;
    enum hps_status st = HPS_OK;

    for (int j = 0; j < list->n && !st; j++) {
        char *own = hps_mem_print("%s/jobs/%s", m->directory, list->job[j].name);
        st = hps_speed_deck_load(&m->deck[j], &list->job[j]);
        if (!st) m->run[j] = read_run(&m->deck[j], own);
        if (!st) m->before[j] = read_run(&m->deck[j], m->deck[j].run);
        hps_mem_free(own);
    }
    return st;
}

static enum hps_status load(struct maker *m)
{
    enum hps_status st = load_decks(m);

    for (int j = 0; j < m->opt->list->n && !st; j++) {
        char *path = NULL;
        st = find_profile(m, j, &path);
        if (!st)
            st = source_of(m, path, m->deck[j].hash, &m->source_of[j]);
        else
            hps_mem_free(path);
    }
    return st;
}

/* ---- the pool ---- */

static void add_type(struct hps_job_pool *pool, size_t *cap, const struct hps_profile_type *type)
{
    int t = hps_job_pool_find(pool, type->name);
    int limit = type->limit > INT_MAX / 2 ? INT_MAX / 2 : (int)type->limit;

    if (t < 0) {
        t = pool->T++;
        hps_mem_grow(&pool->type, cap, (size_t)pool->T, sizeof *pool->type);
        pool->type[t].name = hps_mem_text(type->name);
        pool->type[t].usd_hour = type->price_usd_hour;
    }
    if (pool->type[t].units < limit) pool->type[t].units = limit;
}

static void add_run(struct hps_job_pool *pool, size_t *cap, const struct hps_speed_run *run)
{
    for (int i = 0; i < run->nparts; i++) {
        struct hps_profile_type type = { .limit = run->part[i].units,
                                         .price_usd_hour = run->part[i].usd_hour };
        snprintf(type.name, sizeof type.name, "%s", run->part[i].type);
        add_type(pool, cap, &type);
    }
}

/* All types of all profiles and runs, the most of each, as one node. */
static struct hps_job_pool *pool_of_profiles(const struct maker *m)
{
    struct hps_job_pool *pool = hps_mem_new(1, sizeof *pool);
    size_t cap = 0;

    for (int i = 0; i < m->nsource; i++)
        for (int t = 0; m->source[i].p && t < m->source[i].p->T; t++)
            add_type(pool, &cap, &m->source[i].p->type[t]);
    for (int j = 0; j < m->opt->list->n; j++) {
        if (m->source[m->source_of[j]].p) continue;
        add_run(pool, &cap, &m->run[j]);
        add_run(pool, &cap, &m->before[j]);
    }
    pool->nnode = 1;
    pool->units = hps_mem_new((size_t)pool->T, sizeof *pool->units);
    pool->node = hps_mem_new(1, sizeof *pool->node);
    pool->node[0] = hps_mem_text("here");
    for (int t = 0; t < pool->T; t++)
        pool->units[t] = pool->type[t].units;
    return pool;
}

static enum hps_status find_pool(struct maker *m, struct hps_job_pool **pool)
{
    const struct hps_deck *deck = m->opt->list->deck;
    enum hps_status st = HPS_OK;

    if (!*pool && (hps_item_has(hps_deck_root(deck), "types") ||
                   hps_item_has(hps_deck_root(deck), "nodes")))
        st = hps_job_pool_bind(pool, deck);
    if (!st && !*pool) *pool = pool_of_profiles(m);
    m->pool = *pool;
    return st;
}

/* ---- configurations ---- */

static enum hps_status never(const struct hps_list_job *job, const char *why)
{
    return hps_deck_wrong(job->item, "units", "job '%s' can never run on this pool: %s", job->name,
                          why);
}

/* A run as a point, if it was of such a job and on types of the pool. */
static int take_point(const struct maker *m, const struct hps_speed_run *run, double *rows,
                      struct hps_job_config *point)
{
    if (run->nparts == 0) return 0;
    *point = hps_speed_run_config(run, m->pool);
    if (point->nparts > 0) *rows = run->rows;
    return point->nparts > 0;
}

/* Seconds of an example, by the runs of all jobs that are as fast as job j. */
static enum hps_status fit_configs(struct maker *m, int j)
{
    const struct hps_list_job *job = &m->opt->list->job[j];
    struct source *s = &m->source[m->source_of[j]];
    int n = m->opt->list->n, points = 0;
    struct hps_job_config *point = hps_mem_new(2 * (size_t)n, sizeof *point);
    long long rows = m->deck[j].batch / m->deck[j].microbatches;

    for (int i = 0; i < n; i++) {
        if (m->deck[i].hash != s->hash) continue;
        points += take_point(m, &m->run[i], &s->rows, &point[points]);
        points += take_point(m, &m->before[i], &s->rows, &point[points]);
    }
    s->nconfig = hps_fit_configs(&s->config, points, point, m->pool,
                                 rows < 1 ? 1 : rows < INT_MAX ? (int)rows : INT_MAX);
    hps_mem_free(point);
    if (s->nconfig == 0) return never(job, "it has none of the types that its runs measured");
    HPS_SAY(HPS_INFO, "job '%s' has no profile: its speed is fitted to %d measured run%s",
            job->name, points, points == 1 ? "" : "s");
    return HPS_OK;
}

static void learn(const struct maker *m, const struct hps_speed_run *run,
                  struct hps_correction *correction)
{
    struct hps_job_config in = hps_speed_run_config(run, m->pool);

    if (run->ratio > 0 && in.nparts > 0) hps_correction_add(correction, &in, run->ratio);
}

static void learn_all(const struct maker *m, struct source *s)
{
    for (int i = 0; i < m->opt->list->n; i++) {
        if (m->deck[i].hash != s->hash) continue;
        learn(m, &m->run[i], &s->correction);
        learn(m, &m->before[i], &s->correction);
    }
}

static enum hps_status find_configs(struct maker *m, int j)
{
    const struct hps_list_job *job = &m->opt->list->job[j];
    struct source *s = &m->source[m->source_of[j]];
    char why[256];

    if (!s->p) return s->nconfig > 0 ? HPS_OK : fit_configs(m, j);
    if (!s->part) {
        learn_all(m, s);
        long long *limit = hps_mem_new((size_t)s->p->T, sizeof *limit);
        enum hps_status st = hps_speed_deck_limits(&m->deck[j], s->p, limit);
        s->part = hps_mem_new((size_t)s->p->T, sizeof *s->part);
        if (!st && hps_configs_parts(s->part, s->p, m->pool, limit))
            s->nconfig = hps_configs_of(&s->config, s->p, s->part);
        hps_mem_free(limit);
        if (st) return st;
    }
    if (s->nconfig > 0) return HPS_OK;
    for (int t = 0; t < s->p->T; t++)
        if (s->part[t].type >= 0)
            return never(job, hps_memory_unplaceable(s->p, why, sizeof why)
                                  ? why : "no part of it has enough memory");
    return never(job, "it has none of the types that the job's profile knows");
}

/* Seconds of the whole run that the profile promises, as seconds of what is left of this job, by
 * what runs measured over what they were promised. */
static void scale(const struct maker *m, int j, struct hps_pool_job *job)
{
    const struct source *s = &m->source[m->source_of[j]];
    const struct hps_profile *p = s->p;
    double all = hps_speed_deck_examples(&m->deck[j], p->examples) * m->run[j].left;

    for (int c = 0; c < job->nconfig; c++) {
        double steps_s = job->config[c].seconds - p->engine.run_s;
        job->config[c].link_s *= all / (p->examples * p->epochs);
        job->config[c].seconds = steps_s * all / (p->examples * p->epochs) *
                                     hps_correction_of(&s->correction, &job->config[c]) +
                                 p->engine.run_s;
    }
}

/* The same of seconds of an example. */
static void scale_fitted(const struct maker *m, int j, struct hps_pool_job *job)
{
    double all = hps_speed_deck_examples(&m->deck[j], m->source[m->source_of[j]].rows);

    for (int c = 0; c < job->nconfig; c++)
        job->config[c].seconds *= all * m->run[j].left;
}

static enum hps_status fill(struct maker *m, int j, struct hps_pool_job *to)
{
    const struct hps_list_job *job = &m->opt->list->job[j];
    const struct source *s = &m->source[m->source_of[j]];
    char why[128];

    to->name = hps_mem_text(job->name);
    to->model = hps_mem_print("%016llx", (unsigned long long)m->deck[j].hash);
    to->arrive_s = job->arrive_s;
    to->deadline_s = job->deadline_s;
    to->priority = job->priority;
    to->config = hps_mem_new((size_t)s->nconfig, sizeof *to->config);
    memcpy(to->config, s->config, (size_t)s->nconfig * sizeof *to->config);
    to->nconfig = s->nconfig;
    if (s->p)
        scale(m, j, to);
    else
        scale_fitted(m, j, to);
    to->nconfig = hps_configs_choose(s->nconfig, to->config, job->min_units, job->max_units);
    to->asked = hps_configs_asked(to->nconfig, to->config);
    if (to->nconfig > 0) return HPS_OK;
    snprintf(why, sizeof why, "it needs %d to %d units, its configurations have %d to %d",
             job->min_units, job->max_units, hps_config_units(&s->config[0]),
             hps_config_units(&s->config[s->nconfig - 1]));
    return never(job, why);
}

/* Those that it waits for and that have not ended before; number (list->n) is what a job of the
 * list is in the workload, -1: it has ended. */
static void fill_after(const struct hps_list_job *job, const int *number, struct hps_pool_job *to)
{
    to->after = hps_mem_new((size_t)job->nafter, sizeof *to->after);
    for (int i = 0; i < job->nafter; i++)
        if (number[job->after[i]] >= 0) to->after[to->nafter++] = number[job->after[i]];
}

static enum hps_status make(struct maker *m, struct hps_workload **w)
{
    const struct hps_job_list *list = m->opt->list;
    enum hps_status st = HPS_OK;
    int n = 0, *number = hps_mem_new((size_t)list->n, sizeof *number);

    for (int j = 0; j < list->n; j++)
        number[j] = m->run[j].left > 0 ? n++ : -1;
    if (n < list->n) HPS_SAY(HPS_INFO, "%d of %d jobs have ended before", list->n - n, list->n);
    *w = hps_workload_new(n);
    for (int j = 0; j < list->n && !st; j++) {
        if (number[j] < 0) continue;
        st = find_configs(m, j);
        if (!st) st = fill(m, j, &(*w)->job[number[j]]);
        if (!st) fill_after(&list->job[j], number, &(*w)->job[number[j]]);
    }
    hps_mem_free(number);
    if (!st) hps_workload_sort(*w);
    return st;
}

static void done(struct maker *m)
{
    for (int i = 0; i < m->nsource; i++) {
        hps_mem_free(m->source[i].path);
        hps_mem_free(m->source[i].part);
        hps_mem_free(m->source[i].config);
        hps_profile_free(m->source[i].p);
        hps_correction_done(&m->source[i].correction);
    }
    for (int j = 0; j < m->opt->list->n; j++) {
        hps_speed_deck_done(&m->deck[j]);
        hps_speed_run_done(&m->run[j]);
        hps_speed_run_done(&m->before[j]);
    }
    hps_mem_free(m->source);
    hps_mem_free(m->deck);
    hps_mem_free(m->run);
    hps_mem_free(m->before);
    hps_mem_free(m->source_of);
    hps_mem_free(m->directory);
}

enum hps_status hps_speeds_workload(struct hps_workload **w, struct hps_job_pool **pool,
                                    const struct hps_speeds_opt *opt)
{
    size_t n = (size_t)opt->list->n;
    struct maker m = { .opt = opt, .directory = hps_job_list_directory(opt->list),
                       .deck = hps_mem_new(n, sizeof *m.deck),
                       .run = hps_mem_new(n, sizeof *m.run),
                       .before = hps_mem_new(n, sizeof *m.before),
                       .source_of = hps_mem_new(n, sizeof *m.source_of) };

    *w = NULL;
    enum hps_status st = load(&m);
    if (!st) st = find_pool(&m, pool);
    if (!st) st = make(&m, w);
    if (st) hps_workload_free(*w);
    if (st) *w = NULL;
    done(&m);
    return st;
}
