/* tiresias_queue.c - Tiresias' simulator without preemption: one queue of jobs that wait.
 *   fifo   the first that does not fit holds up the others
 *   fjf    it is passed over
 *   lpjf   as fifo, but its loop takes jobs out of the list that it walks along, and so passes over
 *          the one behind each job that it starts
 * A job of no duration never ends: its end comes to an event that is over. */
#include "base/mem.h"
#include "jobs/authors/tiresias_impl.h"

enum order { FIFO, FIT_FIRST, LONGEST_PENDING };

struct queue {
    struct hps_tiresias t;
    int free;
    struct hps_tiresias_list waiting, running;
};

static bool start(struct queue *q, int job, long long now)
{
    if (q->t.job[job].gpus > q->free) return false;
    q->free -= q->t.job[job].gpus;
    hps_tiresias_start(&q->t, job, now);
    if (q->t.job[job].duration > 0) hps_tiresias_append(&q->running, job);
    return true;
}

static void start_those_that_fit(struct queue *q, enum order order, long long now)
{
    for (int i = 0; i < q->waiting.n;) {
        int job = q->waiting.job[i];
        bool started = start(q, job, now);
        if (started) hps_tiresias_remove(&q->waiting, job);
        if (!started && order != FIT_FIRST) break;
        i += started ? order == LONGEST_PENDING : 1;
    }
}

static long long end_of(const struct queue *q, int job)
{
    return q->t.job[job].start + q->t.job[job].duration;
}

static long long next_end(const struct queue *q)
{
    long long at = HPS_TIRESIAS_NEVER;

    for (int i = 0; i < q->running.n; i++)
        if (end_of(q, q->running.job[i]) < at) at = end_of(q, q->running.job[i]);
    return at;
}

static void end_those(struct queue *q, long long now)
{
    for (int i = 0; i < q->running.n;) {
        int job = q->running.job[i];
        if (end_of(q, job) != now) {
            i++;
            continue;
        }
        q->free += q->t.job[job].gpus;
        hps_tiresias_finish(&q->t, job, now);
        hps_tiresias_remove(&q->running, job);
    }
}

static enum hps_status run(enum order order, const struct hps_workload *w,
                           const struct hps_job_pool *pool, const struct hps_policy_facts *facts,
                           struct hps_job_outcomes *o)
{
    struct queue q = { .free = hps_job_pool_units(pool) };
    enum hps_status st = hps_tiresias_begin(&q.t, w, pool, facts, o);

    if (st) return st;
    q.waiting.job = hps_mem_new((size_t)w->n, sizeof *q.waiting.job);
    q.running.job = hps_mem_new((size_t)w->n, sizeof *q.running.job);
    for (;;) {
        long long submit = hps_tiresias_next_submit(&q.t), end = next_end(&q);
        long long now = submit < end ? submit : end;
        if (now == HPS_TIRESIAS_NEVER) break;
        end_those(&q, now);
        while (hps_tiresias_next_submit(&q.t) == now)
            hps_tiresias_append(&q.waiting, q.t.next++);
        start_those_that_fit(&q, order, now);
    }
    hps_mem_free(q.waiting.job);
    hps_mem_free(q.running.job);
    hps_tiresias_end(&q.t);
    return HPS_OK;
}

static enum hps_status fifo(const struct hps_workload *w, const struct hps_job_pool *pool,
                            const struct hps_policy_facts *facts, struct hps_job_outcomes *o)
{
    return run(FIFO, w, pool, facts, o);
}

static enum hps_status fjf(const struct hps_workload *w, const struct hps_job_pool *pool,
                           const struct hps_policy_facts *facts, struct hps_job_outcomes *o)
{
    return run(FIT_FIRST, w, pool, facts, o);
}

static enum hps_status lpjf(const struct hps_workload *w, const struct hps_job_pool *pool,
                            const struct hps_policy_facts *facts, struct hps_job_outcomes *o)
{
    return run(LONGEST_PENDING, w, pool, facts, o);
}

const struct hps_policy hps_tiresias_fifo = { .name = "tiresias.fifo", .simulate = fifo,
                                              .help = "as Tiresias' authors simulate fifo" };
const struct hps_policy hps_tiresias_fjf = { .name = "tiresias.fjf", .simulate = fjf,
                                             .help = "as they simulate fit job first" };
const struct hps_policy hps_tiresias_lpjf = { .name = "tiresias.lpjf", .simulate = lpjf,
                                              .help = "as they simulate longest pending first" };
