/* after.h - jobs that wait for the end of others. */
#ifndef HPS_JOBS_AFTER_H
#define HPS_JOBS_AFTER_H

#include "jobs/workload.h"

/* For how many jobs each job still waits, and who waits for it. Nobody waits in a circle. */
struct hps_after {
    int *waits;                 /* (n)                                           */
    int *first, *waiter;        /* of job j: waiter[first[j]] .. [first[j + 1] - 1] */
};

void hps_after_init(struct hps_after *a, const struct hps_workload *w);
/* Job j has ended: those that need not wait any more, into `ready` (n), in the workload's order;
 * returns how many. */
int hps_after_ended(struct hps_after *a, int j, int *ready);
void hps_after_done(struct hps_after *a);

/* Does any job wait for another? Pure. */
bool hps_after_any(const struct hps_workload *w);

#endif
