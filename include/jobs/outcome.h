/* outcome.h - what became of the jobs of a pool: when each ran, in what, and what that comes to. */
#ifndef HPS_JOBS_OUTCOME_H
#define HPS_JOBS_OUTCOME_H

#include <stddef.h>

#include "jobs/job_pool.h"
#include "jobs/place.h"
#include "jobs/workload.h"

struct json_t;

/* A stretch of time in which a job had one configuration, in one place. */
struct hps_job_span {
    int job, config;
    double begin_s, end_s;
    struct hps_placed at;       /* none: its simulator does not say where                  */
};

struct hps_job_outcome {
    double start_s, end_s;      /* first start, end; NAN: never                            */
    int preempted;              /* how often its units were taken away, and none given     */
    int resized;                /* how often it got others                                 */
    int moved;                  /* how often it got as many, elsewhere                     */
    double restart_s;           /* in all its starts but the first                         */
    double usd;
};

struct hps_job_outcomes {
    const char *policy;
    const struct hps_workload *workload;        /* borrowed, as is the pool                */
    const struct hps_job_pool *pool;
    struct hps_job_outcome *job;                /* (n) in the workload's order             */
    size_t nspan, span_cap;
    struct hps_job_span *span;                  /* (nspan) in the order of their ends      */
};

/* None started, none ended. */
struct hps_job_outcomes *hps_outcomes_new(const char *policy, const struct hps_workload *w,
                                          const struct hps_job_pool *pool);
void hps_outcomes_free(struct hps_job_outcomes *o); /* NULL is fine */
/* Job j had a configuration for a while: a span, and its money. The span is the last one; whoever
 * knows where it was gives it a copy. */
void hps_outcomes_span(struct hps_job_outcomes *o, int job, int config, double begin_s,
                       double end_s);

/* The units of a configuration in words, "4 gpu + 2 cpu", to free with hps_mem_free; what they cost
 * in an hour. Pure. */
char *hps_outcomes_units(const struct hps_job_outcomes *o, const struct hps_job_config *c);
double hps_outcomes_usd_hour(const struct hps_job_outcomes *o, const struct hps_job_config *c);

/* Over all jobs that ended: completion time is from arrival to end. */
struct hps_job_figures {
    int ended, met, deadlines;  /* met: of those that have a deadline                      */
    double mean_jct_s, median_jct_s, p99_jct_s, makespan_s, usd;
    double rho_max;             /* the longest completion time over that alone on a fair share */
    double jain;                /* Jain's index of fairness of 1/rho                       */
    int resizes, moves;
    double lost_to_resizes_s;
};
struct hps_job_figures hps_outcomes_figures(const struct hps_job_outcomes *o);

/* heterps-jobs-1 (design 10). To free with json_decref. */
struct json_t *hps_outcomes_tree(const struct hps_job_outcomes *o);
/* One row of a table a result; header first. On standard output. */
void hps_outcomes_print_head(void);
void hps_outcomes_print_row(const struct hps_job_outcomes *o);

#endif
