/* grow.h - jobs grow from configuration to configuration, the step that is worth the most first:
 * what greedy policies share. */
#ifndef HPS_JOBS_GROW_H
#define HPS_JOBS_GROW_H

#include "jobs/decide.h"
#include "jobs/policy_opt.h"

/* What it is worth when a job goes from one configuration (-1: none) to another, with a larger
 * dominant share; NAN: that is no step. Of equal steps of a job the smallest is taken, then the
 * fastest; of equal steps of two jobs that of the one that arrived first. As units are taken
 * away, no step may become worth more. */
struct hps_job_growth {
    double (*worth)(const struct hps_job_growth *g, int job, int from, int to);
    const struct hps_job_view *view;
    const double *key;          /* (n) of the policy's own, or NULL */
};

/* From d->config on, while there is room. Pure. */
void hps_job_grow(const struct hps_job_growth *g, struct hps_job_room *room,
                  struct hps_job_decision *d);

/* From nothing on, with the whole pool; then what of that is worth its restarts (jobs/settle.h).
 * Pure. */
void hps_job_grow_all(const struct hps_job_growth *g, const struct hps_policy_opt *opt,
                      struct hps_job_decision *d);

/* The dominant share of a job's configuration; 0 for -1. Pure. */
double hps_job_growth_share(const struct hps_job_growth *g, int job, int config);

/* Seconds that a job's completion comes nearer, by the dominant share that is added; its first
 * configuration comes before all others (Peng et al., EuroSys'18). */
double hps_job_marginal_gain(const struct hps_job_growth *g, int job, int from, int to);

#endif
