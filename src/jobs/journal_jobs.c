#include "jobs/journal_jobs.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/say.h"
#include "jobs/journal.h"

/* ---- to records ---- */

static json_t *units_tree(const struct hps_job_pool *pool, const int *units)
{
    json_t *tree = json_object();

    for (int t = 0; t < pool->T; t++)
        if (units[t] > 0) json_object_set_new(tree, pool->type[t].name, json_integer(units[t]));
    return tree;
}

json_t *hps_journal_pool(const struct hps_job_pool *pool)
{
    json_t *types = json_array(), *nodes = json_array(), *tree = json_object();

    for (int t = 0; t < pool->T; t++) {
        json_t *one = json_object();
        json_object_set_new(one, "name", hps_json_word(pool->type[t].name));
        json_object_set_new(one, "price_usd_hour", json_real(pool->type[t].usd_hour));
        json_array_append_new(types, one);
    }
    for (int i = 0; i < pool->nnode; i++) {
        json_t *one = json_object();
        if (pool->node) json_object_set_new(one, "name", hps_json_word(pool->node[i]));
        json_object_set_new(one, "units", units_tree(pool, pool->units + (size_t)i *
                                                               (size_t)pool->T));
        json_array_append_new(nodes, one);
    }
    json_object_set_new(tree, "types", types);
    json_object_set_new(tree, "nodes", nodes);
    return tree;
}

static json_t *config_tree(const struct hps_job_config *c, const struct hps_job_pool *pool)
{
    json_t *tree = json_object(), *units = json_object();

    for (int k = 0; k < c->nparts; k++)
        json_object_set_new(units, pool->type[c->part[k].type].name,
                            json_integer(c->part[k].units));
    json_object_set_new(tree, "units", units);
    json_object_set_new(tree, "seconds", json_real(c->seconds));
    if (c->link_s > 0) json_object_set_new(tree, "link_s", json_real(c->link_s));
    return tree;
}

json_t *hps_journal_job(const struct hps_workload *w, int j, const struct hps_job_pool *pool)
{
    const struct hps_pool_job *job = &w->job[j];
    json_t *tree = json_object(), *after = json_array(), *configs = json_array();

    for (int i = 0; i < job->nafter; i++)
        json_array_append_new(after, hps_json_word(w->job[job->after[i]].name));
    for (int c = 0; c < job->nconfig; c++)
        json_array_append_new(configs, config_tree(&job->config[c], pool));
    json_object_set_new(tree, "job", hps_json_word(job->name));
    if (job->model) json_object_set_new(tree, "model", hps_json_word(job->model));
    json_object_set_new(tree, "arrive", json_real(job->arrive_s));
    json_object_set_new(tree, "deadline", hps_json_real(job->deadline_s));
    json_object_set_new(tree, "priority", json_real(job->priority));
    json_object_set_new(tree, "after", after);
    json_object_set_new(tree, "asked", json_integer(job->asked));
    json_object_set_new(tree, "configs", configs);
    return tree;
}

/* ---- from records ---- */

static enum hps_status bad(const char *from, const char *what)
{
    HPS_SAY(HPS_ERROR, "%s: %s", from, what);
    return HPS_DECK;
}

static bool real_of(const json_t *tree, const char *key, double min, double *x)
{
    const json_t *item = json_object_get(tree, key);

    *x = json_number_value(item);
    return json_is_number(item) && *x >= min && *x < 1e15;
}

/* Units by type (T) of an object; false: a type that the pool does not have, no number. */
static bool units_of(const json_t *tree, const struct hps_job_pool *pool, int *units)
{
    const char *name;
    const json_t *item;

    if (json_object_size(tree) == 0) return false;
    json_object_foreach((json_t *)tree, name, item)
    {
        int t = hps_job_pool_find(pool, name);
        json_int_t n = json_integer_value(item);
        bool good = json_is_integer(item) && n >= 1 &&
                    n <= (json_int_t)HPS_POOL_UNITS * HPS_POOL_NODES;
        if (t < 0 || !good) return false;
        units[t] = (int)n;
    }
    return true;
}

static bool types_of(struct hps_job_pool *p, const json_t *types)
{
    p->type = hps_mem_new(json_array_size(types), sizeof *p->type);
    for (size_t t = 0; t < json_array_size(types); t++) {
        const json_t *one = json_array_get(types, t);
        const char *name = json_string_value(json_object_get(one, "name"));
        if (!name || !real_of(one, "price_usd_hour", 0, &p->type[t].usd_hour)) return false;
        p->type[p->T++].name = hps_mem_text(name);
    }
    return p->T > 0;
}

static bool nodes_of(struct hps_job_pool *p, const json_t *nodes)
{
    size_t n = json_array_size(nodes), T = (size_t)p->T;

    if (n == 0 || n > HPS_POOL_NODES) return false;
    p->units = hps_mem_new(n * T, sizeof *p->units);
    if (json_object_get(json_array_get(nodes, 0), "name"))
        p->node = hps_mem_new(n, sizeof *p->node);
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_array_get(nodes, i);
        const char *name = json_string_value(json_object_get(one, "name"));
        if (!units_of(json_object_get(one, "units"), p, p->units + i * T)) return false;
        if (p->node && !name) return false;
        if (p->node) p->node[i] = hps_mem_text(name);
        p->nnode++;
        for (int t = 0; t < p->T; t++)
            p->type[t].units += p->units[i * T + (size_t)t];
    }
    return true;
}

