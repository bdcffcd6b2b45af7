/* settle.h - of what a policy would have, what is worth its restarts.
 *
 * A job that runs keeps its configuration for lease_s; then it is given a faster one only when its
 * completion comes nearer by more than three restarts, and a slower one, or none, only where the
 * units are for a job that starts, or for one that grows and gains more than three restarts for
 * each job that is restarted, the losses of those that shrink taken off. A job that waited for
 * rho_max times what it takes alone on its share of the pool, as one of all jobs present, starts
 * first and is not stopped. */
#ifndef HPS_JOBS_SETTLE_H
#define HPS_JOBS_SETTLE_H

#include "jobs/decide.h"
#include "jobs/policy_opt.h"

/* d->config: what the policy would have [in], which fits the pool; what is done [out], which does
 * too. d->wake_s comes nearer where a lease or a job's patience ends. Pure. */
void hps_job_settle(const struct hps_job_view *view, const struct hps_policy_opt *opt,
                    struct hps_job_decision *d);

/* The lease of a pool whose jobs start in restart_s. Pure. */
double hps_job_lease_s(const struct hps_policy_opt *opt, double restart_s);

#endif
