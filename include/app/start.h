/* start.h - where a run goes on from. */
#ifndef HPS_APP_START_H
#define HPS_APP_START_H

#include "app/job.h"

/* Checkpoints that may serve, newest first; n = 0: step 0. */
struct hps_start {
    int n;
    char **path;
    struct hps_cursor *cursor;
    char **planning;
};

/* Look at them, by `restart`: auto, or a file. Those that are damaged are named and left; all of
 * them, or the file: HPS_DECK; no such file HPS_INPUT. *start is zero before, and to free after a
 * failure, too. Collective over job->world. */
enum hps_status hps_start_find(struct hps_start *start, struct hps_job *job, const char *restart);
void hps_start_free(struct hps_start *start);

/* Where there is a checkpoint to go on from, a signal that somebody wants the ranks now is obeyed
 * before the training: HPS_AGAIN. Else, and where there is none, the first step comes first, so
 * that a chain of short jobs comes on. Collective. */
enum hps_status hps_start_heed(const struct hps_start *start, const struct hps_job *job);

/* What the run had when the checkpoint of step `step` was written: its layout and who made its plan
 * (app/layout.h), to free; NULL where the file does not say, and on other ranks than 0. HPS_INPUT,
 * HPS_DECK: the file can no longer be read. Local. */
struct hps_start_was { char *layout, *origin; };
enum hps_status hps_start_was(struct hps_start_was *was, const struct hps_start *start,
                              long long step);

/* Take the newest state into the job's step; what is found damaged now gives way to the one before.
 * n = 0: nothing. Collective. */
enum hps_status hps_start_load(const struct hps_start *start, struct hps_job *job,
                               struct hps_cursor *cursor);

#endif
