/* job.h - what verbs with a deck share: deck, data, net, hardware, plan, step, built in this
 * order. */
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
    int server_type;            /* of dedicated servers, where the deck has some; -1: the plan's */
    bool memory_auto;           /* storage.host_memory was `auto` before it was found out      */
    struct hps_team *team;
    struct hps_step *step;
    bool trains;                   /* steps follow, and a checkpoint                 */
    bool kept;                     /* profile and plan are those of an earlier start */
    bool continues;                /* from a checkpoint, at its precision:          */
    enum hps_precision began;
    char *shape, *course, *planning; /* of checkpoints (train/ckpt.h)        */
    double flops_example;
    double made_s; /* seconds to build team and step               */
    double save_s; /* that a checkpoint may take; 0: not known, or none is written */
};

/* All functions are collective over job->world and return the same status on all ranks; each
 * needs the results of the one before it. */
enum hps_status hps_job_deck(struct hps_job *job, const char *deck, int nset, char *const *set);
/* From here on a rank that hangs or dies ends the run (life/watch.h), until hps_watch_leave. Each
 * function below sets how long it may take. */
void hps_job_watch(struct hps_job *job);
enum hps_status hps_job_data(struct hps_job *job);     /* datasets, net, number of steps          */
enum hps_status hps_job_device(struct hps_job *job);   /* node and device, not measured           */
/* Set the precision of the device; the one before calls it. HPS_DECK where a rank lacks bf16. */
enum hps_status hps_job_precision(struct hps_job *job);
enum hps_status hps_job_hardware(struct hps_job *job); /* the same measured, counters, pool       */
/* Set how long n searches, one after the other, may take. Local. */
void hps_job_search(const struct hps_sched_opt *opt, int n);
/* Profile, measured or schedule.profile. `present`: types are limited to the ranks present. */
enum hps_status hps_job_profile(struct hps_job *job, bool present);
/* Profile and plan. `old`: the planning text of a checkpoint, NULL: none. Where the text is
 * unchanged, the run directory's plan is used again. A search that a request to stop cuts short
 * (plan/budget.h) returns its best plan so far, or HPS_AGAIN. */
enum hps_status hps_job_plan(struct hps_job *job, const char *old, bool present);
/* A plan of one stage on all ranks, without planning (for `eval`). */
void hps_job_plan_one_stage(struct hps_job *job);
enum hps_status hps_job_build(struct hps_job *job, bool training); /* stages, team, step */
/* Write profile.json and plan.json of the run directory. */
enum hps_status hps_job_save_plan(struct hps_job *job);
/* Replace plan and profile by these (both are owned by the job afterwards): stage of each rank,
 * team, and a step for training, whose state is that of step 0. */
enum hps_status hps_job_adopt(struct hps_job *job, struct hps_plan *plan,
                              struct hps_profile *profile);
void hps_job_close(struct hps_job *job); /* free all that was built                  */

#endif
