/* correction.h - what was measured over what was promised, learned from runs of a job: by so much
 * longer its steps last in a configuration.
 *
 * Logarithms are averaged, in two levels that are both drawn to what is known without them: a job's
 * ratio to 1 as by one run that lasted as promised, a configuration's to the job's as by one more
 * run. */
#ifndef HPS_JOBS_CORRECTION_H
#define HPS_JOBS_CORRECTION_H

#include <stddef.h>

#include "jobs/workload.h"

struct hps_correction {
    int n;
    size_t cap;
    struct hps_measured {
        struct hps_job_config config;   /* its units                    */
        double ratio;                   /* measured over promised, > 0  */
    } *run;                             /* (n)                          */
};

void hps_correction_add(struct hps_correction *c, const struct hps_job_config *config,
                        double ratio);
/* The factor of a configuration's promised seconds; 1 where nothing was measured. Pure. */
double hps_correction_of(const struct hps_correction *c, const struct hps_job_config *config);
void hps_correction_done(struct hps_correction *c);

#endif
