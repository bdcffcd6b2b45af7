/* step.h - one training step of my stages: pull, 1F1B, push, reduce, clip, update. */
#ifndef HPS_STEP_STEP_H
#define HPS_STEP_STEP_H

#include "step/channel.h"
#include "step/metric.h"
#include "step/stage.h"
#include "step/step_agree.h"

struct hps_step {
    const struct hps_net *net;  /* borrowed, as are team, plan, dev                        */
    const struct hps_plan *plan;
    const struct hps_team *team;
    struct hps_dev *dev;
    struct hps_stage stage[HPS_MY_STAGES];   /* (team->nmine), none on an idle rank       */
    struct hps_ps *ps;          /* of asynchronous workers that of the first channel       */
    bool async;                 /* workers do not wait for each other in every step        */
    int nchannel;               /* where they do not: channels to workers, or to servers   */
    struct hps_channel *channel;
    struct hps_dense_weights *weights;  /* on a server that holds some; else NULL          */
    const struct hps_train_opt *train;      /* borrowed                                    */
    /* Training alone counts: an evaluation subtracts again what it added. */
    double busy_s;              /* seconds of computation on this rank, with those that an
                                   emulation slept; of a GPU the seconds by its own clock, of
                                   steps that are over, since the host runs ahead          */
    double other_bytes;         /* sent beside the step's own: requests, less evaluations  */
    struct hps_message_count other_messages[HPS_MESSAGES];  /* encoded, the same            */
    long long updates;          /* of the weights so far, over restarts: whoever loads them
                                   sets it                                                 */
    bool training;              /* else forwards alone                                      */
    int *nresidual;             /* (S) residuals of each stage's dense gradients, one a host
                                   (comm/topk_sum.h); NULL: all of their numbers are sent   */
    int lag;                    /* of the loss that hps_step_work returns, equal on all ranks */
    struct hps_step_impl *impl;
};

struct hps_step_opt {
    const struct hps_train_opt *train;
    const struct hps_storage_opt *storage;
    struct hps_steps steps;
    uint64_t seed;
    bool training;              /* false: forward only */
};

/* Allocate all that a step needs. Collective over team->world. */
enum hps_status hps_step_new(struct hps_step **step, const struct hps_step_opt *opt,
                             const struct hps_net *net, const struct hps_plan *plan,
                             const struct hps_team *team, struct hps_dev *dev);
/* Collective over team->world; NULL is fine. */
void hps_step_free(struct hps_step *step);

/* Do servers hold the dense weights? Is this rank the first of the servers? Pure. */
bool hps_step_serves_dense(const struct hps_step *step);
bool hps_step_serves_first(const struct hps_step *step);
/* Where asynchronous workers sum dense gradients and clip: each clips its own whole gradient, of
 * dense weights and of rows by one factor, before the sum. No worker's rows then wait for others,
 * and a gradient keeps its direction. Its norm is that of the mean over its own examples: the mean
 * over the workers, which is applied, is then no longer than train.clip either, as under bsp, and
 * one worker clips as it does there. Does it so? By what are the gradients of worker w, in the
 * clock that begins with batch `number`, to be multiplied to be that mean? 1 where it does not.
 * Pure. */
bool hps_step_clips_own(const struct hps_step *step);
double hps_step_own_mean(const struct hps_step *step, const struct hps_steps *steps,
                         long long number, int w);

/* The batches of the run from here on, some of them done early. Local. */
void hps_step_set_steps(struct hps_step *step, const struct hps_steps *steps);

/* A feeder for the step's stages and tables. Collective over team->world. */
enum hps_status hps_step_feeder(struct hps_feeder **feeder, const struct hps_step *step,
                                const struct hps_feeder_opt *opt);

/* This rank's slice with layer l: of its stages, or of a server's weights; NULL where another rank
 * has it. Pure. */
struct hps_slice *hps_step_slice(const struct hps_step *step, int l);

/* Begin step `number`, the clock of all workers that begins with this batch (data/data.h): take the
 * feeder's oldest step, start its pulls, fetch the step after it. The status is that of the fetch
 * (bad data HPS_DECK, a read error HPS_INPUT) on this rank alone: agree before the next begin. An
 * idle rank does nothing here and in work. Begin, work and evaluate are collective over the ranks
 * that work. */
enum hps_status hps_step_begin(struct hps_step *step, struct hps_feeder *feeder, long long number);
/* Do the rest of the step. *loss is this rank's sum of losses over its examples (0 on a rank
 * without the loss layer), of this step when lag is 1, of the step before when lag is 2: where a
 * GPU computes a loss, the host does not wait for the step that it has just queued. */
void hps_step_work(struct hps_step *step, struct hps_feeder *feeder, long long number,
                   double *loss);

/* A step of a training: begin and work, during which all ranks agree on what each contributes
 * (`mine`; a status of begin takes the place of its status), and the counters' window of the step.
 * Returns what all contribute, equal on every rank. Collective over team->world. */
struct hps_heartbeat hps_step_train(struct hps_step *step, struct hps_feeder *feeder,
                                    struct hps_step_agree *agree, long long number,
                                    struct hps_heartbeat mine, double *loss);

/* Between two steps of asynchronous workers whose caches hold gradients (train.cache_clocks), when
 * all of them pause: the gradients travel to the servers, which apply them (hps_server_flush), and
 * caches are empty. Collective over the channel of that number. */
void hps_step_flush(struct hps_step *step, struct hps_feeder *feeder, int channel);

/* Between two steps, before optimiser states of dense layers are read: gather those that other
 * ranks of the host, or other servers, have updated. Collective over the ranks that work. */
void hps_step_gather_states(struct hps_step *step);

/* The residual of this host in my stage i (nparam of its slice), to free, on the host's first rank;
 * elsewhere NULL. *index [out]: which of nresidual. Between two steps. Collective over the stage.
 */
float *hps_step_residual(struct hps_step *step, int i, int *index);
/* The norm of all residuals. Collective over team->world. */
double hps_step_residual_norm(const struct hps_step *step);
/* Of the residuals in a checkpoint. Pure. */
double hps_step_residual_bytes(const struct hps_step *step);

/* This rank's sum of losses of the last step. Waits for the device. Local. */
double hps_step_loss(struct hps_step *step);

/* Run the forwards alone of the step that hps_step_begin took; ranks with the loss layer add their
 * predictions to the metric. `steps` are those of the dataset evaluated. */
void hps_step_evaluate(struct hps_step *step, struct hps_feeder *feeder,
                       const struct hps_steps *steps, long long number, struct hps_metric *metric);

/* Bytes that this rank has sent so far; those of requests count once their feeder is freed.
 * Local. */
double hps_step_bytes(const struct hps_step *step);
/* What of it was encoded is added to counts by kind, or taken off (sign -1). Local. */
void hps_step_count(const struct hps_step *step, struct hps_message_count count[HPS_MESSAGES],
                    int sign);

#endif
