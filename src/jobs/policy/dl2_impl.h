/* dl2_impl.h - the steps that dl2 chooses, and what it learns from. */
#ifndef HPS_JOBS_DL2_IMPL_H
#define HPS_JOBS_DL2_IMPL_H

#include <stdbool.h>

#include "jobs/dl2.h"
#include "jobs/policy/dl2_net_impl.h"

/* ---- steps (dl2.c) ---- */

/* The jobs first..first + n - 1 of a view, and the step that each can take: a configuration, -1:
 * none. */
struct hps_dl2_window {
    const struct hps_job_view *view;
    struct hps_job_room *room;
    const struct hps_job_decision *d;
    int first, n;
    int next[HPS_DL2_WINDOW];
    double x[HPS_DL2_WINDOW * HPS_DL2_FEATURES];
    bool may_end;               /* else nobody has anything yet */
};

/* Chances of each step, and of the end, from logits (n + 1): 0 for one that cannot be. */
void hps_dl2_chances(const struct hps_dl2_window *w, const double *logit, double *chance);
/* The step of dominant resource fairness; n: the end. */
int hps_dl2_fair_step(const struct hps_dl2_window *w);

/* ---- learning (dl2_learn.c) ---- */

struct hps_dl2_trainer;
struct hps_dl2 {
    struct hps_dl2_net *net;
    struct hps_dl2_trainer *trainer;    /* NULL: it acts, and does not learn */
};
/* A decision begins; the step to take, from 0 to n. */
void hps_dl2_trainer_begin(struct hps_dl2_trainer *t, const struct hps_job_view *view);
int hps_dl2_trainer_choose(struct hps_dl2_trainer *t, const struct hps_dl2_window *w);
/* It ends. */
void hps_dl2_trainer_end(struct hps_dl2_trainer *t);

#endif
