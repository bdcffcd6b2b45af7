/* edf_impl.h - deadlines on a profile of free units: the least units that meet each (ElasticFlow,
 * Gu et al., ASPLOS'23: minimum satisfactory shares). */
#ifndef HPS_JOBS_EDF_IMPL_H
#define HPS_JOBS_EDF_IMPL_H

#include "jobs/policy/profile_impl.h"

/* What a job has now by its plan (-1: nothing yet), and when that changes. */
struct hps_edf_share {
    bool met;
    int most;                   /* the configuration up to which it goes    */
    int config;
    double until_s;
};

/* Finds the cheapest way in which job i meets its deadline with units that are free, on one type at
 * a time, or in a configuration of several; in each stretch of time it has the fastest of its
 * configurations that fits, up to one, which is the smallest that will do. Takes what it needs of
 * the profile. A change of configuration costs a restart. Money counts, or unit-seconds where units
 * have no price. `most` >= 0: up to this configuration, and no search: a job that goes on as it was
 * placed before leaves as much to others as it did then. */
struct hps_edf_share hps_edf_place(const struct hps_job_view *view, int i, int most,
                                   struct hps_job_profile *free);

#endif
