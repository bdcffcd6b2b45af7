/* ckpt_gather.h - gathers the rows of sharded tables for a checkpoint, so that each rank writes
 * large contiguous blocks.
 *
 * The k ranks of a table have its blocks of rows round robin (ps/table.h), the file has the rows
 * in order. A band is a range of rows of some megabytes, a chunk is one rank's part of a band.
 * The ranks write bands round robin and send their chunks to the writer of each band. A thread
 * copies chunks and writes bands; the main thread sends and receives messages wherever it waits
 * (base/progress.h). When the training waits for the thread, it writes its chunk by itself
 * instead of sending it. This takes some 25 MiB of a rank, or 3 k blocks where these are more. */
#ifndef HPS_TRAIN_CKPT_GATHER_H
#define HPS_TRAIN_CKPT_GATHER_H

#include <stdatomic.h>

#include "train/ckpt_state.h"

struct hps_gather;

/* For all tables among the items that this rank shares with others; NULL: there are none. Items are
 * borrowed. From now on the main thread sends and receives while it waits. Local. */
struct hps_gather *hps_gather_new(int n, struct hps_ckpt_item *item);
/* NULL is fine. To be called when all is written, or after hps_gather_stop. Local. */
void hps_gather_free(struct hps_gather *g);

/* The next job of the thread: fill x with the next `rows` rows of this rank (`alone`: and write
 * them), or write a band. */
struct hps_gather_job {
    bool write, alone;
    struct hps_ckpt_item *item;
    float *x;                   /* (rows, item->width); of a band: the chunks of its ranks, in
                                   their order, each with its rows in order                 */
    size_t chunk;               /* of a band: floats from a rank's chunk to the next one's  */
    long long first, rows;      /* first: of a band, its first row in the table             */
    const bool *lacks;          /* (ranks) of a band: ranks that wrote their chunk; NULL: none */
};
/* Wait for the next job. False: there are no more, or *quit is set. Called by the thread. */
bool hps_gather_next(struct hps_gather *g, struct hps_gather_job *job, const atomic_bool *quit);
/* The job is done. Called by the thread. */
void hps_gather_done(struct hps_gather *g, const struct hps_gather_job *job);

/* Send and receive what is ready, without waiting. Main thread. Local. */
void hps_gather_poll(void *gather);
/* Have all chunks left this rank? Main thread. Local. */
bool hps_gather_sent(const struct hps_gather *g);
/* After a save that failed, when the thread has ended: complete the messages under way, write
 * nothing more. Main thread. Collective over all ranks of the save. */
void hps_gather_stop(struct hps_gather *g);

#endif
