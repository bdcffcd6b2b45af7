/* jobs_made.h - workloads for tests of policies. */
#ifndef HPS_TESTS_JOBS_MADE_H
#define HPS_TESTS_JOBS_MADE_H

#include <stdint.h>

#include "jobs/simulate.h"

/* T types "a", "b", ... with so many units each, on one node. */
struct hps_job_pool *made_pool(int T, const int *units);
/* Job i of w: configurations of 1..nconfig units of type 0, of `seconds` (nconfig) each. */
void made_job(struct hps_workload *w, int i, double arrive_s, int nconfig, const double *seconds);
/* A job of one configuration: `units` of type 0 for so many seconds. */
void made_rigid(struct hps_workload *w, int i, double arrive_s, int units, double seconds);

/* Drawn from the key: up to 3 types of up to 8 units, up to `jobs` jobs of up to 5 configurations
 * of up to 2 types, all of which fit; some arrive together, some have deadlines. `asked` fits. */
struct made_case {
    struct hps_job_pool *pool;
    struct hps_workload *workload;
};
struct made_case made_case(uint64_t key, int jobs);
void made_case_free(struct made_case *c);

/* The outcome of a policy, which must be one. Caller frees. */
struct hps_job_outcomes *made_run(const struct hps_workload *w, const struct hps_job_pool *pool,
                                  const struct hps_policy *policy,
                                  const struct hps_policy_facts *facts, double restart_s);
/* The same, freed: the mean completion time. */
double made_mean_jct(const struct hps_workload *w, const struct hps_job_pool *pool,
                     const char *policy, const struct hps_policy_facts *facts);

#endif
