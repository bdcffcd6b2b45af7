/* fit.h - configurations of a job without profile, from what runs of such a job measured: Optimus'
 * speed model (jobs/nnls.h), one for each type of units.
 *
 * Only runs on units of one type say how their number matters. A run on several types says how long
 * that configuration takes, and no more. Nothing is known of memory: a job is taken to fit on fewer
 * units than it ran on. */
#ifndef HPS_JOBS_FIT_H
#define HPS_JOBS_FIT_H

#include "jobs/job_pool.h"
#include "jobs/workload.h"

/* From n measured configurations of the pool: 1, 2, 4, ... units of each type that was measured
 * alone, and all of it, `max` (>= 1) at most; and all those that were measured and that fit the
 * pool. The fewest units first, distinct. Returns how many; *config to free with hps_mem_free.
 * Pure. */
int hps_fit_configs(struct hps_job_config **config, int n, const struct hps_job_config *measured,
                    const struct hps_job_pool *pool, int max);

#endif
