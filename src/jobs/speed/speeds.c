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
#include "jobs/speed/speeds_impl.h"
#include "plan/memory.h"

/* A profile, and the configurations of a job that has it. */
struct source {
    char *path;
    struct hps_profile *p;
    struct hps_config_part_of *part;    /* (p->T); NULL: configurations are still to be found */
    int nconfig;
    struct hps_job_config *config;
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

/* Where the profile of job j is, in *path, to free. */
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
    return hps_profile_load(&m->source[*at].p, path);
}

static enum hps_status load(struct maker *m)
{
    const struct hps_job_list *list = m->opt->list;
    enum hps_status st = HPS_OK;

    for (int j = 0; j < list->n && !st; j++) {
        char *path = NULL, *own = hps_mem_print("%s/jobs/%s", m->directory, list->job[j].name);
        st = hps_speed_deck_load(&m->deck[j], &list->job[j]);
        if (!st) m->run[j] = hps_speed_run_read(own);
        if (!st) st = find_profile(m, j, &path);
        if (!st)
            st = source_of(m, path, m->deck[j].hash, &m->source_of[j]);
        else
            hps_mem_free(path);
        hps_mem_free(own);
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

/* All types of all profiles, the most of each, as one node. */
static struct hps_job_pool *pool_of_profiles(const struct maker *m)
{
    struct hps_job_pool *pool = hps_mem_new(1, sizeof *pool);
    size_t cap = 0;

    for (int i = 0; i < m->nsource; i++)
        for (int t = 0; t < m->source[i].p->T; t++)
            add_type(pool, &cap, &m->source[i].p->type[t]);
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

static enum hps_status find_configs(struct maker *m, int j)
{
    const struct hps_list_job *job = &m->opt->list->job[j];
    struct source *s = &m->source[m->source_of[j]];
    char why[256];

    if (!s->part) {
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

static int by_type(const struct hps_job_config *c, int type)
{
    for (int i = 0; i < c->nparts; i++)
        if (c->part[i].type == type) return i;
    return -1;
}

/* The units of the plan of a run, as a configuration of the pool. */
static struct hps_job_config ran_in(const struct hps_speed_run *run, const struct source *s)
{
    struct hps_job_config c = { 0 };

    for (int i = 0; i < run->nstage; i++) {
        if (run->stage[i].type < 0 || run->stage[i].type >= s->p->T) continue;
        int type = s->part[run->stage[i].type].type, at = by_type(&c, type);
        if (at < 0 && c.nparts < HPS_CONFIG_TYPES) {
            at = c.nparts++;
            c.part[at].type = type;
        }
        if (at >= 0) c.part[at].units += run->stage[i].units;
    }
    return c;
}

/* Seconds of the whole run that the source promises, as seconds of what is left of this job. */
static void scale(const struct maker *m, int j, struct hps_pool_job *job)
{
    const struct source *s = &m->source[m->source_of[j]];
    const struct hps_speed_run *run = &m->run[j];
    double all = hps_speed_deck_examples(&m->deck[j], s->p->examples) * run->left;
    struct hps_correction correction = { 0 };

    if (run->ratio > 0) {
        struct hps_job_config in = ran_in(run, s);
        hps_correction_add(&correction, &in, run->ratio);
    }
    for (int c = 0; c < job->nconfig; c++) {
        double steps_s = job->config[c].seconds - s->p->engine.run_s;
        job->config[c].link_s *= all / (s->p->examples * s->p->epochs);
        job->config[c].seconds = steps_s * all / (s->p->examples * s->p->epochs) *
                                     hps_correction_of(&correction, &job->config[c]) +
                                 s->p->engine.run_s;
    }
    hps_correction_done(&correction);
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
    scale(m, j, to);
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
    }
    for (int j = 0; j < m->opt->list->n; j++)
        hps_speed_deck_done(&m->deck[j]);
    hps_mem_free(m->source);
    hps_mem_free(m->deck);
    hps_mem_free(m->run);
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
