/* tiresias_dlas.c - discretised least attained service as Tiresias' simulator has it: three queues,
 * which jobs go down as they attain seconds (dlas) or seconds times GPUs (dlas-gpu); at each event
 * all GPUs are given away anew, queue after queue, and jobs that do not fit are passed over.
 *   dlas-gpu-1         one that has waited as long as it ran goes back to the first queue
 *   dlas-gpu-gittins   within a queue by Gittins' index, the highest first
 * Of its loop: when a job goes down is foreseen by (limit - seconds) / GPUs in whole numbers, which
 * is too early or too late; and where a submission and ends fall on one second and a job goes down
 * before it, the list of these ends stays with the submission: if no job ends by then, those on it
 * are ended although they may wait. */
#include <string.h>

#include "base/mem.h"
#include "jobs/authors/gittins_impl.h"
#include "jobs/authors/tiresias_impl.h"

enum { QUEUES = 3 };
static const long long limit[QUEUES - 1] = { 3250, 7200 };

struct dlas {
    struct hps_tiresias t;
    bool by_gpu;
    long long promote;          /* after so many times what it ran; 0: never             */
    const struct hps_gittins *gittins;  /* NULL: by arrival                              */
    struct hps_tiresias_list all, queue[QUEUES];
    long long end, jump;        /* when the first ends, goes down or up                  */
    struct hps_tiresias_list ends;      /* then                                          */
    struct hps_tiresias_list kept;      /* ends that stay with the next submission       */
    struct hps_tiresias_list waits;     /* scratch                                       */
};

static void finish(struct dlas *d, const struct hps_tiresias_list *ends, long long now)
{
    for (int i = 0; i < ends->n; i++) {
        int j = ends->job[i];
        hps_tiresias_finish(&d->t, j, now);
        hps_tiresias_remove(&d->all, j);
        hps_tiresias_remove(&d->queue[d->t.job[j].queue], j);
    }
}

static void submit(struct dlas *d, long long now)
{
    while (hps_tiresias_next_submit(&d->t) == now) {
        d->t.job[d->t.next].checked = now;
        hps_tiresias_append(&d->all, d->t.next);
        hps_tiresias_append(&d->queue[0], d->t.next++);
    }
}

/* What happens next is done; which time it is. */
static long long happen(struct dlas *d)
{
    long long submits = hps_tiresias_next_submit(&d->t);
    bool ends = d->end < submits, both = d->end == submits;
    long long now = ends ? d->end : submits;

    if (both) {
        memcpy(d->kept.job, d->ends.job, (size_t)d->ends.n * sizeof *d->kept.job);
        d->kept.n = d->ends.n;
    }
    if (now > d->jump) return d->jump;
    if (ends) {
        finish(d, &d->ends, now);
        return now;
    }
    finish(d, &d->kept, now);
    d->kept.n = 0;
    submit(d, now);
    return now;
}

static void move(struct dlas *d, int j, int queue)
{
    hps_tiresias_append(&d->queue[queue], j);
    hps_tiresias_remove(&d->queue[d->t.job[j].queue], j);
    d->t.job[j].queue = queue;
}

static long long attained(const struct dlas *d, const struct hps_tiresias_job *job)
{
    return d->by_gpu ? job->credit * job->gpus : job->credit;
}

/* Can it be promoted one day? */
static bool may_rise(const struct dlas *d, const struct hps_tiresias_job *job)
{
    return d->promote > 0 && job->queue > 0 && job->executed > 0 && job->credit > 0;
}

static void update_one(struct dlas *d, int j, long long now)
{
    struct hps_tiresias_job *job = &d->t.job[j];
    long long passed = now - job->checked;

    job->checked = now;
    if (job->runs) {
        job->executed += passed;
        job->credit += passed;
        if (job->queue < QUEUES - 1 && attained(d, job) >= limit[job->queue])
            move(d, j, job->queue + 1);
    } else {
        if (job->credit > 0) job->pending += passed;
        if (may_rise(d, job) && job->pending >= job->credit * d->promote) {
            job->credit = job->pending = 0;
            move(d, j, 0);
        }
    }
    if (d->gittins) job->rank = hps_gittins_rank(d->gittins, (double)attained(d, job));
}

/* Stable, the highest rank first, then the one that was submitted first. */
static void sort_by_rank(const struct dlas *d, struct hps_tiresias_list *q)
{
    for (int i = 1; i < q->n; i++) {
        int j = q->job[i], k = i;
        const struct hps_tiresias_job *mine = &d->t.job[j];
        for (; k > 0; k--) {
            const struct hps_tiresias_job *other = &d->t.job[q->job[k - 1]];
            if (other->rank > mine->rank ||
                (other->rank == mine->rank && other->submit <= mine->submit))
                break;
        }
        memmove(&q->job[k + 1], &q->job[k], (size_t)(i - k) * sizeof *q->job);
        q->job[k] = j;
    }
}

static void give(struct dlas *d, long long now)
{
    int left = d->t.gpus;

    for (int k = 0; k < QUEUES; k++) {
        if (d->gittins) sort_by_rank(d, &d->queue[k]);
        for (int i = 0; i < d->queue[k].n; i++) {
            int j = d->queue[k].job[i];
            bool fits = d->t.job[j].gpus <= left;
            left -= fits ? d->t.job[j].gpus : 0;
            if (fits && !d->t.job[j].runs) hps_tiresias_start(&d->t, j, now);
            if (!fits && d->t.job[j].runs) hps_tiresias_preempt(&d->t, j, now);
        }
    }
}

