/* profile_impl.h - free units of each type over time, from now on, as jobs get places in it. */
#ifndef HPS_JOBS_PROFILE_IMPL_H
#define HPS_JOBS_PROFILE_IMPL_H

#include <stddef.h>

#include "jobs/decide.h"

/* All units are free from now_s on. Caller frees. */
struct hps_job_profile;
struct hps_job_profile *hps_job_profile_new(const struct hps_job_pool *pool, double now_s);
void hps_job_profile_free(struct hps_job_profile *p);

/* The first time from which c is free for so many seconds; c fits the pool. */
double hps_job_profile_find(const struct hps_job_profile *p, const struct hps_job_config *c,
                            double seconds);
/* Units of a type that are free at a time, and until when just those are. *step, 0 at first, speeds
 * up asking for later and later times. */
int hps_job_profile_units(const struct hps_job_profile *p, int type, double at_s, double *until_s,
                          size_t *step);
/* Takes it from begin_s to end_s, where it is free. */
void hps_job_profile_take(struct hps_job_profile *p, const struct hps_job_config *c,
                          double begin_s, double end_s);

#endif
