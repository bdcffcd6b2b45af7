/* pollux_optimus.c - Optimus as Pollux' authors simulate it: each job one GPU, by arrival; then
 * each further one to the job whose remaining steps it shortens most, by the seconds of a step on
 * whole nodes, until no gain is left. What remains is counted without the epoch that a job is in.
 * A job whose number of GPUs stays keeps its GPUs; the others are placed anew, the smallest first.
 */
#include <string.h>

#include "base/mem.h"
#include "base/say.h"
#include "jobs/authors/pollux_impl.h"

struct work {
    int *job, *gpus;            /* (active)                                    */
    double *gain;               /* (active) of one more GPU                    */
};

static double step_s(const struct hps_pollux_job *job, int gpus)
{
    const struct hps_job_config *c = &job->job->config[hps_pollux_config(job, gpus)];

    return c->step_s > 0 ? c->step_s : c->seconds;
}

/* Steps of the epochs behind this one; in the last: 1. */
static double steps_left(const struct hps_pollux_job *job)
{
    const struct hps_job_config *one = &job->job->config[hps_pollux_config(job, 1)];

    if (!job->epochs || job->epoch >= job->epochs->n - 1) return 1;
    return one->seconds / step_s(job, 1) * (1 - job->epochs->until[job->epoch]);
}

/* Their simulator gives no more than one to ncf. */
static int max_of(const struct hps_pollux_job *job)
{
    return strncmp(job->job->model, "ncf ", 4) == 0 ? 1 : job->max;
}

static double gain_of(const struct hps_pollux_job *job, int gpus, int left)
{
    if (gpus + 1 > max_of(job) || left < 1) return 0;
    return (step_s(job, gpus) - step_s(job, gpus + 1)) * steps_left(job);
}

static void share(const struct hps_pollux *p, struct work *w)
{
    int left = hps_job_pool_units(p->pool);

    for (int i = 0; i < p->active; i++) {
        w->gpus[i] = left > 0;
        left -= w->gpus[i];
        w->gain[i] = w->gpus[i] > 0 ? gain_of(&p->job[p->live[i]], 1, left) : 0;
    }
    while (left > 0) {
        int best = 0;
        for (int i = 1; i < p->active; i++)
            if (w->gain[i] > w->gain[best]) best = i;
        if (w->gain[best] <= 0) break;
        w->gpus[best]++;
        w->gain[best] = gain_of(&p->job[p->live[best]], w->gpus[best], left);
        left--;
    }
}

/* Stable, the fewest GPUs first. */
static void sort(const struct hps_pollux *p, struct work *w)
{
    for (int i = 0; i < p->active; i++) {
        int k = i, gpus = w->gpus[i];
        for (; k > 0 && w->gpus[k - 1] > gpus; k--) {
            w->gpus[k] = w->gpus[k - 1];
            w->job[k] = w->job[k - 1];
        }
        w->gpus[k] = gpus;
        w->job[k] = p->live[i];
    }
}

static void decide(struct hps_pollux *p)
{
    struct work *w = p->own;

    share(p, w);
    for (int i = 0; i < p->active; i++) {
        struct hps_pollux_job *job = &p->job[p->live[i]];
        if (job->gpus > 0 && job->gpus != w->gpus[i]) hps_pollux_release(job);
    }
    sort(p, w);
    hps_pollux_place(p, w->job, w->gpus, p->active);
}

static enum hps_status simulate(const struct hps_workload *w, const struct hps_job_pool *pool,
                                const struct hps_policy_facts *facts, struct hps_job_outcomes *o)
{
    size_t n = (size_t)w->n;

    for (int j = 0; j < w->n; j++) {
        struct hps_pollux_job job = { .job = &w->job[j] };
        if (hps_pollux_config(&job, 1) >= 0) continue;
        HPS_SAY(HPS_ERROR, "policy %s is for jobs that can run on one unit: job '%s' cannot",
                o->policy, w->job[j].name);
        return HPS_DECK;
    }
    struct work own = { hps_mem_new(n, sizeof *own.job), hps_mem_new(n, sizeof *own.gpus),
                        hps_mem_new(n, sizeof *own.gain) };
    enum hps_status st = hps_pollux_run(w, pool, facts, o, decide, &own);

    hps_mem_free(own.job);
    hps_mem_free(own.gpus);
    hps_mem_free(own.gain);
    return st;
}

const struct hps_policy hps_pollux_optimus = { .name = "pollux.optimus", .simulate = simulate,
                                               .help = "as Pollux' authors simulate Optimus" };
