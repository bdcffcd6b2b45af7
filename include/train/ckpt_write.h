/* ckpt_write.h - a rank's part of a checkpoint goes into the file that rank 0 made, behind the
 * training. */
#ifndef HPS_TRAIN_CKPT_WRITE_H
#define HPS_TRAIN_CKPT_WRITE_H

#include <stdatomic.h>

#include "train/background.h"
#include "train/ckpt_gather.h"

struct hps_ckpt_write {
    const char *path;  /* borrowed, as are the items; their sums are set               */
    int n;
    struct hps_ckpt_item *item;
    struct hps_gather *gather; /* of tables that others share; or NULL. Borrowed            */
    atomic_llong bytes; /* written so far: whether it goes on                          */
    atomic_bool quit;   /* set from outside: end as soon as may be                     */
};

/* Write, and have it on the disk: for hps_background_new. HPS_OUTPUT: it cannot be written;
 * HPS_DECK: a weight is not finite. */
void hps_ckpt_write(void *write, struct hps_background_end *end);

#endif
