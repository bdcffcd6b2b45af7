/* row_store.h - the rows of a host's table shards where memory has not room for all of them: some
 * lie in slots (ps/slots.h), as their tables keep them, the others in a file (ps/row_log.h).
 *
 * Tables of one request have the same rows at this rank, so one row of the store is theirs side by
 * side: they come and leave together. A row that no step has changed is made from the seed whenever
 * it is needed, and is in the file never; one that leaves unchanged is not written again. What goes
 * wrong with the file is said once and kept as a status; rows are wrong from then on.
 *
 * The caller's thread chooses which rows leave for those of a step that is to come. A thread that
 * all stores of a process share copies them out of their slots, begins the reads, appends what has
 * left to the file and makes rows from the seed, while the step before is computed; threads of the
 * file's reader put rows into slots as they come. */
#ifndef HPS_PS_ROW_STORE_H
#define HPS_PS_ROW_STORE_H

#include "ps/slots.h"
#include "ps/table.h"
#include "ps/tier_count.h"

struct hps_row_store;
struct hps_row_store_opt {
    int ntable;
    struct hps_table *const *table;     /* (ntable) of the tier "file", with these slots, new     */
    struct hps_slots *slots;            /* of them; borrowed, as are the tables                   */
    const char *directory;              /* of the file                                            */
    uint64_t run;                       /* a number that other runs' files have not               */
};
/* Local. HPS_OUTPUT where there can be no file, HPS_DECK where rows are too large for one, HPS_FAIL
 * where no thread can be started; with one message. */
enum hps_status hps_row_store_new(struct hps_row_store **store,
                                  const struct hps_row_store_opt *opt);
void hps_row_store_free(struct hps_row_store *store); /* NULL is fine */

/* The n distinct rows of a step that is to come get slots, which are pinned until they are released
 * (slot (n) [out]). They begin to come there, and the rows that leave for them to be written, by
 * other threads: until the next settle, what is in slots that are not pinned by another step is not
 * the caller's. It waits for the moves of a take before. False: steps in flight need too many
 * slots, nothing was changed. Local, by the main thread, while no work that the device has queued
 * changes a row that is not pinned. */
bool hps_row_store_take(struct hps_row_store *store, size_t n, const int *row, bool learns,
                        int *slot);
/* Rows that were taken are in their slots: waits for them, and makes those that are still to be
 * made, by all threads of the device; arrived: are they? That never waits. Local, by the main
 * thread. */
void hps_row_store_settle(struct hps_row_store *store);
bool hps_row_store_arrived(struct hps_row_store *store);
/* The rows of these slots are no longer needed; or will be changed, which waits for moves. Local,
 * by the main thread. */
void hps_row_store_release(struct hps_row_store *store, size_t n, const int *slot);
void hps_row_store_change(struct hps_row_store *store, size_t n, const int *slot);

/* n rows of one of the tables from the local row `first` on, as they are now, or as they become: x
 * (n, stride). Nothing is learned. Local, by any thread, while nobody changes rows; with the
 * status of the store. */
enum hps_status hps_row_store_read(struct hps_row_store *store, const struct hps_table *table,
                                   long long first, long long n, float *x);
void hps_row_store_write(struct hps_row_store *store, struct hps_table *table, long long first,
                         long long n, const float *x);

struct hps_slots *hps_row_store_slots(struct hps_row_store *store);    /* borrowed */
/* What has gone wrong since the store was made. Local. */
enum hps_status hps_row_store_status(struct hps_row_store *store);

/* What moved so far; `rows` of its tables are not counted twice. Waits for moves. Local. */
struct hps_tier_count hps_row_store_counted(struct hps_row_store *store);
/* Bytes of memory for each row of the index, with the bits of a log of many segments, and for each
 * slot beside its row. Pure. */
double hps_row_store_row_bytes(void);
size_t hps_row_store_slot_bytes(void);

#endif
