#include "jobs/authors/pollux_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/say.h"

#define TICK_S 60.0
#define RESTART_S 30.0
enum { NODES = 16 };            /* of a placement that may be in the table of them */

/* ---- where jobs are ---- */

int hps_pollux_config(const struct hps_pollux_job *job, int gpus)
{
    for (int c = 0; c < job->job->nconfig; c++)
        if (hps_config_units(&job->job->config[c]) == gpus) return c;
    return -1;
}

void hps_pollux_release(struct hps_pollux_job *job)
{
    job->npart = job->gpus = 0;
    job->moved = true;
}

/* The table's name of a placement: its numbers, turned so that they come first in their order. */
static bool name_of(const struct hps_pollux_job *job, char name[NODES + 1])
{
    char once[2 * NODES + 1];
    size_t n = (size_t)job->npart;

    if (job->npart > NODES) return false;
    for (size_t i = 0; i < n; i++) {
        if (job->part[i].gpus > 9) return false;
        once[i] = once[n + i] = (char)('0' + job->part[i].gpus);
    }
    memcpy(name, once, n);
    for (size_t i = 1; i < n; i++)
        if (memcmp(once + i, name, n) < 0) memcpy(name, once + i, n);
    name[n] = 0;
    return true;
}

/* For all of its work: as its table has it, or where it is on other nodes than that means, by the
 * seconds of a step there. */
static double seconds_of(const struct hps_pollux *p, const struct hps_pollux_job *job)
{
    const struct hps_job_config *c = &job->job->config[hps_pollux_config(job, job->gpus)];
    char name[NODES + 1];

    if (!p->facts || c->step_s <= 0 || !name_of(job, name)) return c->seconds;
    for (size_t i = 0; i < p->facts->nplacement; i++) {
        const struct hps_pollux_placement *x = &p->facts->placement[i];
        if (strcmp(x->model, job->job->model) == 0 && strcmp(x->placement, name) == 0)
            return x->step_s * (c->seconds / c->step_s);
    }
    return c->seconds;
}

void hps_pollux_place(struct hps_pollux *p, const int *job, const int *gpus, int n)
{
    int nodes = p->pool->nnode, *free = hps_mem_new((size_t)nodes, sizeof *free);

    memcpy(free, p->pool->units, (size_t)nodes * sizeof *free);
    for (int i = 0; i < p->active; i++) {
        const struct hps_pollux_job *j = &p->job[p->live[i]];
        for (int k = 0; k < j->npart; k++)
            free[j->part[k].node] -= j->part[k].gpus;
    }
    for (int i = 0; i < n; i++) {
        struct hps_pollux_job *j = &p->job[job[i]];
        if (j->gpus > 0) continue;
        while (j->gpus < gpus[i]) {
            int most = 0;
            for (int k = 1; k < nodes; k++)
                if (free[k] > free[most]) most = k;
            int take = free[most] < gpus[i] - j->gpus ? free[most] : gpus[i] - j->gpus;
            j->part[j->npart++] = (struct hps_pollux_part){ most, take };
            free[most] -= take;
            j->gpus += take;
        }
        j->moved = true;
    }
    hps_mem_free(free);
}

/* ---- time that passes ---- */

static void end_span(struct hps_pollux *p, int j, int gpus, double end_s)
{
    struct hps_pollux_job *job = &p->job[j];

    hps_outcomes_span(p->out, j, hps_pollux_config(job, gpus), job->since_s, end_s);
}

static double epoch_end(const struct hps_pollux_job *job)
{
    return job->epochs ? job->epochs->until[job->epoch] : 1;
}

/* A tick of a job that has GPUs: the restart, then epochs. True: it is done. */
static bool work(struct hps_pollux *p, int j)
{
    struct hps_pollux_job *job = &p->job[j];
    double left = TICK_S, stands = fmin(job->standing_s, left), now = p->now_s + stands;

    job->standing_s -= stands;
    left -= stands;
    while (left > 0) {
        double until = epoch_end(job);
        if (job->done + left / job->seconds < until) {
            job->done += left / job->seconds;
            return false;
        }
        double took = rint((until - job->done) * job->seconds);
        job->done = until;
        job->epoch++;
        now += took;
        left -= took;
        if (job->epoch < (job->epochs ? job->epochs->n : 1)) continue;
        end_span(p, j, job->gpus, now);
        p->out->job[j].end_s = now;
        return true;
    }
    return false;
}

