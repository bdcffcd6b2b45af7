/* ckpt_try.h - how long a checkpoint will take, from a test write. */
#ifndef HPS_TRAIN_CKPT_TRY_H
#define HPS_TRAIN_CKPT_TRY_H

#include "train/ckpt.h"

/* Of a checkpoint, approximately. */
struct hps_ckpt_size {
    double bytes;
    int ndataset;
};

/* Make the folder of the checkpoints. All ranks check, sum and write parts of one file there, as in
 * a checkpoint, of 8 to 64 MiB in all, and rank 0 gives a file of as many datasets its name.
 * *save_s [out] are the seconds that a checkpoint of that size may take so, equal on all ranks.
 * HPS_OUTPUT. Collective over world. */
enum hps_status hps_ckpt_try(const struct hps_ckpt_opt *opt, const struct hps_rundir *dir,
                             struct hps_ckpt_size size, double *save_s, MPI_Comm world);

#endif
