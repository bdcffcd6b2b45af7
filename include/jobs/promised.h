/* promised.h - what is promised of a list's jobs by a simulation of them: in which order they run,
 * on which units, until when, for how much, and which deadlines cannot be kept. */
#ifndef HPS_JOBS_PROMISED_H
#define HPS_JOBS_PROMISED_H

#include "jobs/outcome.h"

/* A deadline that is missed. */
struct hps_missed {
    int job;
    double end_s;               /* INFINITY: never                                         */
    double alone_s;             /* its end if it had the whole pool from its arrival on    */
};

/* Returns how many; *missed to free with hps_mem_free. `restart_s` is what a start takes. Pure. */
int hps_promised_missed(struct hps_missed **missed, const struct hps_job_outcomes *o,
                        double restart_s);

/* A row a job, in the order of their starts, then a line for each missed deadline that says why. On
 * standard output. */
void hps_promised_print(const struct hps_job_outcomes *o, double restart_s);
/* heterps-jobs-1 with `deadlines_missed` added. To free with json_decref. */
struct json_t *hps_promised_tree(const struct hps_job_outcomes *o, double restart_s);

#endif
