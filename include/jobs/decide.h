/* decide.h - which jobs run now, and in which configurations: what a policy sees, and answers.
 *
 * A decision is a function of the view alone, so that a simulation and a real pool come to the same
 * one, and a pool that was killed comes to it again. What a policy must remember of a job it leaves
 * in that job's notes, which the caller keeps. */
#ifndef HPS_JOBS_DECIDE_H
#define HPS_JOBS_DECIDE_H

#include <stdbool.h>

#include "jobs/job_pool.h"
#include "jobs/workload.h"

/* A job that has arrived and has not ended. */
struct hps_job_state {
    const struct hps_pool_job *job;
    double left;                /* the share of its work that is left: 1 at first            */
    int config;                 /* that it runs in, or starts in; -1: it waits               */
    double since_s;             /* when that began                                           */
    double ran_s, unit_s;       /* seconds in which it had units; times their number         */
    double note[2];             /* a policy's own; 0 at first                                */
    double *config_s;           /* (nconfig) seconds in which it had each; NULL: not known   */
};

struct hps_job_view {
    double now_s;
    double restart_s;           /* that a job takes to start, each time                      */
    const struct hps_job_pool *pool;
    int n;
    struct hps_job_state *job;  /* (n) in the order of arrival; only notes may be changed    */
};

struct hps_job_decision {
    int *config;                /* (n) of each job of the view; -1: none                     */
    double wake_s;              /* when to ask again although nothing happens; INFINITY at first */
};


/* ---- what policies have in common ---- */

/* Units that are not given away yet. */
struct hps_job_room {
    int T;
    int *units;                 /* (T) */
};
struct hps_job_room hps_job_room_of(const struct hps_job_pool *pool);
void hps_job_room_done(struct hps_job_room *room);
/* Are there units for a configuration? */
bool hps_job_room_fits(const struct hps_job_room *room, const struct hps_job_config *c);
/* Takes the units of a configuration; false: there are too few, and nothing was taken. */
bool hps_job_room_take(struct hps_job_room *room, const struct hps_job_config *c);
/* Would it? And the way back. */
bool hps_job_room_fits(const struct hps_job_room *room, const struct hps_job_config *c);
void hps_job_room_give(struct hps_job_room *room, const struct hps_job_config *c);

/* The configuration of a job by its number; NULL for -1. Pure. */
const struct hps_job_config *hps_job_config_of(const struct hps_job_state *j, int config);
/* When a running job ends if it is left alone; INFINITY: it waits. Pure. */
double hps_job_end_s(const struct hps_job_view *view, int i);
/* The largest part that a configuration takes of any type of the pool: its dominant share. Pure. */
double hps_job_share(const struct hps_job_pool *pool, const struct hps_job_config *c);
/* The configuration with the least dominant share, of equal ones the fastest, of those that the
 * whole pool can hold; -1: none is. Pure. */
int hps_job_smallest(const struct hps_job_view *view, int i);

/* Gives each job what it asked for, by `key` (n), the least first, equal ones in the order of
 * arrival, while that fits; `skip`: one that does not fit is left out, else it ends there. Pure. */
void hps_job_give_asked(const struct hps_job_view *view, const double *key, bool skip,
                        struct hps_job_decision *d);
/* The view's jobs by `key` (n), the least first, equal ones in the order of arrival: indices, to
 * free with hps_mem_free. Pure. */
int *hps_job_order(const struct hps_job_view *view, const double *key);

#endif
