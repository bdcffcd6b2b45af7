/* worker.h - what a rank does for one stage of the pipeline: its slice of the net, the messages to
 * and from the stages beside it, the sums with the ranks that do the same.
 *
 * M micro-batches a step; a flight is a place for one between its forward and its backward. */
#ifndef HPS_STEP_WORKER_H
#define HPS_STEP_WORKER_H

#include "comm/pipe.h"
#include "comm/reduce.h"
#include "comm/stage_collective.h"
#include "net/slice.h"
#include "step/feeder.h"

struct hps_worker {
    int stage, M, flights;
    int part;                     /* of this rank's work, for hps_region_enter            */
    const struct hps_team *team;  /* borrowed                                             */
    struct hps_slice *slice;
    struct hps_feed *feed;        /* (M) of the step under way                            */
    struct hps_pipe *prev, *next; /* NULL at the pipeline's ends                          */
    struct hps_reduce *reduce;    /* NULL: no training                                    */
    struct hps_stage_collective *meet; /* NULL: no layer asks for peers, or there are none     */
    struct hps_collective *peers; /* (M) of the step under way                            */
    long long step, n;            /* under way, and its examples                          */
    bool last;                    /* the backward under way is the step's last            */
};

struct hps_worker_opt {
    int M;                              /* micro-batches of a step                    */
    int rows;                           /* the most rows of my share of a micro-batch */
    const struct hps_train_opt *train;  /* borrowed                                   */
    uint64_t seed;
    bool training;
};
/* The worker of `stage`, one of mine. Collective over team->stage; the status is this rank's own
 * (free it then too). */
enum hps_status hps_worker_new(struct hps_worker *role, const struct hps_net *net,
                               const struct hps_plan *plan, const struct hps_team *team, int stage,
                               struct hps_dev *dev, const struct hps_worker_opt *opt);
/* What there is of it; all 0 is fine. Nothing may be under way. */
void hps_worker_free(struct hps_worker *role);

/* A step of n examples begins: what it reads of raw columns; its first receives are
 * posted. Does not wait. */
void hps_worker_begin(struct hps_worker *role, const struct hps_feeder_step *taken, long long step,
                      long long n, uint64_t key);
/* The rows that my layers read in micro-batch m have come. */
void hps_worker_pull(struct hps_worker *role, struct hps_ps *ps, int m);
/* Before and after the forward of micro-batch m: wait for its activations and for the flight to be
 * free; send the activations on, expect their gradients. */
void hps_worker_receive(struct hps_worker *role, int m);
void hps_worker_forwarded(struct hps_worker *role, int m, bool training);
/* The same for the backward of it: gradients. */
void hps_worker_receive_back(struct hps_worker *role, int m);
void hps_worker_backwarded(struct hps_worker *role, int m);
/* The flight of m is free: expect the micro-batch that takes it. */
void hps_worker_freed(struct hps_worker *role, int m);
/* After the last: wait until all messages have left. */
void hps_worker_drain(struct hps_worker *role);
/* Let messages move on: a large one needs both sides to look at it now and then. Never blocks. */
void hps_worker_poll(struct hps_worker *role);
double hps_worker_bytes(const struct hps_worker *role); /* sent by this rank so far */

#endif
