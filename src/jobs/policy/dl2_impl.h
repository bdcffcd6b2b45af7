/* dl2_impl.h - the steps that dl2 chooses, and what it learns from. */
#ifndef HPS_JOBS_DL2_IMPL_H
#define HPS_JOBS_DL2_IMPL_H

#include <stdbool.h>

#include "jobs/dl2.h"
#include "jobs/policy/dl2_net_impl.h"

/* ---- steps (dl2.c) ---- */

/* Features by which jobs of a window differ and that a taste may be for: share, size, speed-up, its
 * logarithm, age. */
enum { HPS_DL2_FIRST = 2, HPS_DL2_LAST = 6 };

/* Some jobs of a view, and the step that each can take: a configuration, -1: none. */
struct hps_dl2_window {
    const struct hps_job_view *view;
    struct hps_job_room *room;
    const struct hps_job_decision *d;
    const int *job;             /* (n) of the view                */
    int n;
    int next[HPS_DL2_WINDOW];
    float x[HPS_DL2_WINDOW * HPS_DL2_FEATURES];
    bool may_end;               /* else nobody has anything yet   */
};

/* Seconds that are left of a job in its smallest configuration, its size. */
double hps_dl2_size_s(const struct hps_job_view *view, int i);
/* Which steps can be, and whether the end can (n + 1). */
void hps_dl2_can(const struct hps_dl2_window *w, bool *can);
/* Chances of them from logits (n + 1): 0 for one that cannot be. */
void hps_dl2_chances(int n, const bool *can, const double *logit, double *chance);
/* The step of dominant resource fairness; n: the end. */
int hps_dl2_fair_step(const struct hps_dl2_window *w);
/* A good step, from which it may learn more than from its own: the job that gains the most speed,
 * as a share of what it has, by the units it takes and the square root of its size. That is between
 * equal shares and the shortest job first, as heSRPT is. n: the end. */
int hps_dl2_good_step(const struct hps_dl2_window *w);

/* ---- learning (dl2_train.c) ---- */

struct hps_dl2_trainer;
struct hps_dl2 {
    struct hps_dl2_net *net;
    double size_s;              /* of a usual job: the scale of sizes and ages */
    struct hps_dl2_trainer *trainer;    /* NULL: it acts, and does not learn */
};

/* Learns for net; a reward of now weighs e times one of fade_s later. */
struct hps_dl2_trainer *hps_dl2_trainer_new(struct hps_dl2_net *net, double fade_s, uint64_t key);
void hps_dl2_trainer_free(struct hps_dl2_trainer *t);

/* A decision begins; the step to take, from 0 to n. */
void hps_dl2_trainer_begin(struct hps_dl2_trainer *t, const struct hps_job_view *view);
int hps_dl2_trainer_choose(struct hps_dl2_trainer *t, const struct hps_dl2_window *w);

/* So many episodes of the same jobs were simulated, and are compared. In each the trainer is taught
 * by dominant resource fairness, or it tries. */
enum { HPS_DL2_TWINS = 4 };
void hps_dl2_trainer_episode(struct hps_dl2_trainer *t, bool taught);
void hps_dl2_trainer_end(struct hps_dl2_trainer *t, double at_s);
/* Learns from the episodes since the last time. */
void hps_dl2_trainer_learn(struct hps_dl2_trainer *t);

#endif
