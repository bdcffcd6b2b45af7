/* bound_impl.h - what the searches for bounds share. */
#ifndef HPS_JOBS_BOUND_IMPL_H
#define HPS_JOBS_BOUND_IMPL_H

#include "jobs/bound.h"
#include "jobs/price_ascent.h"

/* The market of all jobs of a workload. */
struct hps_bound_market {
    struct hps_price_market m;
    double *units;
};
struct hps_bound_market hps_bound_market_of(const struct hps_job_bound *b,
                                            const struct hps_prices *p);
void hps_bound_market_done(struct hps_bound_market *k);
/* What the market's jobs lose at least, under these prices. Pure. */
double hps_bound_market_value(const struct hps_bound_market *k, const struct hps_prices *p);

/* The seconds that the least unit-seconds of all jobs would take on all units, and the longest that
 * a job takes alone at its best. Pure. */
double hps_bound_busy_seconds(const struct hps_job_bound *b);

/* b->prices and b->value of an objective whose jobs are due. Local. */
void hps_bound_due_find(struct hps_job_bound *b, double seconds);
/* The greatest value at which these prices prove that a job is late. Pure. */
double hps_bound_due_of(const struct hps_job_bound *b, const struct hps_prices *p);

#endif
