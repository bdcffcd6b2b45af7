/* policy_optimus.c - all jobs begin with their smallest configuration, in the order of arrival;
 * then the job whose completion comes nearer the most by the share that it is given more grows
 * (Peng et al., EuroSys'18), over any configuration that it has, so that a hump in its speed does
 * not hold it up. */
#include "jobs/grow.h"
#include "jobs/policy.h"

static void decide(struct hps_job_view *view, const struct hps_policy_facts *facts,
                   struct hps_job_decision *d)
{
    hps_job_grow_all(&(struct hps_job_growth){ .worth = hps_job_marginal_gain, .view = view },
                     &facts->opt, d);
}

const struct hps_policy hps_policy_optimus = { .name = "optimus",
                                               .help = "the most gain of a larger share first",
                                               .decide = decide };
