/* ckpt_try.h - how long a checkpoint will take, from a test write. */
#ifndef HPS_TRAIN_CKPT_TRY_H
#define HPS_TRAIN_CKPT_TRY_H

#include "train/ckpt.h"

/* Make the folder of the checkpoints. All ranks check, sum and write parts of one file there, as in
 * a checkpoint, of 8 to 64 MiB in all; *save_s [out] are the seconds that a checkpoint of so many
 * bytes may take at that rate, equal on all ranks. HPS_OUTPUT. Collective over world. */
enum hps_status hps_ckpt_try(const struct hps_ckpt_opt *opt, const struct hps_rundir *dir,
                             double bytes, double *save_s, MPI_Comm world);

#endif
