/* plan_script.h - writes a batch script that requests the units of a plan. */
#ifndef HPS_APP_PLAN_SCRIPT_H
#define HPS_APP_PLAN_SCRIPT_H

#include "app/job.h"

/* Write the script that trains `deck` with the nset sets on the units of job's plan, as `slurm`
 * of its resources describes them: one component of a heterogeneous job for each kind of
 * request, one step over all. Executable, renamed when complete. Words that cannot be in a
 * script: HPS_DECK; a file that cannot be written: HPS_OUTPUT. Local, rank 0. */
enum hps_status hps_plan_script(const char *path, const struct hps_job *job, const char *deck,
                                int nset, char *const *set);

#endif