enum hps_status hps_journal_pool_of(struct hps_job_pool **pool, const char *from,
                                    const json_t *record)
{
    struct hps_job_pool *p = hps_mem_new(1, sizeof *p);

    *pool = p;
    if (types_of(p, json_object_get(record, "types")) &&
        nodes_of(p, json_object_get(record, "nodes")))
        return HPS_OK;
    hps_job_pool_free(p);
    *pool = NULL;
    return bad(from, "its record of the pool has not types and nodes with units");
}

static bool config_of(struct hps_job_config *c, const json_t *tree,
                      const struct hps_job_pool *pool)
{
    int *units = hps_mem_new((size_t)pool->T, sizeof *units);
    bool good = units_of(json_object_get(tree, "units"), pool, units) &&
                real_of(tree, "seconds", 0, &c->seconds) && c->seconds > 0;

    for (int t = 0; t < pool->T && good; t++) {
        if (units[t] == 0) continue;
        good = c->nparts < HPS_CONFIG_TYPES;
        if (good) c->part[c->nparts++] = (struct hps_config_part){ t, units[t] };
    }
    if (good && json_object_get(tree, "link_s")) good = real_of(tree, "link_s", 0, &c->link_s);
    hps_mem_free(units);
    return good;
}

/* All of a job but what it waits for. */
static bool job_of(struct hps_pool_job *job, const json_t *record,
                   const struct hps_job_pool *pool)
{
    const json_t *configs = json_object_get(record, "configs");
    const char *model = json_string_value(json_object_get(record, "model"));
    bool good = real_of(record, "arrive", 0, &job->arrive_s) &&
                real_of(record, "priority", 0, &job->priority) && json_array_size(configs) > 0;

    if (!real_of(record, "deadline", 0, &job->deadline_s)) job->deadline_s = INFINITY;
    job->name = hps_mem_text(json_string_value(json_object_get(record, "job")));
    if (model) job->model = hps_mem_text(model);
    job->config = hps_mem_new(json_array_size(configs), sizeof *job->config);
    job->nconfig = (int)json_array_size(configs);
    for (int c = 0; c < job->nconfig && good; c++)
        good = config_of(&job->config[c], json_array_get(configs, (size_t)c), pool);
    json_int_t asked = json_integer_value(json_object_get(record, "asked"));
    job->asked = asked >= 0 && asked < job->nconfig ? (int)asked : 0;
    return good;
}

/* ---- a workload ---- */

/* What a journal has, as it is read. */
struct reader {
    const char *path;
    json_t *pool, *jobs;        /* the last record of the pool; records of jobs by their names */
};

static enum hps_status visit(void *context, const json_t *record)
{
    struct reader *r = context;
    const char *event = json_string_value(json_object_get(record, "event"));
    const char *job = json_string_value(json_object_get(record, "job"));

    if (strcmp(event, "pool") == 0) {
        json_decref(r->pool);
        r->pool = json_incref((json_t *)record);
    } else if (strcmp(event, "arrive") == 0) {
        if (!job) return bad(r->path, "a job that arrives has no name");
        json_object_set(r->jobs, job, (json_t *)record);
    }
    return HPS_OK;
}

/* Names that are none of the workload's jobs are of jobs that had ended before they came. */
static void fill_after(struct hps_workload *w, int j, const json_t *after, const json_t *numbers)
{
    struct hps_pool_job *job = &w->job[j];

    job->after = hps_mem_new(json_array_size(after), sizeof *job->after);
    for (size_t i = 0; i < json_array_size(after); i++) {
        const char *name = json_string_value(json_array_get(after, i));
        const json_t *number = name ? json_object_get(numbers, name) : NULL;
        if (number) job->after[job->nafter++] = (int)json_integer_value(number);
    }
}

static enum hps_status fill(struct hps_workload *w, const struct reader *r,
                            const struct hps_job_pool *pool)
{
    json_t *numbers = json_object();
    enum hps_status st = HPS_OK;
    const char *name;
    json_t *record;
    int j = 0;

    json_object_foreach(r->jobs, name, record)
    {
        json_object_set_new(numbers, name, json_integer(j));
        if (!st && !job_of(&w->job[j], record, pool)) {
            HPS_SAY(HPS_ERROR, "%s: job '%s' has not arrive, priority and configs of types of the "
                    "pool", r->path, name);
            st = HPS_DECK;
        }
        j++;
    }
    j = 0;
    json_object_foreach(r->jobs, name, record)
        fill_after(w, j++, json_object_get(record, "after"), numbers);
    json_decref(numbers);
    return st;
}

enum hps_status hps_journal_workload(struct hps_workload **w, struct hps_job_pool **pool,
                                     const char *path)
{
    struct reader r = { .path = path, .jobs = json_object() };
    const struct hps_journal_visitor visitor = { visit, &r };
    enum hps_status st = hps_journal_read(path, &visitor);

    *w = NULL;
    if (!st && json_object_size(r.jobs) == 0) st = bad(path, "no job has arrived");
    if (!st && !*pool)
        st = r.pool ? hps_journal_pool_of(pool, path, r.pool)
                    : bad(path, "has no record of the pool: --pool is wanted");
    if (!st) {
        *w = hps_workload_new((int)json_object_size(r.jobs));
        st = fill(*w, &r, *pool);
        if (!st) hps_workload_sort(*w);
        if (st) hps_workload_free(*w);
        if (st) *w = NULL;
    }
    json_decref(r.pool);
    json_decref(r.jobs);
    return st;
}
