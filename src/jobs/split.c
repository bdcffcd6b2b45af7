#include "jobs/split_impl.h"

#include "base/mem.h"

/* ---- which types belong together ---- */

static int root(const int *parent, int t)
{
    while (parent[t] != t)
        t = parent[t];
    return t;
}

static void join(int *parent, int a, int b)
{
    int x = root(parent, a), y = root(parent, b);

    if (x < y) parent[y] = x;
    if (y < x) parent[x] = y;
}

static int first_type(const struct hps_pool_job *job)
{
    return job->config[0].part[0].type;
}

int hps_split_count(const struct hps_workload *w, const struct hps_job_pool *pool, int *share_of)
{
    int n = 0, *parent = hps_mem_new((size_t)pool->T, sizeof *parent);

    for (int t = 0; t < pool->T; t++)
        parent[t] = t;
    for (int j = 0; j < w->n && pool->T > 1; j++) {
        const struct hps_pool_job *job = &w->job[j];
        int type = first_type(job);
        for (int c = 0; c < job->nconfig; c++)
            for (int i = 0; i < job->config[c].nparts; i++)
                join(parent, type, job->config[c].part[i].type);
        for (int i = 0; i < job->nafter; i++)
            join(parent, type, first_type(&w->job[job->after[i]]));
    }
    for (int t = 0; t < pool->T; t++)
        share_of[t] = parent[t] == t ? n++ : share_of[root(parent, t)];
    hps_mem_free(parent);
    return n;
}

/* ---- one of the pools ---- */

/* Its types, and its nodes: those that have units of them. to (T): the new place of each type. */
static struct hps_job_pool *pool_of(const struct hps_job_pool *whole, const int *share_of, int k,
                                    int *to)
{
    struct hps_job_pool *pool = hps_mem_new(1, sizeof *pool);

    for (int t = 0; t < whole->T; t++)
        to[t] = share_of[t] == k ? pool->T++ : -1;
    pool->type = hps_mem_new((size_t)pool->T, sizeof *pool->type);
    pool->units = hps_mem_new((size_t)whole->nnode * (size_t)pool->T, sizeof *pool->units);
    for (int t = 0; t < whole->T; t++) {
        if (to[t] < 0) continue;
        pool->type[to[t]] = whole->type[t];
        pool->type[to[t]].name = hps_mem_text(whole->type[t].name);
    }
    for (int i = 0; i < whole->nnode; i++) {
        int have = 0, *row = &pool->units[(size_t)pool->nnode * (size_t)pool->T];
        for (int t = 0; t < whole->T; t++) {
            if (to[t] < 0) continue;
            row[to[t]] = whole->units[(size_t)i * (size_t)whole->T + (size_t)t];
            have += row[to[t]];
        }
        pool->nnode += have > 0;
    }
    return pool;
}

static void copy_job(struct hps_pool_job *to, const struct hps_pool_job *from, const int *type_to,
                     const int *number_to)
{
    *to = *from;
    to->after = hps_mem_new((size_t)from->nafter, sizeof *to->after);
    for (int i = 0; i < from->nafter; i++)
        to->after[i] = number_to[from->after[i]];
    to->config = hps_mem_new((size_t)from->nconfig, sizeof *to->config);
    for (int c = 0; c < from->nconfig; c++) {
        to->config[c] = from->config[c];
        for (int i = 0; i < from->config[c].nparts; i++)
            to->config[c].part[i].type = type_to[from->config[c].part[i].type];
    }
}

void hps_split_init(struct hps_job_share *s, const struct hps_workload *w,
                    const struct hps_job_pool *pool, const int *share_of, int k)
{
    int n = 0, *to = hps_mem_new((size_t)pool->T, sizeof *to);
    int *number_to = hps_mem_new((size_t)w->n, sizeof *number_to);

    s->pool = pool_of(pool, share_of, k, to);
    s->number = hps_mem_new((size_t)w->n, sizeof *s->number);
    for (int j = 0; j < w->n; j++)
        if (share_of[first_type(&w->job[j])] == k) {
            number_to[j] = n;
            s->number[n++] = j;
        }
    s->workload = hps_workload_new(n);
    for (int i = 0; i < n; i++)
        copy_job(&s->workload->job[i], &w->job[s->number[i]], to, number_to);
    hps_mem_free(number_to);
    hps_mem_free(to);
}

void hps_split_done(struct hps_job_share *s)
{
    for (int i = 0; i < s->workload->n; i++)
        s->workload->job[i].name = s->workload->job[i].model = NULL;
    hps_workload_free(s->workload);
    hps_job_pool_free(s->pool);
    hps_mem_free(s->number);
}