/* In each queue those that wait go behind those that run. */
static void put_waiting_last(struct dlas *d)
{
    for (struct hps_tiresias_list *q = d->queue; q < d->queue + QUEUES; q++) {
        int run = 0;
        d->waits.n = 0;
        for (int i = 0; i < q->n; i++)
            if (d->t.job[q->job[i]].runs)
                q->job[run++] = q->job[i];
            else
                hps_tiresias_append(&d->waits, q->job[i]);
        memcpy(q->job + run, d->waits.job, (size_t)d->waits.n * sizeof *q->job);
    }
}

/* When a job goes down or up, as far as that is foreseen now. */
static long long next_jump(const struct dlas *d, long long now)
{
    long long next = HPS_TIRESIAS_NEVER;

    for (int i = 0; i < d->all.n; i++) {
        const struct hps_tiresias_job *job = &d->t.job[d->all.job[i]];
        long long wait = HPS_TIRESIAS_NEVER;
        if (job->runs && job->queue < QUEUES - 1) {
            wait = limit[job->queue] - job->credit;
            if (d->by_gpu) wait = wait / job->gpus - (wait < 0 && wait % job->gpus != 0);
        } else if (!job->runs && may_rise(d, job)) {
            long long rise = job->credit * d->promote - job->pending;
            if (rise > 0) wait = rise;
        }
        if (wait != HPS_TIRESIAS_NEVER && now + wait < next) next = now + wait;
    }
    return next;
}

static void go(struct dlas *d)
{
    d->end = d->jump = HPS_TIRESIAS_NEVER;
    while (d->end != HPS_TIRESIAS_NEVER ||
           hps_tiresias_next_submit(&d->t) != HPS_TIRESIAS_NEVER) {
        long long now = happen(d);
        for (int i = 0; i < d->all.n; i++)
            update_one(d, d->all.job[i], now);
        give(d, now);
        put_waiting_last(d);
        d->end = hps_tiresias_ends(&d->t, &d->all, now, &d->ends);
        d->jump = next_jump(d, now);
    }
}

static enum hps_status run(struct dlas *d, const struct hps_workload *w,
                           const struct hps_job_pool *pool, const struct hps_policy_facts *facts,
                           struct hps_job_outcomes *o)
{
    struct hps_tiresias_list *lists[] = { &d->all,  &d->queue[0], &d->queue[1], &d->queue[2],
                                          &d->ends, &d->kept,     &d->waits };
    const size_t nlist = sizeof lists / sizeof *lists;
    enum hps_status st = hps_tiresias_begin(&d->t, w, pool, facts, o);

    if (st) return st;
    for (size_t i = 0; i < nlist; i++)
        lists[i]->job = hps_mem_new((size_t)w->n, sizeof *lists[i]->job);
    go(d);
    for (size_t i = 0; i < nlist; i++)
        hps_mem_free(lists[i]->job);
    hps_tiresias_end(&d->t);
    return HPS_OK;
}

static enum hps_status dlas(const struct hps_workload *w, const struct hps_job_pool *pool,
                            const struct hps_policy_facts *facts, struct hps_job_outcomes *o)
{
    return run(&(struct dlas){ .by_gpu = false }, w, pool, facts, o);
}

static enum hps_status dlas_gpu(const struct hps_workload *w, const struct hps_job_pool *pool,
                                const struct hps_policy_facts *facts, struct hps_job_outcomes *o)
{
    return run(&(struct dlas){ .by_gpu = true }, w, pool, facts, o);
}

static enum hps_status dlas_gpu_1(const struct hps_workload *w, const struct hps_job_pool *pool,
                                  const struct hps_policy_facts *facts,
                                  struct hps_job_outcomes *o)
{
    return run(&(struct dlas){ .by_gpu = true, .promote = 1 }, w, pool, facts, o);
}

static enum hps_status dlas_gpu_gittins(const struct hps_workload *w,
                                        const struct hps_job_pool *pool,
                                        const struct hps_policy_facts *facts,
                                        struct hps_job_outcomes *o)
{
    struct hps_gittins *gittins;
    enum hps_status st = hps_gittins_new(&gittins, o->policy, facts);

    if (!st) st = run(&(struct dlas){ .by_gpu = true, .gittins = gittins }, w, pool, facts, o);
    hps_gittins_free(gittins);
    return st;
}

const struct hps_policy hps_tiresias_dlas = { .name = "tiresias.dlas", .simulate = dlas,
                                              .help = "as they simulate queues by seconds" };
const struct hps_policy hps_tiresias_dlas_gpu = { .name = "tiresias.dlas-gpu",
                                                  .simulate = dlas_gpu,
                                                  .help = "queues by seconds times GPUs" };
const struct hps_policy hps_tiresias_dlas_gpu_1 = { .name = "tiresias.dlas-gpu-1",
                                                    .simulate = dlas_gpu_1,
                                                    .help = "the same with promotion" };
const struct hps_policy hps_tiresias_dlas_gpu_gittins = {
    .name = "tiresias.dlas-gpu-gittins", .simulate = dlas_gpu_gittins,
    .help = "the same by Gittins' index in each queue"
};