static void work_all(struct hps_pollux *p)
{
    int kept = 0;

    for (int i = 0; i < p->active; i++) {
        int j = p->live[i];
        if (p->job[j].gpus == 0 || !work(p, j)) p->live[kept++] = j;
    }
    p->active = kept;
}

/* ---- decisions ---- */

/* What the decision means for a job that was moved. */
static void apply(struct hps_pollux *p, int j)
{
    struct hps_pollux_job *job = &p->job[j];
    struct hps_job_outcome *o = &p->out->job[j];

    if (job->had > 0) end_span(p, j, job->had, p->now_s);
    o->preempted += job->had > 0 && job->gpus == 0;
    o->resized += job->had > 0 && job->gpus > 0;
    if (job->gpus == 0) return;
    job->seconds = seconds_of(p, job);
    job->standing_s = p->restart_s;
    job->since_s = p->now_s;
    if (isnan(o->start_s))
        o->start_s = p->now_s;
    else
        o->restart_s += p->restart_s;
}

static void decide(struct hps_pollux *p, void (*policy)(struct hps_pollux *p))
{
    for (int i = 0; i < p->active; i++) {
        struct hps_pollux_job *job = &p->job[p->live[i]];
        job->had = job->gpus;
        job->moved = false;
    }
    policy(p);
    for (int i = 0; i < p->active; i++) {
        struct hps_pollux_job *job = &p->job[p->live[i]];
        if (job->moved && (job->had > 0 || job->gpus > 0)) apply(p, p->live[i]);
    }
}

static void go(struct hps_pollux *p, void (*policy)(struct hps_pollux *p))
{
    for (int come = 0; come < p->n || p->active > 0;) {
        work_all(p);
        p->now_s += TICK_S;
        while (come < p->n && p->job[come].job->arrive_s <= p->now_s)
            p->live[p->active++] = come++;
        if (p->active > 0) decide(p, policy);
    }
}

/* ---- jobs ---- */

/* How many GPUs it can use at most: up to the first number that its table lacks. */
static int max_of(const struct hps_pollux_job *job)
{
    int k = 0;

    while (hps_pollux_config(job, k + 1) >= 0)
        k++;
    return k;
}

static const struct hps_pollux_epochs *epochs_of(const struct hps_pollux *p, const char *model)
{
    for (size_t i = 0; p->facts && i < p->facts->nepochs; i++)
        if (strcmp(p->facts->epochs[i].model, model) == 0) return &p->facts->epochs[i];
    return NULL;
}

static enum hps_status begin(struct hps_pollux *p, const struct hps_workload *w)
{
    if (p->pool->T != 1) {
        HPS_SAY(HPS_ERROR, "policy %s is for one type of units", p->out->policy);
        return HPS_DECK;
    }
    for (int j = 0; j < w->n; j++) {
        struct hps_pollux_job *job = &p->job[j];
        job->job = &w->job[j];
        job->epochs = epochs_of(p, job->job->model);
        job->asked = hps_config_units(&job->job->config[job->job->asked]);
        job->max = max_of(job);
        job->part = hps_mem_new((size_t)p->pool->nnode, sizeof *job->part);
    }
    return HPS_OK;
}

enum hps_status hps_pollux_run(const struct hps_workload *w, const struct hps_job_pool *pool,
                               const struct hps_policy_facts *facts, struct hps_job_outcomes *o,
                               void (*policy)(struct hps_pollux *p), void *own)
{
    struct hps_pollux p = { .pool = pool, .facts = facts ? facts->pollux : NULL, .out = o,
                            .restart_s = RESTART_S, .n = w->n, .own = own };

    if (facts && !isnan(facts->restart_s)) p.restart_s = facts->restart_s;
    p.job = hps_mem_new((size_t)w->n, sizeof *p.job);
    p.live = hps_mem_new((size_t)w->n, sizeof *p.live);
    enum hps_status st = begin(&p, w);
    if (!st) go(&p, policy);
    for (int j = 0; j < w->n; j++)
        hps_mem_free(p.job[j].part);
    hps_mem_free(p.job);
    hps_mem_free(p.live);
    return st;
}
