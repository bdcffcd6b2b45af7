/* configs.h - in which configurations of a pool a job can run, and how long it takes in each: the
 * planner's fastest plan on that part of the pool, as the replay of its steps promises it.
 *
 * Parts are 1, 2, 4, ... units of a type, and all of it, alone and with as many of one other type;
 * of several workers, so many each; of more than six types, only such pairs as are as many
 * doublings from one unit. A part on which no plan fits the memory gives none. */
#ifndef HPS_JOBS_CONFIGS_H
#define HPS_JOBS_CONFIGS_H

#include <stdbool.h>

#include "jobs/job_pool.h"
#include "jobs/workload.h"
#include "plan/profile.h"

/* What the pool has of the types of a profile. */
struct hps_config_part_of {
    int type;                   /* the pool's; -1: it has none                           */
    long long max;              /* units of it that a job can use at most                */
};

/* Which types of the pool are those of the profile: by name; the one type of a pool without names
 * of nodes (16x4) is the one type of a profile that has one. max is the least of the pool's units,
 * the rows of a micro-batch, and `limit` (p->T; 0: none; NULL: none at all). `part` (p->T) [out].
 * False: the pool has none of them. Pure. */
bool hps_configs_parts(struct hps_config_part_of *part, const struct hps_profile *p,
                       const struct hps_job_pool *pool, const long long *limit);

/* All configurations, of distinct units each, the fewest units first; their seconds are of a run of
 * p->epochs. Returns how many; *config to free with hps_mem_free. Pure, but that a plan is searched
 * for at most a second each. */
int hps_configs_of(struct hps_job_config **config, const struct hps_profile *p,
                   const struct hps_config_part_of *part);

/* Of n configurations keep those of min to max units that no other one beats, with no more units of
 * any type and no more seconds. Returns how many are kept, in their order. Pure. */
int hps_configs_choose(int n, struct hps_job_config *config, int min, int max);

/* What a user would ask for: the fastest configuration that has at least half of the most work for
 * a unit-second. Pure. */
int hps_configs_asked(int n, const struct hps_job_config *config);

#endif
