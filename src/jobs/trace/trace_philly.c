/* trace_philly.c - jobs of Microsoft's clusters (philly-traces) as Pollux' authors list them: each
 * had so many GPUs of a cluster for so many seconds, no more and no less. Each cluster is a pool of
 * as many GPUs as its jobs would have had at once, had none waited; as types that no job spans,
 * clusters have nothing in common. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/say.h"
#include "data/date.h"
#include "jobs/trace/trace_impl.h"

static const char *const columns[] = { "timestamp", "duration", "num_gpus", "gpu_time", "cluster",
                                       NULL };

/* A row that is wanted. */
struct entry {
    int row;
    long long at_s;             /* of its calendar                  */
    double seconds;
    int gpus, cluster;
};

struct philly {
    size_t n, cap;
    struct entry *entry;
    size_t ncluster, cluster_cap;
    const char **cluster;       /* (ncluster) in the table          */
};

/* ---- rows ---- */

static enum hps_status when(long long *at_s, const struct hps_trace_table *t, int row)
{
    const char *text = hps_trace_cell(t, row, hps_trace_column(t, "timestamp"));
    struct hps_date date;

    if (hps_date_parse("%Y-%m-%d %H:%M:%S", text, strlen(text), &date) && date.utc_s >= 0) {
        *at_s = date.utc_s;
        return HPS_OK;
    }
    HPS_SAY(HPS_ERROR, "%s:%lld: timestamp is '%s', wanted is YYYY-MM-DD hh:mm:ss", t->path,
            t->line[row + 1], text);
    return HPS_DECK;
}

static int cluster_of(struct philly *p, const char *name)
{
    for (size_t i = p->ncluster; i-- > 0;)
        if (strcmp(p->cluster[i], name) == 0) return (int)i;
    hps_mem_grow(&p->cluster, &p->cluster_cap, p->ncluster + 1, sizeof *p->cluster);
    p->cluster[p->ncluster] = name;
    return (int)p->ncluster++;
}

static enum hps_status add(struct philly *p, const struct hps_trace_table *t, int row,
                           const char *wanted)
{
    const char *name = hps_trace_cell(t, row, hps_trace_column(t, "cluster"));
    struct entry e = { .row = row };
    double gpus = 0;
    enum hps_status st = when(&e.at_s, t, row);

    if (!st) st = hps_trace_real(t, row, "duration", 0, 1e12, &e.seconds);
    if (!st) st = hps_trace_whole(t, row, "num_gpus", 1, 1e6, &gpus);
    if (st || (wanted && strcmp(wanted, name) != 0)) return st;
    e.gpus = (int)gpus;
    e.cluster = cluster_of(p, name);
    hps_mem_grow(&p->entry, &p->cap, p->n + 1, sizeof *p->entry);
    p->entry[p->n++] = e;
    return HPS_OK;
}

/* ---- pools ---- */

/* GPUs that begin or end to be used. */
struct change {
    double at_s;
    int gpus;
};

static int earlier(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    if (x->at_s != y->at_s) return x->at_s < y->at_s ? -1 : 1;
    return x->gpus - y->gpus;
}

/* The most GPUs at once; what ends at a second is free for what begins then. */
static int peak(const struct philly *p, int cluster, struct change *scratch)
{
    size_t n = 0;
    int now = 0, most = 1;

    for (size_t i = 0; i < p->n; i++) {
        const struct entry *e = &p->entry[i];
        if (e->cluster != cluster) continue;
        most = e->gpus > most ? e->gpus : most;
        scratch[n++] = (struct change){ (double)e->at_s, e->gpus };
        scratch[n++] = (struct change){ (double)e->at_s + e->seconds, -e->gpus };
    }
    qsort(scratch, n, sizeof *scratch, earlier);
    for (size_t i = 0; i < n; i++) {
        now += scratch[i].gpus;
        most = now > most ? now : most;
    }
    return most;
}

/* A type a cluster, all of it one node. */
static struct hps_job_pool *pool_of(const struct philly *p)
{
    struct hps_job_pool *pool = hps_mem_new(1, sizeof *pool);
    struct change *scratch = hps_mem_new(2 * p->n, sizeof *scratch);
    size_t n = p->ncluster;

    pool->T = pool->nnode = (int)n;
    pool->apart = true;
    pool->type = hps_mem_new(n, sizeof *pool->type);
    pool->units = hps_mem_new(n * n, sizeof *pool->units);
    for (size_t i = 0; i < n; i++) {
        pool->type[i].name = hps_mem_text(p->cluster[i]);
        pool->type[i].units = pool->units[i * n + i] = peak(p, (int)i, scratch);
    }
    hps_mem_free(scratch);
    return pool;
}

/* The pool's type of each cluster: (ncluster), to free; NULL, said: HPS_DECK. */
static int *types_of(const struct philly *p, const struct hps_job_pool *pool)
{
    int *type = hps_mem_new(p->ncluster, sizeof *type);

    for (size_t i = 0; i < p->ncluster; i++) {
        type[i] = hps_trace_type(pool, p->cluster[i]);
        if (type[i] < 0 && pool->T == 1) type[i] = 0;
        if (type[i] >= 0) continue;
        HPS_SAY(HPS_ERROR, "the pool has several types, and none is cluster %s", p->cluster[i]);
        hps_mem_free(type);
        return NULL;
    }
    return type;
}

/* ---- jobs ---- */

static void fill(struct hps_workload *w, const struct philly *p, const int *type)
{
    long long first = p->entry[0].at_s;

    for (size_t i = 0; i < p->n; i++)
        first = p->entry[i].at_s < first ? p->entry[i].at_s : first;
    for (size_t i = 0; i < p->n; i++) {
        const struct entry *e = &p->entry[i];
        struct hps_pool_job *job = &w->job[i];
        job->name = hps_mem_print("%d", e->row + 1);
        job->model = hps_mem_text("");
        job->arrive_s = (double)(e->at_s - first);
        job->nconfig = 1;
        job->config = hps_mem_new(1, sizeof *job->config);
        job->config[0] = (struct hps_job_config){
            .nparts = 1, .part = { { type[e->cluster], e->gpus } }, .seconds = e->seconds };
    }
}

static enum hps_status make(struct hps_workload **w, const struct philly *p,
                            const struct hps_trace_opt *opt)
{
    if (p->n == 0) {
        HPS_SAY(HPS_ERROR, "%s: has no jobs of cluster %s", opt->path, opt->cluster);
        return HPS_DECK;
    }
    const struct hps_job_pool *pool = opt->pool;
    if (!pool) pool = *opt->own = pool_of(p);
    int *type = types_of(p, pool);
    if (!type) return HPS_DECK;
    *w = hps_workload_new((int)p->n);
    fill(*w, p, type);
    hps_mem_free(type);
    return HPS_OK;
}

static enum hps_status read_jobs(struct hps_workload **w, const struct hps_trace_table *t,
                                 const struct hps_trace_opt *opt)
{
    struct philly p = { 0 };
    enum hps_status st = HPS_OK;

    for (int i = 0; i < t->nrow && !st; i++)
        st = add(&p, t, i, opt->cluster);
    if (!st) st = make(w, &p, opt);
    hps_mem_free(p.entry);
    hps_mem_free(p.cluster);
    return st;
}

const struct hps_trace_format hps_trace_philly = { .name = "philly", .columns = columns,
                                                   .tells_pool = true, .read = read_jobs };
