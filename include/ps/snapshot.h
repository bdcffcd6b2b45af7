/* snapshot.h - the rows of a table shard as they were at one moment, read by another thread while
 * the training goes on.
 *
 * Whoever changes rows keeps their old values first, as long as the reader has not come past them;
 * so the moment costs nothing, and each step no more than a copy of the rows that it changes. */
#ifndef HPS_PS_SNAPSHOT_H
#define HPS_PS_SNAPSHOT_H

#include <stdbool.h>

#include "ps/cyclic.h"

struct hps_snapshot;
struct hps_table;

/* The moment is now. Until it is freed, table->snapshot is the snapshot; one at a time. At most
 * that share of the rows (and a few thousand) is kept at a time; on a device that is not the
 * host's all are copied at once. Local. */
struct hps_snapshot *hps_snapshot_new(struct hps_table *table, double share);
/* The reader must have ended; NULL is fine. Local. */
void hps_snapshot_free(struct hps_snapshot *snapshot);

/* Around a change of distinct local rows at[i], or of those of slots (host memory): their old
 * values are kept, and the reader stays away until hps_snapshot_changed. Waits for the reader where
 * no more may be kept. Local, by the main thread. */
void hps_snapshot_change(struct hps_snapshot *snapshot, size_t n, const int *at);
void hps_snapshot_changed(struct hps_snapshot *snapshot);
/* Seconds that hps_snapshot_change took so far. Local, by the main thread. */
double hps_snapshot_cost_s(const struct hps_snapshot *snapshot);

/* Does the main thread wait in hps_snapshot_change? Local, by any thread. */
bool hps_snapshot_pressed(struct hps_snapshot *snapshot);

/* The reader takes rows from the first to the last, hps_snapshot_chunk at a time (the last time
 * what is left): the local rows *first ... as they were, `to` (chunk, stride). The answer is their
 * number, 0: that was all, -1: they cannot be read, which was said. Local, by one thread. */
long long hps_snapshot_chunk(const struct hps_snapshot *snapshot);
long long hps_snapshot_take(struct hps_snapshot *snapshot, long long *first, float *to);
/* The reader ends before it has taken all: nothing is kept any more. Local, by any thread. */
void hps_snapshot_quit(struct hps_snapshot *snapshot);
/* Whose rows these are. Pure. */
struct hps_shard hps_snapshot_shard(const struct hps_snapshot *snapshot);

#endif
