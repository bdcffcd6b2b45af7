/* recording.h - the order of updates of asynchronous workers: what a run keeps of it, and what it
 * follows (train/record.h). */
#ifndef HPS_APP_RECORDING_H
#define HPS_APP_RECORDING_H

#include "app/job.h"
#include "train/loop.h"

struct hps_recording {
    char *path, *layout;
    struct hps_record *record;
    struct hps_clock_order replay;
};

/* Open what the deck (train.record) and --replay DIRECTORY (NULL: none) ask for, of a run that goes
 * on from the cursor, and pass it on to the loop. The caller zeroes *r, and closes it after a
 * failure too. pool: its JSON text. HPS_DECK: there is nothing to replay in this mode, or the
 * record is of another run; HPS_INPUT, HPS_OUTPUT. Collective over job->world. */
enum hps_status hps_recording_open(struct hps_recording *r, struct hps_loop *loop,
                                   const struct hps_job *job, const struct hps_cursor *cursor,
                                   const char *pool, const char *replay);
void hps_recording_close(struct hps_recording *r);

#endif
