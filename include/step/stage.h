/* stage.h - what a rank does for one stage of the pipeline: its slice of the net, the messages to
 * and from the stages beside it, the gradient sums with the other ranks of the stage.
 *
 * A step has M micro-batches; an in-flight slot holds one between its forward and its backward.
 * Unless said, a call is local and must come in the same order on all ranks of the stage. */
#ifndef HPS_STEP_STAGE_H
#define HPS_STEP_STAGE_H

#include "comm/pipe.h"
#include "comm/reduce.h"
#include "comm/stage_collective.h"
#include "net/slice.h"
#include "step/feeder.h"

struct hps_stage_step {
    long long number;
    long long n, all;               /* examples of this worker; of all workers, which the
                                       gradients are the mean of                            */
    long long batch;                /* of a worker that has a whole one                     */
    uint64_t key;                   /* of random draws                                      */
};

struct hps_stage {
    int stage, M, nslot;            /* nslot: in-flight slots                               */
    int part;                       /* of the rank's work, for hps_region_enter             */
    const struct hps_team *team;    /* borrowed                                             */
    struct hps_slice *slice;
    struct hps_feed *feed;          /* (M) of the step under way                            */
    struct hps_pipe *prev, *next;   /* NULL at the pipeline's ends                          */
    struct hps_reduce *reduce;      /* of gradients; NULL: no training                      */
    struct hps_reduce *own;         /* where a worker clips its gradient before it is summed with
                                       others': over this worker's ranks; else NULL         */
    float *clipped;                 /* (nparam) of the device: what goes into that sum      */
    struct hps_stage_collective *stage_collective; /* NULL: no layer needs one, or one rank */
    struct hps_collective *collective;  /* (M) of the step under way                        */
    struct hps_stage_step step;     /* under way                                            */
    double *running;                /* (2, nrunning) running states before it, and scratch;
                                       NULL: one worker and no servers, or no states        */
    bool last;                      /* the backward under way is the step's last            */
};

struct hps_stage_opt {
    int M;                              /* micro-batches of a step                    */
    int rows;                           /* of this rank's share of a micro-batch, max */
    const struct hps_train_opt *train;  /* borrowed                                   */
    const struct hps_codec_ops *activations, *dense; /* in which messages between stages travel,
                                           and dense gradients                        */
    double dense_share;                 /* of the numbers of these that travel; 0: all */
    uint64_t seed;
    bool training;
    bool served;                        /* servers update the weights: gradients are summed
                                           over this worker's ranks alone            */
    bool clips_own;                     /* ranks update them: they are summed so first, clipped,
                                           then summed over all                      */
};
/* Make that of `stage`, one that this rank works for. The status is this rank's own, and the
 * caller frees it after a failure too. Collective over team->stage. */
enum hps_status hps_stage_new(struct hps_stage *mine, const struct hps_net *net,
                              const struct hps_plan *plan, const struct hps_team *team, int stage,
                              struct hps_dev *dev, const struct hps_stage_opt *opt);
/* Free it, also where it is made only in part, or all 0. No message may be under way.
 * Collective over team->stage. */
void hps_stage_free(struct hps_stage *mine);

/* Begin a step: take its raw columns from `taken`, and post its first receives. Does not wait. */
void hps_stage_begin(struct hps_stage *mine, const struct hps_feeder_step *taken,
                     const struct hps_stage_step *step);
/* Wait for the rows that the slice's layers read in micro-batch m. */
void hps_stage_pull(struct hps_stage *mine, struct hps_ps *ps, int m);
/* Before the forward of micro-batch m, receive waits for its activations and until its in-flight
 * slot is free. After it, forwarded sends the activations on and posts the receive of their
 * gradients. */
void hps_stage_receive(struct hps_stage *mine, int m);
void hps_stage_forwarded(struct hps_stage *mine, int m, bool training);
/* The same for the gradients, around the backward of micro-batch m. */
void hps_stage_receive_back(struct hps_stage *mine, int m);
void hps_stage_backwarded(struct hps_stage *mine, int m);
/* The slot of m is free: post the receive of the micro-batch that takes it next. */
void hps_stage_freed(struct hps_stage *mine, int m);
/* Where workers clip their own gradients: wait for the sum of this worker's. Returns its sum of
 * squares, on the first replica; else 0. Collective over team->replicas. */
double hps_stage_own_norm2(struct hps_stage *mine);
/* Then sum these, times scale, over the workers. Collective over team->stage. */
void hps_stage_sum_clipped(struct hps_stage *mine, float scale);
/* Where ranks of the host update a share of the dense weights each: update mine, and,
 * before anyone uses the weights, gather those of the others. */
void hps_stage_update_share(struct hps_stage *mine, struct hps_update update);
void hps_stage_gather(struct hps_stage *mine);
/* With several workers: running states as one worker has them that takes the micro-batches of all
 * in turn. Waits for the device. Collective over team->stage. */
void hps_stage_merge_running(struct hps_stage *mine);
/* How this worker's micro-batches have moved them, as hps_dense_push_begin takes it; borrowed,
 * NULL: there are none. Waits for the device. Local. */
double *hps_stage_moved_running(struct hps_stage *mine);
/* Then gather the optimiser states too, which only their owner has. Nothing to do elsewhere. */
void hps_stage_gather_states(struct hps_stage *mine);
/* After the last micro-batch, wait until all messages have left. */
void hps_stage_drain(struct hps_stage *mine);
/* Let messages make progress: a large one needs both sides to poll now and then. Never blocks. */
void hps_stage_poll(struct hps_stage *mine);
double hps_stage_bytes(const struct hps_stage *mine); /* sent by this rank so far */
/* Add what of it was encoded to counts by kind. */
void hps_stage_count(const struct hps_stage *mine, struct hps_message_count count[HPS_MESSAGES]);

#endif
