/* start.h - chooses the checkpoint from which a run continues. */
#ifndef HPS_APP_START_H
#define HPS_APP_START_H

#include "app/job.h"

/* The checkpoints that fit the deck, newest first; n = 0: the run begins at step 0. */
struct hps_start {
    int n;
    char **path;
    struct hps_cursor *cursor;
    char **planning;
};

/* Find them. `restart`: auto, or the name of a file. Damaged ones are reported and skipped;
 * HPS_DECK where all of them, or that file, are damaged; HPS_INPUT where there is no such file.
 * The caller zeroes *start, and frees it after a failure too. Collective over job->world. */
enum hps_status hps_start_find(struct hps_start *start, struct hps_job *job, const char *restart);
void hps_start_free(struct hps_start *start);

/* With a checkpoint, HPS_AGAIN on a signal to stop before the training. On other requests, and
 * without a checkpoint, the first step is done before the stop, so that a chain of short jobs
 * makes progress. Collective. */
enum hps_status hps_start_check_stop(const struct hps_start *start, const struct hps_job *job);

/* Layout and origin of the plan (app/layout.h) under which the checkpoint of step `step` was
 * written, to free; NULL where the file does not say, and on ranks other than 0. HPS_INPUT,
 * HPS_DECK: the file can no longer be read. Local. */
struct hps_start_layout { char *layout, *origin; };
enum hps_status hps_start_layout(struct hps_start_layout *was, const struct hps_start *start,
                                 long long step);

/* Load the newest state into the job's step, or, where it turns out to be damaged, the one
 * before. n = 0: load nothing. Collective. */
enum hps_status hps_start_load(const struct hps_start *start, struct hps_job *job,
                               struct hps_cursor *cursor);

#endif
