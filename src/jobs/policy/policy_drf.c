/* policy_drf.c - dominant resource fairness (Ghodsi et al., NSDI'11): the job with the least
 * dominant share, by its priority, grows by its smallest step, until nothing fits. */
#include <math.h>

#include "jobs/grow.h"
#include "jobs/policy.h"

static double worth(const struct hps_job_growth *g, int job, int from, int to)
{
    const struct hps_pool_job *j = g->view->job[job].job;

    if (from >= 0 && j->config[to].seconds >= j->config[from].seconds) return NAN;
    return -hps_job_growth_share(g, job, from) / j->priority;
}

static void decide(struct hps_job_view *view, const struct hps_policy_facts *facts,
                   struct hps_job_decision *d)
{
    hps_job_grow_all(&(struct hps_job_growth){ .worth = worth, .view = view }, &facts->opt, d);
}

const struct hps_policy hps_policy_drf = { .name = "drf",
                                           .help = "the least dominant share first",
                                           .decide = decide };
