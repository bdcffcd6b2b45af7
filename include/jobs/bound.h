/* bound.h - no schedule is better: a lower bound on the objective of a workload (jobs/objective.h),
 * whoever decides, though he knew all that is to come, and the prices that prove it.
 *
 * Any prices give a bound (jobs/price.h); the search raises it. Of the mean completion time it is
 * the market's own. Of the makespan and of rho it is the least value at which prices do not prove
 * that some job ends after it is due: that by them the sum of what all are late is above 0. A job
 * makes no progress before `restart_s` seconds after its arrival; later starts are free. With the
 * prices, the jobs and their configurations the bound can be computed anew in one pass. */
#ifndef HPS_JOBS_BOUND_H
#define HPS_JOBS_BOUND_H

#include "jobs/objective.h"
#include "jobs/price.h"

struct json_t;

struct hps_job_bound {
    const struct hps_workload *workload;        /* borrowed, as is the pool             */
    const struct hps_job_pool *pool;
    enum hps_objective objective;
    double restart_s;
    double value;               /* of no schedule is the objective less                 */
    struct hps_prices *prices;
};

/* Searches for so many seconds. Local. */
struct hps_job_bound *hps_bound_find(const struct hps_workload *w, const struct hps_job_pool *pool,
                                     enum hps_objective objective, double restart_s,
                                     double seconds);
void hps_bound_free(struct hps_job_bound *b); /* NULL is fine */
/* The bound under these prices. Pure. */
double hps_bound_of(const struct hps_job_bound *b, const struct hps_prices *prices);

/* Beside an outcome: a line on standard output; "lower_bound", "gap" and "certificate" of its
 * object. */
void hps_bound_print(const struct hps_job_bound *b, const struct hps_job_outcomes *o);
void hps_bound_add(const struct hps_job_bound *b, const struct hps_job_outcomes *o,
                   struct json_t *tree);

#endif
