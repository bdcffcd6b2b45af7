#include "tests/lib/jobs_made.h"

#include <math.h>

#include "base/mem.h"
#include "base/quit.h"
#include "base/rng.h"

struct hps_job_pool *made_pool(int T, const int *units)
{
    struct hps_job_pool *pool = hps_mem_new(1, sizeof *pool);

    pool->T = T;
    pool->nnode = 1;
    pool->type = hps_mem_new((size_t)T, sizeof *pool->type);
    pool->units = hps_mem_new((size_t)T, sizeof *pool->units);
    for (int t = 0; t < T; t++) {
        pool->type[t] = (struct hps_job_type){ hps_mem_print("%c", 'a' + t % 26), 1, units[t] };
        pool->units[t] = units[t];
    }
    return pool;
}

static struct hps_pool_job *begin(struct hps_workload *w, int i, double arrive_s, int nconfig)
{
    struct hps_pool_job *job = &w->job[i];

    job->name = hps_mem_print("%d", i);
    job->model = hps_mem_text("m");
    job->arrive_s = arrive_s;
    job->nconfig = nconfig;
    job->config = hps_mem_new((size_t)nconfig, sizeof *job->config);
    return job;
}

void made_job(struct hps_workload *w, int i, double arrive_s, int nconfig, const double *seconds)
{
    struct hps_pool_job *job = begin(w, i, arrive_s, nconfig);

    for (int c = 0; c < nconfig; c++)
        job->config[c] = (struct hps_job_config){ .nparts = 1, .part = { { 0, c + 1 } },
                                                  .seconds = seconds[c] };
}

void made_rigid(struct hps_workload *w, int i, double arrive_s, int units, double seconds)
{
    struct hps_pool_job *job = begin(w, i, arrive_s, 1);

    job->config[0] = (struct hps_job_config){ .nparts = 1, .part = { { 0, units } },
                                              .seconds = seconds };
}

/* ---- drawn ---- */

struct draws {
    uint64_t key, at;
};

static int below(struct draws *x, int n)
{
    return (int)hps_rng_below(x->key, x->at++, (uint64_t)n);
}

static struct hps_job_config draw_config(struct draws *x, const struct hps_job_pool *pool)
{
    int first = below(x, pool->T);
    struct hps_job_config c = { .nparts = 1 };

    c.part[0] = (struct hps_config_part){ first, 1 + below(x, pool->type[first].units) };
    if (pool->T > 1 && below(x, 3) == 0) {
        int other = (first + 1 + below(x, pool->T - 1)) % pool->T;
        c.part[c.nparts++] =
            (struct hps_config_part){ other, 1 + below(x, pool->type[other].units) };
    }
    c.seconds = 1 + below(x, 400);
    return c;
}

struct made_case made_case(uint64_t key, int jobs)
{
    struct draws x = { key, 0 };
    int units[3] = { 1 + below(&x, 8), 1 + below(&x, 8), 1 + below(&x, 8) };
    struct made_case c = { made_pool(1 + below(&x, 3), units), NULL };
    double at = 0;

    c.workload = hps_workload_new(1 + below(&x, jobs));
    for (int i = 0; i < c.workload->n; i++) {
        at += below(&x, 2) ? below(&x, 200) : 0;
        struct hps_pool_job *job = begin(c.workload, i, at, 1 + below(&x, 5));
        for (int k = 0; k < job->nconfig; k++)
            job->config[k] = draw_config(&x, c.pool);
        job->asked = below(&x, job->nconfig);
        job->priority = 1 + below(&x, 3);
        if (below(&x, 2)) job->deadline_s = at + 1 + below(&x, 1500);
    }
    return c;
}

void made_case_free(struct made_case *c)
{
    hps_workload_free(c->workload);
    hps_job_pool_free(c->pool);
}

/* ---- runs ---- */

struct hps_job_outcomes *made_run(const struct hps_workload *w, const struct hps_job_pool *pool,
                                  const struct hps_policy *policy,
                                  const struct hps_policy_facts *facts, double restart_s)
{
    struct hps_simulation s = { .workload = w, .pool = pool, .policy = policy, .facts = facts,
                                .restart_s = restart_s };
    struct hps_job_outcomes *o;

    if (hps_simulate(&s, &o)) HPS_DIE("policy %s failed", policy->name);
    return o;
}

double made_mean_jct(const struct hps_workload *w, const struct hps_job_pool *pool,
                     const char *policy, const struct hps_policy_facts *facts)
{
    struct hps_job_outcomes *o = made_run(w, pool, hps_policy_find(policy), facts, 0);
    double mean = hps_outcomes_figures(o).mean_jct_s;

    hps_outcomes_free(o);
    return mean;
}
