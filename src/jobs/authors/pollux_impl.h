/* pollux_impl.h - the simulator of Pollux' authors (petuum/adaptdl, branch osdi21-artifact:
 * simulator/simulator.py): every 60 s a policy allots GPUs of nodes to jobs; a job that is allotted
 * others stands still for the seconds of a restart, then works until an epoch or the tick ends.
 * The end of an epoch is rounded to a second, half to even. */
#ifndef HPS_JOBS_POLLUX_IMPL_H
#define HPS_JOBS_POLLUX_IMPL_H

#include "jobs/facts.h"

/* GPUs of one node. */
struct hps_pollux_part {
    int node, gpus;
};

struct hps_pollux_job {
    const struct hps_pool_job *job;
    const struct hps_pollux_epochs *epochs;     /* NULL: it has one                         */
    int asked, max;             /* GPUs that its user wants; that it can use at most        */
    int epoch;                  /* that it is in, from 0                                    */
    double done;                /* the share of its work                                    */
    double standing_s;          /* that are left of its restart                             */
    double seconds;             /* for all of its work where it is                          */
    int npart, had, gpus;       /* where it is; GPUs before the decision, and now           */
    struct hps_pollux_part *part;       /* (npart) in the order in which they were taken    */
    double since_s;             /* when it got them                                         */
    bool moved;                 /* in this decision                                         */
    double note[2];             /* the policy's own; 0 at first                             */
};

struct hps_pollux {
    const struct hps_job_pool *pool;
    const struct hps_pollux_facts *facts;       /* NULL: none                               */
    struct hps_job_outcomes *out;
    double restart_s, now_s;
    int n, active;              /* jobs; those that have come and are not done              */
    struct hps_pollux_job *job; /* (n)                                                      */
    int *live;                  /* (active) in the order of arrival                         */
    void *own;                  /* of the policy                                            */
};

/* The job's config of so many GPUs; -1: it has none. */
int hps_pollux_config(const struct hps_pollux_job *job, int gpus);
/* The job's GPUs are free. */
void hps_pollux_release(struct hps_pollux_job *job);
/* To those of these n jobs that hold none, in this order: so many GPUs, each time of the node that
 * has most free, the first of equal ones. They are there. */
void hps_pollux_place(struct hps_pollux *p, const int *job, const int *gpus, int n);

/* The whole course of events with a policy that releases and places. HPS_DECK, said. */
enum hps_status hps_pollux_run(const struct hps_workload *w, const struct hps_job_pool *pool,
                               const struct hps_policy_facts *facts, struct hps_job_outcomes *o,
                               void (*decide)(struct hps_pollux *p), void *own);

#endif
