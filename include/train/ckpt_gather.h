/* ckpt_gather.h - for a checkpoint, rows of a table that is sharded over several ranks are
 * gathered, so that a rank writes large contiguous pieces.
 *
 * The k ranks of a table hold its blocks of rows round robin (ps/table.h); the file has its rows in
 * order. A band is a run of rows of some megabytes, and a chunk what one rank holds of a band; the
 * ranks write bands round robin, and send their chunks to the writer of each band. A thread copies
 * chunks and writes bands; messages are sent and received by the main thread, wherever it waits
 * (base/progress.h). A chunk that cannot wait for messages, since the training waits for the
 * thread, is written by itself. All this takes some 25 MiB of a rank, or 3 k blocks where these are
 * more. */
#ifndef HPS_TRAIN_CKPT_GATHER_H
#define HPS_TRAIN_CKPT_GATHER_H

#include <stdatomic.h>

#include "train/ckpt_state.h"

struct hps_gather;

/* For all tables among the items that this rank shares with others; NULL: none. Items are borrowed.
 * From now on the main thread's waits send and receive. Local. */
struct hps_gather *hps_gather_new(int n, struct hps_ckpt_item *item);
/* NULL is fine. To be called when all is written, or after hps_gather_stop. Local. */
void hps_gather_free(struct hps_gather *g);

/* What the thread does next: fill x with the next `rows` rows of this rank (`alone`: and write them
 * by themselves), or write a band. */
struct hps_gather_job {
    bool write, alone;
    struct hps_ckpt_item *item;
    float *x;              /* (rows, item->width)                                           */
    long long first, rows; /* first: of a band, its first row in the table                  */
    const bool *lacks;     /* (ranks) of a band: ranks whose blocks it lacks; NULL: none     */
};
/* Wait for the next job. False: there are no more, or *quit. By the thread. */
bool hps_gather_next(struct hps_gather *g, struct hps_gather_job *job, const atomic_bool *quit);
/* The job is done. By the thread. */
void hps_gather_done(struct hps_gather *g, const struct hps_gather_job *job);

/* Send and receive what is ready; never waits. Main thread. Local. */
void hps_gather_poll(void *gather);
/* Have all chunks left this rank? Main thread. Local. */
bool hps_gather_sent(const struct hps_gather *g);
/* After a save that failed, when the thread has ended: complete the messages under way, write
 * nothing more. Main thread. Collective over all ranks of the save. */
void hps_gather_stop(struct hps_gather *g);

#endif
