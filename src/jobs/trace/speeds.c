/* speeds.c - measured speeds of models on units of the pool's types, and what jobs can run in by
 * them. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/say.h"
#include "jobs/trace/trace_impl.h"

int hps_trace_type(const struct hps_job_pool *pool, const char *name)
{
    for (int t = 0; t < pool->T; t++)
        if (strcasecmp(pool->type[t].name, name) == 0) return t;
    return -1;
}

void hps_speeds_add(struct hps_speeds *s, struct hps_speed row)
{
    hps_mem_grow(&s->row, &s->cap, s->n + 1, sizeof *s->row);
    s->row[s->n++] = row;
}

static int compare(const void *a, const void *b)
{
    const struct hps_speed *x = a, *y = b;
    int model = strcmp(x->model, y->model);

    if (model != 0) return model;
    return x->type != y->type ? x->type - y->type : x->units - y->units;
}

void hps_speeds_sort(struct hps_speeds *s)
{
    qsort(s->row, s->n, sizeof *s->row, compare);
}

void hps_speeds_done(struct hps_speeds *s)
{
    for (size_t i = 0; i < s->n; i++)
        hps_mem_free(s->row[i].model);
    hps_mem_free(s->row);
    *s = (struct hps_speeds){ 0 };
}

const struct hps_speed *hps_speeds_of(const struct hps_speeds *s, const char *model, size_t *n)
{
    size_t low = 0, high = s->n;

    while (low < high) {
        size_t mid = (low + high) / 2;
        if (strcmp(s->row[mid].model, model) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    for (*n = 0; low + *n < s->n && strcmp(s->row[low + *n].model, model) == 0; ++*n)
        continue;
    return *n > 0 ? &s->row[low] : NULL;
}

/* The fastest of the most units that are no more than `units`; 0, the first: all have more. */
static int asked_of(const struct hps_pool_job *job, int units)
{
    int best = -1;

    for (int c = 0; c < job->nconfig; c++) {
        const struct hps_job_config *x = &job->config[c], *b = best < 0 ? NULL : &job->config[best];
        if (x->part[0].units > units) continue;
        if (!b || x->part[0].units > b->part[0].units ||
            (x->part[0].units == b->part[0].units && x->seconds < b->seconds))
            best = c;
    }
    return best < 0 ? 0 : best;
}

enum hps_status hps_speeds_configs(struct hps_pool_job *job, const struct hps_speeds *s,
                                   const struct hps_job_pool *pool, double steps, int asked,
                                   bool rigid)
{
    size_t n = 0;
    const struct hps_speed *row = hps_speeds_of(s, job->model, &n);
    int fit = 0;

    job->config = hps_mem_new(n, sizeof *job->config);
    for (size_t i = 0; i < n; i++)
        fit += row[i].units <= pool->type[row[i].type].units && (!rigid || row[i].units == asked);
    for (size_t i = 0; i < n; i++) {
        if (rigid && row[i].units != asked) continue;
        if (fit > 0 && row[i].units > pool->type[row[i].type].units) continue;
        job->config[job->nconfig++] = (struct hps_job_config){
            .nparts = 1, .part = { { row[i].type, row[i].units } },
            .seconds = row[i].step_s * (row[i].steps > 0 ? row[i].steps : steps),
            .step_s = row[i].step_s,
        };
    }
    if (job->nconfig == 0) {
        HPS_SAY(HPS_ERROR, "job '%s': no speed of '%s' on %d units of the pool's types is in the "
                "tables", job->name, job->model, asked);
        return HPS_DECK;
    }
    job->asked = asked_of(job, asked);
    return HPS_OK;
}

enum hps_status hps_trace_types(const struct hps_job_pool *pool, const char *const *name, int n,
                                int *type)
{
    int known = 0;

    for (int i = 0; i < n; i++) {
        type[i] = hps_trace_type(pool, name[i]);
        known += type[i] >= 0;
    }
    if (known > 0) return HPS_OK;
    if (pool->T > 1) {
        HPS_SAY(HPS_ERROR, "the pool has several types, and none of the tables' (%s%s%s)", name[0],
                n > 1 ? " to " : "", n > 1 ? name[n - 1] : "");
        return HPS_DECK;
    }
    type[n - 1] = 0;
    if (n > 1) HPS_SAY(HPS_INFO, "the pool's units are taken for %s", name[n - 1]);
    return HPS_OK;
}

enum hps_status hps_speeds_wanted(const struct hps_trace_opt *opt, const char *format, int max)
{
    if (opt->nspeeds >= 1 && opt->nspeeds <= max) return HPS_OK;
    HPS_SAY(HPS_ERROR, opt->nspeeds == 0 ? "a trace of %s wants its table of speeds: --speeds"
            : "a trace of %s wants one table of speeds", format);
    return HPS_USAGE;
}

enum hps_status hps_trace_each_at_speeds(
    struct hps_workload **w, const struct hps_trace_table *t, const struct hps_trace_opt *opt,
    enum hps_status (*load)(struct hps_speeds *s, const struct hps_trace_opt *opt),
    enum hps_status (*one)(struct hps_pool_job *job, const struct hps_trace_table *t, int row,
                           const void *context))
{
    struct hps_trace_speeds c = { .opt = opt };
    enum hps_status st = load(&c.speeds, opt);

    if (!st) st = hps_trace_each(w, t, one, &c);
    hps_speeds_done(&c.speeds);
    return st;
}
