/* objective.h - what a pool's schedule is to make least: the mean completion time; the end of all
 * jobs (makespan); the unfairness of finish times (rho, jobs/outcome.h).
 *
 * The latter two are the least value R such that every job has ended when it is due at R: at R
 * itself for the makespan; for rho, R times what the job takes alone on its share of the pool after
 * its arrival. How large its share is depends on how many other jobs are there while it is, and
 * thus on the schedule. But none is there longer than until it is due at R: so from more jobs than
 * there can be follow later times than there can be, from those fewer jobs, and so on. */
#ifndef HPS_JOBS_OBJECTIVE_H
#define HPS_JOBS_OBJECTIVE_H

#include "jobs/outcome.h"
#include "jobs/workload.h"

enum hps_objective { HPS_JCT, HPS_MAKESPAN, HPS_RHO };

/* The deck's words, "a|b|c"; which one a word is. Pure. */
#define HPS_OBJECTIVE_WORDS "jct|makespan|rho"
enum hps_objective hps_objective_of(const char *word);
/* Its name in results, "mean_jct_s", and what a schedule makes of it. Pure. */
const char *hps_objective_figure(enum hps_objective o);
double hps_objective_value(enum hps_objective o, const struct hps_job_figures *f);

/* When each job is due at the value R of HPS_MAKESPAN or HPS_RHO: no schedule that has it, or less,
 * ends any job later. due_s (n) [out]. Pure. */
void hps_objective_due(enum hps_objective o, double R, const struct hps_workload *w,
                       double *due_s);

#endif
