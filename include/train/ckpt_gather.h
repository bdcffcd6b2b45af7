/* ckpt_gather.h - rows of a table that lie with several ranks come together, so that who writes has
 * much for one place.
 *
 * A table lies with its k ranks in blocks of rows by turns (ps/table.h), in the file in one row
 * after the other. A band is a run of rows of some megabytes, to which each rank has a chunk; the
 * ranks write bands by turns, and send their chunks to the one whose turn it is. A thread takes
 * chunks and writes bands; messages are the main thread's, wherever it waits (base/progress.h). A
 * chunk that cannot wait for them, since the training waits for the thread, is written by itself.
 * All this takes some 25 MiB of a rank, or 3 k blocks where these are more. */
#ifndef HPS_TRAIN_CKPT_GATHER_H
#define HPS_TRAIN_CKPT_GATHER_H

#include <stdatomic.h>

#include "train/ckpt_state.h"

struct hps_gather;

/* Of all tables among the items that this rank shares with others; NULL: none. Items are borrowed.
 * From now on the main thread's waits move what is there. Local. */
struct hps_gather *hps_gather_new(int n, struct hps_ckpt_item *item);
/* NULL is fine. Everything was written, or hps_gather_stop was called. Local. */
void hps_gather_free(struct hps_gather *g);

/* What the thread does next: fill x with its next `rows` rows (`alone`: and write them itself), or
 * write a band. */
struct hps_gather_job {
    bool write, alone;
    struct hps_ckpt_item *item;
    float *x;              /* (rows, item->width)                                           */
    long long first, rows; /* first: of a band, its first row in the table                  */
    const bool *lacks;     /* (ranks) of a band: whose blocks are not in it; NULL: all are   */
};
/* Waits until there is something. False: there is nothing more, or *quit. By the thread. */
bool hps_gather_next(struct hps_gather *g, struct hps_gather_job *job, const atomic_bool *quit);
/* The job is done. By the thread. */
void hps_gather_done(struct hps_gather *g, const struct hps_gather_job *job);

/* Move messages; never waits. Main thread. Local. */
void hps_gather_look(void *gather);
/* Has all left this rank? Main thread. Local. */
bool hps_gather_sent(const struct hps_gather *g);
/* A save came to nothing, and the thread has ended: messages under way come to their end, nothing
 * is written any more. Main thread. Collective over all ranks of the save. */
void hps_gather_stop(struct hps_gather *g);

#endif
