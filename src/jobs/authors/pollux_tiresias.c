/* pollux_tiresias.c - Tiresias as Pollux' authors simulate it: two queues, which jobs go down when
 * their seconds times GPUs reach 16 hours, by arrival in each; every tick all GPUs are given away
 * anew, and jobs that do not fit are passed over. A job that stays keeps its GPUs. */
#include "base/mem.h"
#include "jobs/authors/pollux_impl.h"

#define LIMIT_S (3600.0 * 16)

enum { SECONDS, LOW };          /* notes: seconds with GPUs; its place in the low queue, or 0 */

/* The two queues of one decision, the low one behind the high one. */
struct queue {
    int demoted;                /* so many ever were             */
    int *job, *gpus;            /* (active)                      */
};

static void demote(struct hps_pollux *p, struct queue *q)
{
    for (int i = 0; i < p->active; i++) {
        struct hps_pollux_job *job = &p->job[p->live[i]];
        if (job->had > 0) job->note[SECONDS] += 60;
        if (job->note[LOW] == 0 && job->had > 0 && job->note[SECONDS] * job->asked >= LIMIT_S)
            job->note[LOW] = ++q->demoted;
    }
}

/* Both queues as one list: by arrival, then by when they went down. */
static void list(const struct hps_pollux *p, struct queue *q)
{
    int n = 0, high;

    for (int i = 0; i < p->active; i++)
        if (p->job[p->live[i]].note[LOW] == 0) q->job[n++] = p->live[i];
    high = n;
    for (int i = 0; i < p->active; i++) {
        int k = n, j = p->live[i];
        if (p->job[j].note[LOW] == 0) continue;
        for (; k > high && p->job[q->job[k - 1]].note[LOW] > p->job[j].note[LOW]; k--)
            q->job[k] = q->job[k - 1];
        q->job[k] = j;
        n++;
    }
}

static void decide(struct hps_pollux *p)
{
    struct queue *q = p->own;
    int left = hps_job_pool_units(p->pool);

    demote(p, q);
    list(p, q);
    for (int i = 0; i < p->active; i++) {
        struct hps_pollux_job *job = &p->job[q->job[i]];
        q->gpus[i] = job->asked <= left ? job->asked : 0;
        left -= q->gpus[i];
        if (q->gpus[i] == 0 && job->gpus > 0) hps_pollux_release(job);
    }
    hps_pollux_place(p, q->job, q->gpus, p->active);
}

static enum hps_status simulate(const struct hps_workload *w, const struct hps_job_pool *pool,
                                const struct hps_policy_facts *facts, struct hps_job_outcomes *o)
{
    struct queue q = { 0, hps_mem_new((size_t)w->n, sizeof *q.job),
                       hps_mem_new((size_t)w->n, sizeof *q.gpus) };
    enum hps_status st = hps_pollux_run(w, pool, facts, o, decide, &q);

    hps_mem_free(q.job);
    hps_mem_free(q.gpus);
    return st;
}

const struct hps_policy hps_pollux_tiresias = { .name = "pollux.tiresias", .simulate = simulate,
                                                .help = "as Pollux' authors simulate Tiresias" };
