/* tiresias_shortest.c - Tiresias' simulator with preemption by size: at each event all GPUs are
 * given away anew, in the order of
 *   sjf            GPUs
 *   shortest       seconds left
 *   shortest-gpu   seconds left times GPUs, as of when the job last ran
 * and jobs that do not fit are passed over. Equal ones keep the order that they had before. */
#include <string.h>

#include "base/mem.h"
#include "jobs/authors/tiresias_impl.h"

enum key { GPUS, LEFT, LEFT_GPU };

static long long key_of(const struct hps_tiresias_job *job, enum key key)
{
    return key == GPUS ? job->gpus : key == LEFT ? job->left : job->left_gpu;
}

/* Stable. */
static void sort(const struct hps_tiresias *t, struct hps_tiresias_list *list, enum key key)
{
    for (int i = 1; i < list->n; i++) {
        int job = list->job[i], k = i;
        long long mine = key_of(&t->job[job], key);
        while (k > 0 && key_of(&t->job[list->job[k - 1]], key) > mine)
            k--;
        memmove(&list->job[k + 1], &list->job[k], (size_t)(i - k) * sizeof *list->job);
        list->job[k] = job;
    }
}

static void submit(struct hps_tiresias *t, struct hps_tiresias_list *list, long long now)
{
    while (hps_tiresias_next_submit(t) == now) {
        struct hps_tiresias_job *job = &t->job[t->next];
        job->checked = now;
        job->left = job->duration;
        job->left_gpu = job->duration * job->gpus;
        hps_tiresias_append(list, t->next++);
    }
}

static void update(struct hps_tiresias *t, const struct hps_tiresias_list *list, long long now)
{
    for (int i = 0; i < list->n; i++) {
        struct hps_tiresias_job *job = &t->job[list->job[i]];
        if (job->runs) {
            job->executed += now - job->checked;
            job->left = job->duration - job->executed;
            job->left_gpu = job->left * job->gpus;
        }
        job->checked = now;
    }
}

static void give(struct hps_tiresias *t, const struct hps_tiresias_list *list, long long now)
{
    int left = t->gpus;

    for (int i = 0; i < list->n; i++) {
        int j = list->job[i];
        bool fits = t->job[j].gpus <= left;
        left -= fits ? t->job[j].gpus : 0;
        if (fits && !t->job[j].runs) hps_tiresias_start(t, j, now);
        if (!fits && t->job[j].runs) hps_tiresias_preempt(t, j, now);
    }
}

static enum hps_status run(enum key key, const struct hps_workload *w,
                           const struct hps_job_pool *pool, const struct hps_policy_facts *facts,
                           struct hps_job_outcomes *o)
{
    struct hps_tiresias t;
    enum hps_status st = hps_tiresias_begin(&t, w, pool, facts, o);

    if (st) return st;
    struct hps_tiresias_list all = { 0, hps_mem_new((size_t)w->n, sizeof *all.job) };
    struct hps_tiresias_list ends = { 0, hps_mem_new((size_t)w->n, sizeof *ends.job) };
    for (long long now = 0;;) {
        long long end = hps_tiresias_ends(&t, &all, now, &ends);
        long long next = hps_tiresias_next_submit(&t);
        if (end == HPS_TIRESIAS_NEVER && next == HPS_TIRESIAS_NEVER) break;
        now = end < next ? end : next;
        for (int i = 0; i < ends.n && end == now; i++) {
            hps_tiresias_finish(&t, ends.job[i], now);
            hps_tiresias_remove(&all, ends.job[i]);
        }
        submit(&t, &all, now);
        update(&t, &all, now);
        sort(&t, &all, key);
        give(&t, &all, now);
    }
    hps_mem_free(all.job);
    hps_mem_free(ends.job);
    hps_tiresias_end(&t);
    return HPS_OK;
}

static enum hps_status sjf(const struct hps_workload *w, const struct hps_job_pool *pool,
                           const struct hps_policy_facts *facts, struct hps_job_outcomes *o)
{
    return run(GPUS, w, pool, facts, o);
}

static enum hps_status shortest(const struct hps_workload *w, const struct hps_job_pool *pool,
                                const struct hps_policy_facts *facts, struct hps_job_outcomes *o)
{
    return run(LEFT, w, pool, facts, o);
}

static enum hps_status shortest_gpu(const struct hps_workload *w, const struct hps_job_pool *pool,
                                    const struct hps_policy_facts *facts,
                                    struct hps_job_outcomes *o)
{
    return run(LEFT_GPU, w, pool, facts, o);
}

const struct hps_policy hps_tiresias_sjf = { .name = "tiresias.sjf", .simulate = sjf,
                                             .help = "as they simulate smallest job first" };
const struct hps_policy hps_tiresias_shortest = { .name = "tiresias.shortest",
                                                  .simulate = shortest,
                                                  .help = "as they simulate shortest first" };
const struct hps_policy hps_tiresias_shortest_gpu = {
    .name = "tiresias.shortest-gpu", .simulate = shortest_gpu,
    .help = "as they simulate the least seconds times GPUs first"
};
