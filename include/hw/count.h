/* count.h - calls, seconds and PAPI events of named regions, by windows of steps.
 *
 * There is one counter a process. Regions are always timed; rows, events and spans are recorded
 * between hps_count_begin and hps_count_end. */
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

#define HPS_COUNT_PARTS 2       /* parts of a rank's work, counted separately: its stages    */
#define HPS_EVENTS 8            /* events counted at once, at most                           */
#define HPS_COUNT_ROWS 4096     /* rows at most; then two windows become a row, then four .. */
#define HPS_COUNT_SPANS 1000000 /* spans at most; later ones are dropped, with one message   */

/* Start counting on this rank, from zero. Events: the deck's, else those of PAPI_EVENTS in the
 * environment (names with commas between), else instructions, cycles, floating point operations.
 * An event of the deck that PAPI does not know, or more than HPS_EVENTS: HPS_DECK. Hardware
 * counters that are denied, or give impossible counts in a calibration of 1 ms, are replaced by
 * software events with one message; without any counter no events are counted, and all else works.
 * Events are those of the main thread. Local. */
enum hps_status hps_count_begin(const struct hps_count_opt *opt);
void hps_count_end(void);

/* Enter and leave a region. Regions nest (16 deep), and time counts for the innermost. `part` says
 * for which of the rank's stages it is, 0 .. HPS_COUNT_PARTS - 1; HPS_SAME_PART: that of the
 * enclosing region, 0 where there is none. Main thread only. 40 to 70 ns, with events_per_region
 * some microseconds. Local. */
enum { HPS_SAME_PART = -1 };
void hps_region_enter(enum hps_region region, int part);
void hps_region_leave(enum hps_region region);
/* The rest of the innermost region is for this part. Does nothing outside of all regions. Local. */
void hps_region_part(int part);
/* From now on call `range` (ops->range of a device; NULL: nothing) with the name of each region
 * that is entered, and with NULL when it is left. To be called outside of all regions. Local. */
void hps_count_range(void (*range)(const char *name));
/* The innermost region now, an hps_region; -1: none. From any thread. */
int hps_region_now(void);

/* Add GPU time to a region, which the host may have left before. Counts while paused too, since it
 * is of work queued before the pause. Local. */
void hps_count_gpu(enum hps_region region, int part, double seconds);

struct hps_count_sum { long long calls; double seconds, gpu_s; };
struct hps_count_row {
    long long step;             /* the last step of the window               */
    double seconds;             /* of the window, in regions or not          */
    struct hps_count_sum region[HPS_REGIONS];
    double event[HPS_EVENTS];   /* NaN: an impossible count                  */
};

/* End a window: the seconds and calls of each region and the events since the last call become a
 * row (or part of one, see HPS_COUNT_ROWS). Local. */
void hps_count_window(long long step);

/* Count nothing until resumed, during an evaluation for example. Regions are still entered and
 * left, for the watchdog, but their calls, time, events and spans are discarded, and the current
 * window is shorter by the pause. To be called outside of all regions. Local. */
void hps_count_pause(void);
void hps_count_resume(void);

/* Forget all that was counted, as if counting began now. To be called outside of all regions and
 * not paused. Local. */
void hps_count_clear(void);

/* Measure the overhead: of ending a window, and of entering and leaving a region. Takes 0.1 ms and
 * counts nothing. To be called outside of all regions and not paused. Local. */
struct hps_count_cost { double window_s, region_s; };
struct hps_count_cost hps_count_cost(void);

/* Results: totals (HPS_REGIONS; gpu_s is 0 without a GPU), the rows so far, names and totals of
 * events up to the end of the last window (NaN: unreliable; returns their number). Borrowed,
 * valid until the next call of any function above. Local. */
const struct hps_count_sum *hps_count_total(void);
const struct hps_count_sum *hps_count_part_total(int part);     /* of one part */
int hps_count_rows(const struct hps_count_row **rows);
int hps_count_events(const char *const **name, const double **total);
/* With events_per_region: totals of the events inside a region (HPS_EVENTS), else NULL. */
const double *hps_count_region_events(enum hps_region region);

/* With opt.trace: the spans of this rank in the order of their ends, in seconds of hps_now_s. The
 * span of a region includes the regions nested in it. Borrowed. Local. */
struct hps_count_span { enum hps_region region; int part; double begin_s, end_s; long long step; };
long long hps_count_spans(const struct hps_count_span **span);

#endif
