#include "jobs/workload.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

struct hps_workload *hps_workload_new(int n)
{
    struct hps_workload *w = hps_mem_new(1, sizeof *w);

    w->n = n;
    w->job = hps_mem_new((size_t)n, sizeof *w->job);
    for (int i = 0; i < n; i++) {
        w->job[i].priority = 1;
        w->job[i].deadline_s = INFINITY;
    }
    return w;
}

void hps_workload_free(struct hps_workload *w)
{
    if (!w) return;
    for (int i = 0; i < w->n; i++) {
        hps_mem_free(w->job[i].name);
        hps_mem_free(w->job[i].model);
        hps_mem_free(w->job[i].config);
        hps_mem_free(w->job[i].after);
    }
    hps_mem_free(w->job);
    hps_mem_free(w);
}

/* A job beside its place in the list, which decides among equal arrivals. */
struct placed {
    struct hps_pool_job job;
    int at;
};

static int earlier(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;

    if (x->job.arrive_s != y->job.arrive_s) return x->job.arrive_s < y->job.arrive_s ? -1 : 1;
    return x->at - y->at;
}

void hps_workload_sort(struct hps_workload *w)
{
    struct placed *p = hps_mem_new((size_t)w->n, sizeof *p);
    int *now = hps_mem_new((size_t)w->n, sizeof *now);

    for (int i = 0; i < w->n; i++)
        p[i] = (struct placed){ w->job[i], i };
    qsort(p, (size_t)w->n, sizeof *p, earlier);
    for (int i = 0; i < w->n; i++) {
        w->job[i] = p[i].job;
        now[p[i].at] = i;
    }
    for (int i = 0; i < w->n; i++)
        for (int k = 0; k < w->job[i].nafter; k++)
            w->job[i].after[k] = now[w->job[i].after[k]];
    hps_mem_free(now);
    hps_mem_free(p);
}

double hps_pool_job_best_s(const struct hps_pool_job *job)
{
    double best = INFINITY;

    for (int c = 0; c < job->nconfig; c++)
        best = fmin(best, job->config[c].seconds);
    return best;
}

double hps_pool_job_least_unit_s(const struct hps_pool_job *job)
{
    double least = INFINITY;

    for (int c = 0; c < job->nconfig; c++)
        least = fmin(least, job->config[c].seconds * hps_config_units(&job->config[c]));
    return least;
}

int hps_config_units(const struct hps_job_config *c)
{
    int n = 0;

    for (int i = 0; i < c->nparts; i++)
        n += c->part[i].units;
    return n;
}

bool hps_config_same(const struct hps_job_config *a, const struct hps_job_config *b)
{
    bool same = a->nparts == b->nparts;

    for (int i = 0; i < a->nparts && same; i++)
        same = a->part[i].type == b->part[i].type && a->part[i].units == b->part[i].units;
    return same;
}

static int by_units(const void *a, const void *b)
{
    const struct hps_job_config *x = a, *y = b;
    int more = hps_config_units(x) - hps_config_units(y);

    if (more != 0) return more;
    if (x->seconds != y->seconds) return x->seconds < y->seconds ? -1 : 1;
    return x->part[0].type - y->part[0].type;
}

void hps_configs_sort(struct hps_job_config *config, int n)
{
    if (n > 0) qsort(config, (size_t)n, sizeof *config, by_units);
}
