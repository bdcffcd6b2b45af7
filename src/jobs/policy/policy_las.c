/* policy_las.c - the job that had the least unit-seconds so far first, in what it asked for. Looked
 * at again every quantum_seconds while others wait. */
#include "base/mem.h"
#include "jobs/policy.h"

static void decide(struct hps_job_view *view, const struct hps_policy_facts *facts,
                   struct hps_job_decision *d)
{
    double *key = hps_mem_new((size_t)view->n, sizeof *key);

    for (int i = 0; i < view->n; i++)
        key[i] = view->job[i].unit_s / view->job[i].job->priority;
    hps_job_give_asked(view, key, true, d);
    for (int i = 0; i < view->n; i++)
        if (d->config[i] < 0) d->wake_s = view->now_s + facts->opt.quantum_s;
    hps_mem_free(key);
}

const struct hps_policy hps_policy_las = { .name = "las",
                                           .help = "the least unit-seconds so far first",
                                           .decide = decide };
