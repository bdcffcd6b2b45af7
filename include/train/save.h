/* save.h - writes a checkpoint in the background of the training: begun between two steps, complete
 * some steps later. */
#ifndef HPS_TRAIN_SAVE_H
#define HPS_TRAIN_SAVE_H

#include "train/ckpt.h"

/* What to save, and under which name. Borrowed during hps_save_begin; opt and dir as long as the
 * save. */
struct hps_save_request {
    const struct hps_ckpt_opt *opt;
    const struct hps_rundir *dir;
    struct hps_step *step;
    const struct hps_cursor *cursor;
    const struct hps_ckpt_text *text;
    bool only_this;    /* remove all other checkpoints (--restart never)                  */
    double snapshot_share; /* of a table's rows, that may be copied in memory: ps/snapshot.h  */
};

struct hps_save;

/* Save the state after cursor->step steps; one save at a time. When the call returns, training may
 * continue, while a thread of each rank writes its share. HPS_OUTPUT: the file cannot be created;
 * *save is NULL then. Collective over world, the same status on all ranks. */
enum hps_status hps_save_begin(struct hps_save **save, const struct hps_save_request *request,
                               MPI_Comm world);

/* Is this rank ready for hps_save_next, or has it failed? For the next step agreement. Local. */
struct hps_save_poll {
    bool ready;
    enum hps_status status;
};
struct hps_save_poll hps_save_poll(const struct hps_save *save);
/* Called when all ranks are ready: the first call writes the checksums, the second makes rank 0
 * rename the file and remove old ones (the newest opt->keep up to that step stay, those of later
 * steps are removed). *complete: all is done. Takes little time. Collective over world. */
enum hps_status hps_save_next(struct hps_save *save, bool *complete, MPI_Comm world);
/* Wait, sleeping, until the checkpoint is complete. HPS_OUTPUT: no space, no permission;
 * HPS_DECK: a weight is not finite; then the incomplete file is removed, and the lowest rank
 * that failed has printed why. Collective over world, the same status on all ranks. */
enum hps_status hps_save_wait(struct hps_save *save, MPI_Comm world);

/* What the save cost: seconds since its begin, and seconds in which the training of this rank
 * waited for it or copied rows that were still to be written. Local. */
struct hps_save_cost {
    double took_s, waited_s;
};
struct hps_save_cost hps_save_cost(const struct hps_save *save);
/* NULL is fine. Nothing may be under way, except after a failure: then collective over world. */
void hps_save_free(struct hps_save *save);

#endif
