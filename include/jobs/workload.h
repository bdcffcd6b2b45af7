/* workload.h - the jobs that share a pool, and in which configurations each can run.
 *
 * A configuration is so many units of some types, and how long the whole job takes on them. A job
 * may change its configuration at a checkpoint; the share of its work that is left stays. */
#ifndef HPS_JOBS_WORKLOAD_H
#define HPS_JOBS_WORKLOAD_H

#include <stdbool.h>

enum { HPS_CONFIG_TYPES = 4 };  /* types that one configuration spans at most */

struct hps_config_part {
    int type, units;
};

struct hps_job_config {
    int nparts;
    struct hps_config_part part[HPS_CONFIG_TYPES];  /* (nparts) of distinct types              */
    double seconds;             /* for all of the job's work, without starts                   */
    double step_s;              /* for one step of it; 0: not known                            */
    double link_s;              /* in which a unit sends and receives, where it is on several
                                   nodes (jobs/links.h); 0: not known                          */
};

struct hps_pool_job {
    char *name, *model;         /* model: what jobs of one speed have in common                */
    double arrive_s;            /* from the pool's beginning                                   */
    double deadline_s;          /* the same; INFINITY: none                                    */
    double priority;            /* 1 is usual                                                  */
    int nconfig;
    struct hps_job_config *config;  /* (nconfig), at least one                                 */
    int nafter, *after;         /* (nafter) jobs, by number, that must have ended before       */
    int asked;                  /* the one that its user asked for: policies that give a job
                                   what it asks for, and no other, give this                   */
};

struct hps_workload {
    int n;
    struct hps_pool_job *job;   /* (n) in the order of arrival, then of the list               */
};

/* n jobs without configurations, for a reader to fill; then they are put in order, and `after` has
 * their new numbers. */
struct hps_workload *hps_workload_new(int n);
void hps_workload_sort(struct hps_workload *w);
void hps_workload_free(struct hps_workload *w); /* NULL is fine */

/* The least seconds that a job takes in any of its configurations; the least unit-seconds. Pure. */
double hps_pool_job_best_s(const struct hps_pool_job *job);
double hps_pool_job_least_unit_s(const struct hps_pool_job *job);

/* Units of all types of a configuration. Pure. */
int hps_config_units(const struct hps_job_config *c);
/* Are they as many units of the same types, in the same order of types? Pure. */
bool hps_config_same(const struct hps_job_config *a, const struct hps_job_config *b);
/* Put configurations (n) in order: the fewest units first, of as many the fastest. Pure. */
void hps_configs_sort(struct hps_job_config *config, int n);

#endif
