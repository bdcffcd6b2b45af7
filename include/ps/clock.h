/* clock.h - in which order a server lets W workers pull and applies their gradients; pure.
 *
 * Clocks of a worker are numbered from 0. In each the worker pulls once, then its gradients are
 * applied, with which it has finished the clock. A worker may pull for clock c when every worker
 * that still works has finished clock c - 1 - staleness (stale synchronous parallel, Ho et al.,
 * NIPS 2013), so that no pull misses gradients of more than that many clocks. Each server counts
 * for itself: a worker that has rows and weights of all servers keeps the bound with all.
 *
 * A server may aggregate M gradients, of whichever workers: it holds them until there are M, and
 * applies their sum. A clock is finished when its gradients are applied. M is at most 1 +
 * staleness, or workers could wait for a group that is never full: the worker with the fewest pulls
 * waits only if more than `staleness` gradients of another one are held.
 *
 * The order is that of arrival, unless it is prescribed: by a record, or drawn by a seed from what
 * may come next. All servers draw the same order, or workers would wait for each other in a ring.
 */
#ifndef HPS_PS_CLOCK_H
#define HPS_PS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define HPS_CLOCK_UNBOUNDED (-1)

/* HPS_CLOCK_RELEASE: held gradients are applied although there are fewer than M, of no worker. */
enum hps_clock_act { HPS_CLOCK_PULL, HPS_CLOCK_APPLY, HPS_CLOCK_RELEASE };
struct hps_clock_event {
    int worker;
    enum hps_clock_act act;
};
/* An order that was recorded, and how many events there were at each cut of the run, where all
 * workers paused. Zeroed memory is an empty one. */
struct hps_clock_order {
    long long n, ncut;
    struct hps_clock_event *event;      /* (n)                                              */
    long long *cut;                     /* (ncut) ascending; the last cut is behind all     */
};

struct hps_clock {
    int W;
    long long staleness;        /* or HPS_CLOCK_UNBOUNDED                                   */
    bool sums;                  /* workers sum dense gradients in every clock               */
    int aggregate, held;        /* M; gradients that wait for others                        */
    long long *pulled, *pushed, *finished;  /* (W) clocks; pushed: applied or held          */
    bool *left;                 /* (W) works no more                                        */
    uint64_t seed;              /* of the drawn order; 0: none is drawn                     */
    long long n;                /* events so far                                            */
    const struct hps_clock_event *order;    /* (norder) prescribed, borrowed; NULL: none    */
    long long norder;
    struct hps_clock_event turn;    /* what comes next where the order is drawn             */
};

/* No clock has begun. The order is that of arrival until hps_clock_draw or hps_clock_prescribe.
 * aggregate: M. */
void hps_clock_init(struct hps_clock *clock, int W, long long staleness, int aggregate);
void hps_clock_done(struct hps_clock *clock);
/* Workers sum dense gradients in every clock: none goes on to its next event before all have pulled
 * for the clocks that it has pushed for. Its gradients could not come before, nor could its
 * requests be relied on. */
void hps_clock_sum(struct hps_clock *clock);
/* Worker w has finished so many clocks, of a run that goes on. */
void hps_clock_set(struct hps_clock *clock, int w, long long finished);
/* Draw the order from now on; seed > 0. */
void hps_clock_draw(struct hps_clock *clock, uint64_t seed);
/* The events to come are these n, then any. Borrowed. Leave: any from now on. */
void hps_clock_prescribe(struct hps_clock *clock, const struct hps_clock_event *order, long long n);
void hps_clock_leave_order(struct hps_clock *clock);

/* May the event come now? One of worker w that it cannot have next is never allowed. Pure. */
bool hps_clock_may(const struct hps_clock *clock, struct hps_clock_event event);
/* It has come; it may. Returns whether gradients are to be applied now: all that are held, and the
 * event's own. */
bool hps_clock_take(struct hps_clock *clock, struct hps_clock_event event);
/* Are held gradients prescribed to be applied now? Pure. */
bool hps_clock_releases(const struct hps_clock *clock);
/* Worker w works no more, or works again from its last clock on: it has pushed what it pulled for.
 */
void hps_clock_leave(struct hps_clock *clock, int w);
void hps_clock_join(struct hps_clock *clock, int w);
/* The fewest and the most clocks that a worker has pushed for. Pure. */
long long hps_clock_slowest(const struct hps_clock *clock, int *worker);
long long hps_clock_fastest(const struct hps_clock *clock, int *worker);

#endif
