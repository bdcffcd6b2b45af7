/* ckpt_write.h - a background task writes a rank's share of a checkpoint into the file that rank 0
 * made, while the training goes on. */
#ifndef HPS_TRAIN_CKPT_WRITE_H
#define HPS_TRAIN_CKPT_WRITE_H

#include <stdatomic.h>

#include "train/background.h"
#include "train/ckpt_gather.h"

struct hps_ckpt_write {
    const char *path;  /* borrowed, as are the items; their sums are set               */
    int n;
    struct hps_ckpt_item *item;
    struct hps_gather *gather; /* of tables that other ranks share; or NULL. Borrowed   */
    atomic_llong bytes; /* written so far: shows that the task makes progress          */
    atomic_bool quit;   /* set by the main thread: end as soon as possible             */
};

/* Write and sync; to be run by hps_background_new. HPS_OUTPUT: it cannot be written; HPS_DECK: a
 * weight is not finite. */
void hps_ckpt_write(void *write, struct hps_background_end *end);

#endif
