/* policy_srtf.c - the job with the least seconds left first, in what it asked for; others stop. */
#include "base/mem.h"
#include "jobs/policy.h"

static void decide(struct hps_job_view *view, const struct hps_policy_facts *facts,
                   struct hps_job_decision *d)
{
    double *key = hps_mem_new((size_t)view->n, sizeof *key);

    (void)facts;
    for (int i = 0; i < view->n; i++) {
        const struct hps_pool_job *job = view->job[i].job;
        key[i] = view->job[i].left * job->config[job->asked].seconds;
    }
    hps_job_give_asked(view, key, true, d);
    hps_mem_free(key);
}

const struct hps_policy hps_policy_srtf = { .name = "srtf",
                                            .help = "the least seconds left first",
                                            .decide = decide };
