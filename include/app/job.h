/* job.h - what the verbs that work on a deck have in common: deck, data, net, hardware, plan, from
 * top to bottom. */
#ifndef HPS_APP_JOB_H
#define HPS_APP_JOB_H

#include "app/options.h"
#include "net/net.h"
#include "step/step.h"

struct hps_job {
    MPI_Comm world;
    struct hps_options o;
    struct hps_rundir dir;         /* path NULL: the verb writes no run            */
    struct hps_data *train, *test; /* test NULL: the deck names none                */
    struct hps_net *net;
    struct hps_steps steps;
    struct hps_node node;
    struct hps_dev dev;
    struct hps_pool *pool;
    struct hps_profile *profile;
    struct hps_plan *plan;
    int *stage_of; /* (R) */
    struct hps_team *team;
    struct hps_step *step;
    char *shape, *course, *planning; /* of checkpoints (train/ckpt.h)        */
    double flops_example;
    double made_s; /* what making team and step took               */
};

/* All are collective over job->world, their status is shared; each needs what the one before it
 * made. */
enum hps_status hps_job_deck(struct hps_job *job, const char *deck, int nset, char *const *set);
/* From here on a rank that hangs or dies ends the run (life/watch), until hps_watch_leave. Each of
 * what follows says how long it may take. */
void hps_job_watch(struct hps_job *job);
enum hps_status hps_job_data(struct hps_job *job);     /* datasets, net, number of steps          */
enum hps_status hps_job_device(struct hps_job *job);   /* node and device, not measured           */
enum hps_status hps_job_hardware(struct hps_job *job); /* the same measured, counters, pool       */
/* n searches begin, one behind the other, which may take so much longer than a step. Local. */
void hps_job_search(const struct hps_sched_opt *opt, int n);
/* Profile, measured or schedule.profile. `present`: types are limited to the ranks present. */
enum hps_status hps_job_profile(struct hps_job *job, bool present);
/* Profile and plan. `old`: the planning text of a checkpoint, NULL none: when nothing that the plan
 * depends on has changed, the run directory's plan is kept. A search that a wish to stop cuts short
 * (plan/budget) gives what it has, HPS_AGAIN where that is nothing. */
enum hps_status hps_job_plan(struct hps_job *job, const char *old, bool present);
/* The plan for working on all ranks without planning: one stage (eval). */
void hps_job_plan_one_stage(struct hps_job *job);
enum hps_status hps_job_build(struct hps_job *job, bool training); /* places, team, step */
/* profile.json and plan.json of the run directory. */
enum hps_status hps_job_keep_plan(struct hps_job *job);
/* Another plan, and the profile that it was made from, in place of the present ones (both taken
 * over): places, team, step for training; the state is that of step 0. */
enum hps_status hps_job_adopt(struct hps_job *job, struct hps_plan *plan,
                              struct hps_profile *profile);
void hps_job_close(struct hps_job *job); /* whatever of it was made                  */

#endif
