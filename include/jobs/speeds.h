/* speeds.h - how fast the jobs of a list are: each job's configurations on a pool, from the profile
 * of its network, corrected by what was measured, for the steps that are left.
 *
 * A job's profile is the first of: the one that its deck names (schedule.profile); that of its run
 * in the pool's directory, or of its deck's own run, where that run was of the same network, data
 * and training; that which was measured for this pool before, once for all such jobs
 * (DIRECTORY/profiles/). Without any, the job's speed is fitted to what runs of such jobs measured
 * (jobs/fit.h): those of the list in the pool's directory, and their decks' own. Without those, its
 * profile is measured now. Such runs also correct what a profile promises (jobs/correction.h). */
#ifndef HPS_JOBS_SPEEDS_H
#define HPS_JOBS_SPEEDS_H

#include <stdbool.h>

#include "jobs/job_pool.h"
#include "jobs/list.h"
#include "jobs/workload.h"

struct hps_speeds_opt {
    const struct hps_job_list *list;
    bool measure;               /* a job without profile is measured, by a child, which is said */
};

/* The list's jobs as a workload, without those whose run has finished. *pool is given, or NULL:
 * then it is that of the list's sections types and nodes, or of the profiles. A job whose deck
 * cannot be read, that has no profile, or that fits the pool in no configuration: HPS_DECK or the
 * child's status, said, with its name. Local. */
enum hps_status hps_speeds_workload(struct hps_workload **w, struct hps_job_pool **pool,
                                    const struct hps_speeds_opt *opt);

#endif
