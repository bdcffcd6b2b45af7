/* plan_script.h - a batch script that asks for exactly the units of a plan. */
#ifndef HPS_APP_PLAN_SCRIPT_H
#define HPS_APP_PLAN_SCRIPT_H

#include "app/job.h"

/* The script that trains `deck` under `set` (n of them) on the units of job's plan, as its
 * resources' `slurm` describes them: one component of a job for each kind of request, one step over
 * all. Executable; has its name when it is whole. What cannot stand in a script: HPS_DECK;
 * HPS_OUTPUT when the file cannot be written. Local, rank 0. */
enum hps_status hps_plan_script(const char *path, const struct hps_job *job, const char *deck,
                                int nset, char *const *set);

#endif
