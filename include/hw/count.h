/* count.h - named regions: calls and seconds always, PAPI events where they exist, per step window.
 *
 * One counter a process. Before hps_count_begin and after hps_count_end regions are still timed;
 * rows, events and spans exist between the two. */
#ifndef HPS_HW_COUNT_H
#define HPS_HW_COUNT_H

#include <stdbool.h>

#include "base/deck.h"

enum hps_region {
    HPS_REGION_READ, HPS_REGION_PULL, HPS_REGION_FORWARD, HPS_REGION_BACKWARD, HPS_REGION_PUSH,
    HPS_REGION_REDUCE, HPS_REGION_SEND, HPS_REGION_RECV, HPS_REGION_WAIT, HPS_REGION_UPDATE,
    HPS_REGION_CHECKPOINT, HPS_REGIONS
};
extern const char *const hps_region_name[HPS_REGIONS];

struct hps_count_opt {
    struct hps_list events;
    bool events_per_region, trace;
};
extern const struct hps_field hps_count_fields[];

#define HPS_COUNT_PARTS 2       /* kinds of work that a rank is told apart by */
#define HPS_EVENTS 8            /* most events counted at once              */
#define HPS_COUNT_ROWS 4096     /* most rows; then two windows become a row, then four ... */
#define HPS_COUNT_SPANS 1000000 /* most spans; what comes after is dropped, said once      */

/* Start counting on this rank, from zero. Events: the deck's, else those of PAPI_EVENTS in the
 * environment (names with commas between), else instructions, cycles, floating point operations.
 * An event of the deck that PAPI does not know, or more than HPS_EVENTS: HPS_DECK. Hardware
 * counters that are denied or give nonsense in a calibration of 1 ms are replaced by software
 * events, said once; without any counter nothing is counted, and all else works. The events are
 * those of the main thread. Local. */
enum hps_status hps_count_begin(const struct hps_count_opt *opt);
void hps_count_end(void);

/* Enter and leave a region; regions nest (16 deep), time is given to the innermost. `part` of the
 * rank's work it is, 0 .. HPS_COUNT_PARTS - 1, since a rank may work for two stages of a pipeline;
 * HPS_SAME_PART: that of the region around it, part 0 where there is none. Main thread only. 40 to
 * 70 ns, with events_per_region some microseconds. Local. */
enum { HPS_SAME_PART = -1 };
void hps_region_enter(enum hps_region region, int part);
void hps_region_leave(enum hps_region region);
/* The rest of the innermost region is the work of this part. Outside of all regions it does
 * nothing. Local. */
void hps_region_part(int part);
/* From now on `range` (ops->range of a device; NULL: none) hears of each region: its name, and NULL
 * when it is left. Outside of all regions. Local. */
void hps_count_range(void (*range)(const char *name));
/* What this rank is inside of now (any thread), an hps_region; -1: in none. */
int hps_region_now(void);

/* A GPU was for so long at the work of a region, which the host may have left meanwhile. Counts
 * while paused too: of what was queued before. Local. */
void hps_count_gpu(enum hps_region region, int part, double seconds);

struct hps_count_sum { long long calls; double seconds, gpu_s; };
struct hps_count_row {
    long long step;             /* the last one in it                        */
    double seconds;             /* between the marks, in regions or not      */
    struct hps_count_sum region[HPS_REGIONS];
    double event[HPS_EVENTS];   /* NaN: what was read cannot be true         */
};

/* Mark the end of a step window: seconds and calls of each region and events since the last mark
 * become a row (or part of one, see HPS_COUNT_ROWS). Local. */
void hps_count_window(long long step);

/* Count nothing until resumed (an evaluation amid training): regions go on being entered and left,
 * so that the watchdog knows, but their calls, time, events and spans are nobody's, and the window
 * under way is shorter by the pause. Outside of all regions. Local. */
void hps_count_pause(void);
void hps_count_resume(void);

/* What counting costs: the mark of a window, and a region from enter to leave. Takes 0.1 ms, counts
 * nothing. Outside of all regions, not paused. Local. */
struct hps_count_cost { double window_s, region_s; };
struct hps_count_cost hps_count_cost(void);

/* What was counted: totals (HPS_REGIONS; gpu_s is 0 where no GPU was), rows so far, names and
 * totals of events up to the last mark (NaN: unreliable; the answer is their number). Borrowed,
 * good until the next call of any of the above. Local. */
const struct hps_count_sum *hps_count_total(void);
const struct hps_count_sum *hps_count_part_total(int part);     /* the share of a part in it */
int hps_count_rows(const struct hps_count_row **rows);
int hps_count_events(const char *const **name, const double **total);
/* With events_per_region: totals of the events inside a region (HPS_EVENTS), else NULL. */
const double *hps_count_region_events(enum hps_region region);

/* With opt.trace: the spans of this rank, by their ends: begin, end in seconds of hps_now_s; a
 * region that holds others lasts from its enter to its leave. Borrowed. Local. */
struct hps_count_span { enum hps_region region; int part; double begin_s, end_s; long long step; };
long long hps_count_spans(const struct hps_count_span **span);

#endif
