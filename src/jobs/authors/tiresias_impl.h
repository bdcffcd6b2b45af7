/* tiresias_impl.h - what the variants of Tiresias' own simulator share: jobs in whole seconds, and
 * lists of them.
 *
 * The simulator (SymbioticLab/Tiresias:simulator/run_sim.py, NSDI'19) counts GPUs and does not
 * place them (its --scheme=count). What its loops do beyond their paper is done here too, and said
 * where it is. */
#ifndef HPS_JOBS_TIRESIAS_IMPL_H
#define HPS_JOBS_TIRESIAS_IMPL_H

#include <limits.h>
#include <stdbool.h>

#include "jobs/policy.h"

#define HPS_TIRESIAS_NEVER LLONG_MAX

struct hps_tiresias_job {
    long long submit, duration, start, end;     /* s; start, end: NEVER before                   */
    int gpus;
    bool runs;
    long long checked;          /* up to when the numbers below are                              */
    long long executed;         /* seconds that it ran                                           */
    long long credit;           /* the same since it was promoted                                */
    long long pending;          /* seconds that it has waited since then, once it ran            */
    long long left, left_gpu;   /* seconds left; times GPUs                                      */
    int queue, preempted;
    double rank;                /* Gittins' index                                                */
    long long span_begin;       /* since when it runs                                            */
};

struct hps_tiresias {
    int n, gpus;                /* of the pool                                                   */
    struct hps_tiresias_job *job;       /* (n) in the order of submission                        */
    int next;                   /* the first that was not submitted yet                          */
    struct hps_job_outcomes *out;
    const struct hps_policy_facts *facts;
};

/* HPS_DECK, said: times or durations are not whole, or the pool has several types. */
enum hps_status hps_tiresias_begin(struct hps_tiresias *t, const struct hps_workload *w,
                                   const struct hps_job_pool *pool,
                                   const struct hps_policy_facts *facts,
                                   struct hps_job_outcomes *out);
void hps_tiresias_end(struct hps_tiresias *t);

/* It runs from now on, or stops; it has ended. */
void hps_tiresias_start(struct hps_tiresias *t, int j, long long now);
void hps_tiresias_preempt(struct hps_tiresias *t, int j, long long now);
void hps_tiresias_finish(struct hps_tiresias *t, int j, long long now);

/* When the next job is submitted; NEVER: none. */
long long hps_tiresias_next_submit(const struct hps_tiresias *t);

/* A list of jobs in an order that lasts. */
struct hps_tiresias_list {
    int n;
    int *job;                   /* (n), room for all */
};
void hps_tiresias_append(struct hps_tiresias_list *list, int job);
/* False: it was not in the list. */
bool hps_tiresias_remove(struct hps_tiresias_list *list, int job);

/* Of those that run, all that end first. NEVER: none runs. */
long long hps_tiresias_ends(const struct hps_tiresias *t, const struct hps_tiresias_list *jobs,
                            long long now, struct hps_tiresias_list *first);

#endif
