/* simulate.h - a pool and a policy over the jobs of a workload, event by event: none is run.
 *
 * Jobs are placed on nodes as place.h says; one that is moved pays a restart, and one that shares a
 * node with another is slower by what is known of the two, and by what both want of its link.
 *
 * A job that gets units works from `restart_s` seconds on at the speed of its configuration; when
 * it loses them, the share of its work that is done stays done. The policy is asked where a job
 * arrives or ends, and where it asked for itself. */
#ifndef HPS_JOBS_SIMULATE_H
#define HPS_JOBS_SIMULATE_H

#include "jobs/policy.h"

struct hps_simulation {
    const struct hps_workload *workload;
    const struct hps_job_pool *pool;
    const struct hps_policy *policy;
    const struct hps_policy_facts *facts;
    double restart_s;
    bool may_move;              /* jobs may be moved to make room in one piece (place.h)       */
    const struct hps_interference *beside;      /* NULL: jobs do not slow each other           */
    bool blind;                 /* they do, yet nobody who places them knows                   */
};

/* HPS_DECK, said: a job fits the pool in no configuration, or the policy is not for this workload;
 * HPS_FAIL: the policy gave away units that there are not. Local. */
enum hps_status hps_simulate(const struct hps_simulation *s, struct hps_job_outcomes **out);

#endif
