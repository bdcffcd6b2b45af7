/* interleaved.h - a training of a small net by workers and servers that are fibers (fake_mpi.h):
 * drawn from a seed, run, and held against an account of its own (ledger.h). */
#ifndef HPS_TESTS_INTERLEAVED_H
#define HPS_TESTS_INTERLEAVED_H

#include "fibers.h"
#include "ledger.h"
#include "net/net.h"
#include "plan/plan.h"
#include "ps/clock.h"
#include "sample.h"
#include "train/loop.h"

enum {
    INTERLEAVED_SLOTS = 2,              /* ids of an example */
    INTERLEAVED_EVENTS = 3 * LEDGER_W * LEDGER_CLOCKS,
    INTERLEAVED_CUTS = LEDGER_W * LEDGER_CLOCKS,
};

struct interleaved_rank {
    int server, worker;                 /* -1: it is none                                   */
    long long clock;                    /* that its worker is in                            */
    int starts;                         /* of the run on this rank                          */
    const struct hps_step *step;
    const uint32_t *version;            /* of the rows of a server; NULL: not seen yet      */
    struct hps_cursor saved;            /* the last checkpoint, with lists of its own       */
    long long done[LEDGER_W * LEDGER_CLOCKS], number[LEDGER_W];
    int nevent;                         /* pulls and applications of a server, in order     */
    struct hps_clock_event event[INTERLEAVED_EVENTS];
    int granted;                        /* the worker that a server lets pull, plus 1; or 0 */
    int ncut;                           /* cuts, and the events of a server up to each      */
    long long at_cut[INTERLEAVED_CUTS];
    uint64_t bits;                      /* of a server's rows and weights, at the end       */
};

struct interleaved {
    uint64_t seed;
    /* what is drawn */
    char deck[1024];
    const char *synchronization;
    long long staleness;
    int W, N, S, k[2], cut, idle, M, batch, epochs, R, host, eager;
    int save_every, test_every;         /* batches; 0: never                                */
    int stop_rank;                      /* asks to stop ...                                 */
    long long stop_time;                /* ... at this time; < 0: nobody does               */
    bool oversubscribed, prefers_bags;
    int slots;                          /* of a server's memory, for so many rows more than those
                                           of a step; the others are in a file; < 0: all rows   */
    int stage_of[FIBERS_MAX];
    /* what follows from it */
    struct hps_deck *parsed;
    struct hps_net *net;
    struct hps_train_opt train;
    struct hps_plan *plan;
    struct hps_steps steps;
    /* what happens */
    struct interleaved_rank rank[FIBERS_MAX];
    struct interleaved_rank record[FIBERS_MAX];     /* of the run that is replayed          */
    bool replays;
    double nread;                       /* rows that came from files, in all runs so far    */
    struct ledger ledger;
};
extern struct interleaved interleaved;  /* the run; one at a time */

/* Make the data and open them; close them. */
void interleaved_begin(void);
void interleaved_end(void);

/* Draw a net, its workers and servers, and what happens to them. */
void interleaved_draw(uint64_t seed);
/* Run it, in the order that this seed gives. Dies where a check fails, or none can go on. */
void interleaved_run(uint64_t order);
/* Run it once more: servers follow the events and cuts of the run before, and have its bits unless
 * this one is stopped, as a run with `stops` may be. */
void interleaved_replay(uint64_t order, bool stops);
void interleaved_print(void);           /* the net, a line on standard error */
/* A number for the order in which servers let workers pull and applied their gradients. */
uint64_t interleaved_order(void);

/* A record that is kept by the probes. */
struct hps_record { char none; };
extern struct hps_record interleaved_record;

/* For the probes: rows and weights that a worker has in a forward, against the account. */
void interleaved_check_forward(const struct hps_slice *slice, const struct hps_feed *feed,
                               bool training);

#endif
