/* tiresias.c - jobs and lists of Tiresias' own simulator. */
#include "jobs/authors/tiresias_impl.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/say.h"

static bool is_whole(double x)
{
    return x == floor(x) && fabs(x) < 1e15;
}

enum hps_status hps_tiresias_begin(struct hps_tiresias *t, const struct hps_workload *w,
                                   const struct hps_job_pool *pool,
                                   const struct hps_policy_facts *facts,
                                   struct hps_job_outcomes *out)
{
    *t = (struct hps_tiresias){ .n = w->n, .gpus = hps_job_pool_units(pool), .out = out,
                                .facts = facts };
    t->job = hps_mem_new((size_t)w->n, sizeof *t->job);
    for (int j = 0; j < w->n; j++) {
        const struct hps_pool_job *job = &w->job[j];
        const struct hps_job_config *c = &job->config[job->asked];
        if (!is_whole(job->arrive_s) || !is_whole(c->seconds) || pool->T != 1) {
            HPS_SAY(HPS_ERROR, "policy %s is for whole seconds and one type of units: job '%s' has "
                    "others", out->policy, job->name);
            hps_tiresias_end(t);
            return HPS_DECK;
        }
        t->job[j] = (struct hps_tiresias_job){
            .submit = (long long)job->arrive_s, .duration = (long long)c->seconds,
            .start = HPS_TIRESIAS_NEVER, .end = HPS_TIRESIAS_NEVER, .gpus = hps_config_units(c),
        };
    }
    return HPS_OK;
}

void hps_tiresias_end(struct hps_tiresias *t)
{
    for (int j = 0; j < t->n && t->out; j++)
        if (t->job[j].end != HPS_TIRESIAS_NEVER) t->out->job[j].end_s = (double)t->job[j].end;
    hps_mem_free(t->job);
    t->job = NULL;
}

void hps_tiresias_start(struct hps_tiresias *t, int j, long long now)
{
    struct hps_tiresias_job *job = &t->job[j];

    if (job->start == HPS_TIRESIAS_NEVER) {
        job->start = now;
        t->out->job[j].start_s = (double)now;
    }
    job->runs = true;
    job->span_begin = now;
}

static void stop(struct hps_tiresias *t, int j, long long now)
{
    struct hps_tiresias_job *job = &t->job[j];

    if (job->runs)
        hps_outcomes_span(t->out, j, t->out->workload->job[j].asked, (double)job->span_begin,
                          (double)now);
    job->runs = false;
}

void hps_tiresias_preempt(struct hps_tiresias *t, int j, long long now)
{
    stop(t, j, now);
    t->out->job[j].preempted++;
}

void hps_tiresias_finish(struct hps_tiresias *t, int j, long long now)
{
    stop(t, j, now);
    t->job[j].end = now;
}

long long hps_tiresias_next_submit(const struct hps_tiresias *t)
{
    return t->next < t->n ? t->job[t->next].submit : HPS_TIRESIAS_NEVER;
}

/* ---- lists ---- */

void hps_tiresias_append(struct hps_tiresias_list *list, int job)
{
    list->job[list->n++] = job;
}

bool hps_tiresias_remove(struct hps_tiresias_list *list, int job)
{
    for (int i = 0; i < list->n; i++) {
        if (list->job[i] != job) continue;
        memmove(&list->job[i], &list->job[i + 1], (size_t)(list->n - i - 1) * sizeof *list->job);
        list->n--;
        return true;
    }
    return false;
}

long long hps_tiresias_ends(const struct hps_tiresias *t, const struct hps_tiresias_list *jobs,
                            long long now, struct hps_tiresias_list *first)
{
    long long at = HPS_TIRESIAS_NEVER;

    first->n = 0;
    for (int i = 0; i < jobs->n; i++) {
        const struct hps_tiresias_job *job = &t->job[jobs->job[i]];
        long long end = now + job->duration - job->executed;
        if (!job->runs || end > at) continue;
        if (end < at) first->n = 0;
        at = end;
        hps_tiresias_append(first, jobs->job[i]);
    }
    return at;
}
