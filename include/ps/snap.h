/* snap.h - the rows of a table shard as they were at one moment, read by another thread while the
 * training goes on.
 *
 * Whoever changes rows keeps their old values first, as long as the reader has not come past them;
 * so the moment costs nothing, and each step no more than a copy of the rows that it changes. */
#ifndef HPS_PS_SNAP_H
#define HPS_PS_SNAP_H

#include "ps/table.h"

/* The moment is now. Until it is freed, table->snap is the snapshot; one at a time. At most that
 * share of the rows (and a few thousand) is kept at a time; on a device that is not the host's all
 * are copied at once. Local. */
struct hps_snap *hps_snap_new(struct hps_table *table, double share);
void hps_snap_free(struct hps_snap *snap); /* NULL is fine; the reader must have ended. Local. */

/* Around a change of distinct local rows at[i] (host memory): their old values are kept, and the
 * reader stays away until hps_snap_changed. Waits for the reader where no more may be kept. Local,
 * by the main thread. */
void hps_snap_change(struct hps_snap *snap, size_t n, const int *at);
void hps_snap_changed(struct hps_snap *snap);
/* Seconds that hps_snap_change took so far. Local, by the main thread. */
double hps_snap_cost_s(const struct hps_snap *snap);

/* Does the main thread wait in hps_snap_change? Local, by any thread. */
bool hps_snap_pressed(struct hps_snap *snap);

/* The reader takes rows from the first to the last, hps_snap_chunk at a time (the last time what is
 * left): the local rows *first ... as they were, `to` (chunk, stride). The answer is their number,
 * 0: that was all. Local, by one thread. */
long long hps_snap_chunk(const struct hps_snap *snap);
long long hps_snap_take(struct hps_snap *snap, long long *first, float *to);
/* The reader ends before it has taken all: nothing is kept any more. Local, by any thread. */
void hps_snap_quit(struct hps_snap *snap);
/* Whose rows these are; borrowed. */
const struct hps_table *hps_snap_table(const struct hps_snap *snap);

#endif
