/* step.h - one training step of my stages: pull, 1F1B, push, reduce, clip, update. */
#ifndef HPS_STEP_STEP_H
#define HPS_STEP_STEP_H

#include "step/metric.h"
#include "step/worker.h"

struct hps_step {
    const struct hps_net *net; /* borrowed, as are team, plan, dev                        */
    const struct hps_plan *plan;
    const struct hps_team *team;
    struct hps_dev *dev;
    struct hps_worker role[HPS_ROLES]; /* (team->nrole), none on a rank that the plan leaves out  */
    struct hps_ps *ps;
    const struct hps_train_opt *train; /* borrowed                                          */
    /* Of training alone: an evaluation gives back what it added. */
    double busy_s;      /* seconds of computation on this rank, an emulation's slept ones too; of
                           a GPU its own seconds, of steps that are over: the host is ahead      */
    double other_bytes; /* sent beside the step's own: requests, less evaluations               */
    int lag;            /* of the loss that hps_step_work tells, the same on all ranks           */
    void *own;
};

struct hps_step_opt {
    const struct hps_train_opt *train;
    const struct hps_storage_opt *storage;
    struct hps_steps steps;
    uint64_t seed;
    bool training; /* false: forward only                                      */
};

/* Everything a step will ever need. Collective over team->world. */
enum hps_status hps_step_new(struct hps_step **step, const struct hps_step_opt *opt,
                             const struct hps_net *net, const struct hps_plan *plan,
                             const struct hps_team *team, struct hps_dev *dev);
/* Collective over team->world; NULL is fine. */
void hps_step_free(struct hps_step *step);

/* My slice that has layer l; NULL: another rank's. Pure. */
struct hps_slice *hps_step_slice(const struct hps_step *step, int l);

/* Step `number` (0-based): take the feeder's step, start its pulls, fetch the one after. The status
 * is that of the fetch (bad data HPS_DECK, a read error HPS_INPUT), this rank's own: agree before
 * the next begin. An idle rank does nothing here and in work. Begin, work and evaluate are
 * collective over the working ranks. */
enum hps_status hps_step_begin(struct hps_step *step, struct hps_feeder *feeder, long long number);
/* The rest of it. *loss: this rank's sum of losses over its examples (0 where the loss is not) of
 * the step when lag is 1, of the one before when it is 2: where a GPU has a loss, nobody waits for
 * that of the step just queued. */
void hps_step_work(struct hps_step *step, struct hps_feeder *feeder, long long number,
                   double *loss);

/* That sum of the step worked last. Waits for the device. Local. */
double hps_step_loss(struct hps_step *step);

/* Forward only, of the step that hps_step_begin took: predictions are added to the metric where the
 * loss is. `steps` of the dataset evaluated. */
void hps_step_evaluate(struct hps_step *step, struct hps_feeder *feeder,
                       const struct hps_steps *steps, long long number, struct hps_metric *metric);

/* Sent by this rank so far, requests once their feeder is done. Local. */
double hps_step_bytes(const struct hps_step *step);

#endif
