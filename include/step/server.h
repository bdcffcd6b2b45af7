/* server.h - what a dedicated server does while asynchronous workers train, or evaluate: it sends
 * each worker rows and weights when that may begin a clock, and applies its gradients when they
 * have come, whichever worker is first. It waits for none: what cannot be done yet is looked at
 * again.
 *
 * Workers leave, and the server's run returns, when one of them wants to stop or has an error,
 * or when the server asks them to pause. Each finishes its clock before. */
#ifndef HPS_STEP_SERVER_H
#define HPS_STEP_SERVER_H

#include "ps/clock.h"
#include "step/clock_samples.h"
#include "step/step.h"

struct hps_server_worker {
    long long number;           /* its next clock, by the first batch; from steps->total on none */
    double loss;                /* the sum of losses in its last clock ...                       */
    long long n;                /* ... of so many examples                                       */
};

/* What a server did in its runs so far. Plain data. */
struct hps_server_work {
    long long clocks;           /* of workers, that were finished                                */
    long long rows_pulled;      /* that it sent                                                  */
    long long rows_pushed;      /* to which it applied gradients                                 */
    double bytes;               /* that it sent                                                  */
    double seconds, busy_s;     /* of its runs; of them those in which it served a worker        */
    long long npass, nserved;   /* passes over the workers that found one to serve; how many they
                                   found: nserved / npass is the mean length of its queue        */
};

struct hps_server {
    struct hps_clock clock;
    struct hps_server_worker *worker;   /* (W)                                                   */
    long long steps, examples;  /* batches of all workers that were applied                      */
    struct hps_heartbeat said;  /* since the run began: how many ranks wanted what               */
    struct hps_staleness staleness;     /* of gradients of dense weights that were applied       */
    struct hps_server_work work;
    struct hps_clock_samples samples;   /* over the seconds of its runs; on the first server     */
    long long nevent;           /* since they were forgotten last, where opt records them ...    */
    struct hps_clock_event *event;      /* ... (nevent)                                          */
    struct hps_server_impl *impl;
};

struct hps_server_opt {
    struct hps_steps steps;     /* of the training, or of an evaluation                          */
    bool learns;
    const long long *number;    /* (W) the clock that each worker begins with; NULL: the first   */
    bool records;
    const struct hps_clock_order *replay;   /* the order of events, with its cuts; borrowed; NULL:
                                   as they come. If a worker leaves before a cut, the others finish
                                   their clocks as they come                                     */
};

/* What to do now and then during a run: ask workers to pause by returning true, for longer than one
 * call. */
typedef bool hps_server_watch(const struct hps_server *server, void *arg);

/* step, feeder: borrowed. Local. */
struct hps_server *hps_server_new(struct hps_step *step, struct hps_feeder *feeder,
                                  const struct hps_server_opt *opt);
void hps_server_free(struct hps_server *server);
/* Serve until all workers have left; those with clocks to go work again in the next run. A status
 * is that of a worker, equal on all servers. Collective over the channels. */
enum hps_status hps_server_run(struct hps_server *server, hps_server_watch *watch, void *arg);
/* Does a worker leave behind a clock in which this was said on its channel? `together`: workers
 * that sum dense gradients in every clock leave behind the same one, which the first server
 * chooses. Pure. */
static inline bool hps_server_leaves(const struct hps_heartbeat *said, bool together)
{
    return said->pause || (!together && (said->stop || said->status));
}
/* All workers have left: apply the gradients that their caches still hold, in the order of the
 * workers, each of which takes part by hps_step_flush. Collective over the channels. */
void hps_server_flush(struct hps_server *server);
/* Begin a new list of events. */
void hps_server_forget(struct hps_server *server);
/* Have all events of the replay come? Pure. */
bool hps_server_replayed(const struct hps_server *server);
/* Batches of all workers so far, the mean loss of their last clocks (NaN before one), and how
 * far the slowest and the fastest one are: what a heartbeat has of all workers. Pure. */
struct hps_heartbeat hps_server_news(const struct hps_server *server);

#endif
