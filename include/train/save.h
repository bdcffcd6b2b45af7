/* save.h - a checkpoint written behind the training: begun at a boundary between two steps, whole
 * some steps later. */
#ifndef HPS_TRAIN_SAVE_H
#define HPS_TRAIN_SAVE_H

#include "train/ckpt.h"

/* What to save, and as which; borrowed during the call that takes it, but for opt and dir. */
struct hps_save_order {
    const struct hps_ckpt_opt *opt;
    const struct hps_rundir *dir;
    struct hps_step *step;
    const struct hps_cursor *cursor;
    const struct hps_ckpt_text *text;
    bool only_this; /* no other file stays (--restart never)                              */
    double keep_share; /* of a table's rows, that may be kept in memory: ps/snapshot.h        */
};

struct hps_save;

/* Save the state as it is after cursor->step steps; one at a time. When it returns, training may go
 * on: each rank writes its part behind it. HPS_OUTPUT: the file cannot be made; *save is NULL then.
 * Collective over world, the same verdict. */
enum hps_status hps_save_begin(struct hps_save **save, const struct hps_save_order *order,
                               MPI_Comm world);

/* Is this rank ready for what comes next, or in trouble? To be told with the next pulse. Local. */
struct hps_save_look {
    bool ready;
    enum hps_status trouble;
};
struct hps_save_look hps_save_look(const struct hps_save *save);
/* All ranks are ready: first the file is sealed, then named on rank 0's disk, where the newest
 * opt->keep files up to that step stay and those of later steps go. *whole: that is done. Short.
 * Collective over world. */
enum hps_status hps_save_next(struct hps_save *save, bool *whole, MPI_Comm world);
/* Until it is whole; ranks sleep. HPS_OUTPUT: no space, no permission; HPS_DECK: a weight is not
 * finite; nothing half-written stays, and the lowest rank in trouble has said why. Collective over
 * world, the same verdict. */
enum hps_status hps_save_wait(struct hps_save *save, MPI_Comm world);

/* What it cost: seconds since it was begun, and those that the training on this rank waited for it,
 * or spent on rows that were still to be written. Local. */
struct hps_save_cost {
    double took_s, waited_s;
};
struct hps_save_cost hps_save_cost(const struct hps_save *save);
/* NULL is fine; nothing may be under way but after a failure: then collective over world. */
void hps_save_free(struct hps_save *save);

#endif
