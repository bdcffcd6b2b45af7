/* trial_plans.h - before a training, tries the plan that was made, and those that it was chosen
 * over, for some steps of the training, and takes the one that is measured best. */
#ifndef HPS_APP_TRIAL_PLANS_H
#define HPS_APP_TRIAL_PLANS_H

#include "app/job.h"

/* As schedule.trial_steps says. The job has a profile and a plan, and nothing is built yet; the
 * best plan becomes the job's, and its measured rate corrects what the profile promises
 * (engine.trial). What the steps learn is discarded. A request to stop ends the trial: the plan
 * stays. Rank 0 prints a table. Collective over job->world. */
enum hps_status hps_trial_plans(struct hps_job *job);

#endif
