/* policy_fifo.c - in the order of arrival, each job with what it asked for; one that does not fit
 * holds up those behind it. Nobody is stopped. */
#include "base/mem.h"
#include "jobs/policy.h"

static void decide(struct hps_job_view *view, const struct hps_policy_facts *facts,
                   struct hps_job_decision *d)
{
    double *key = hps_mem_new((size_t)view->n, sizeof *key);

    (void)facts;
    for (int i = 0; i < view->n; i++)
        key[i] = view->job[i].config < 0;       /* those that run come first */
    hps_job_give_asked(view, key, false, d);
    hps_mem_free(key);
}

const struct hps_policy hps_policy_fifo = { .name = "fifo",
                                            .help = "in the order of arrival",
                                            .decide = decide };
