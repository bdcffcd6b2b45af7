/* dl2.h - a policy that learns (DL2, Peng et al., TPDS'21): a network gives units job by job, the
 * next larger configuration at each step, until it says that it is enough. It first learns what
 * dominant resource fairness does, then by what comes of its own choices and of injected good ones
 * (actor and critic, with replay). */
#ifndef HPS_JOBS_DL2_H
#define HPS_JOBS_DL2_H

#include "jobs/policy.h"

/* Learns on episodes of jobs that are drawn from those of w, with gaps between arrivals that
 * are drawn from theirs; as many as facts->opt says, the same for the same seed. Caller frees.
 * Local. */
struct hps_dl2 *hps_dl2_learn(const struct hps_workload *w, const struct hps_job_pool *pool,
                              double restart_s, const struct hps_policy_facts *facts);
void hps_dl2_free(struct hps_dl2 *dl2); /* NULL is fine */

/* By what was learned; facts->dl2 is set. A policy's decide. */
void hps_dl2_decide(struct hps_job_view *view, const struct hps_policy_facts *facts,
                    struct hps_job_decision *d);

#endif
