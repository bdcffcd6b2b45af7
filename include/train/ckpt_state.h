/* ckpt_state.h - what a checkpoint holds of dense layers and tables: written and read by global
 * index, checksummed. */
#ifndef HPS_TRAIN_CKPT_STATE_H
#define HPS_TRAIN_CKPT_STATE_H

#include "base/h5.h"
#include "train/step.h"

/* Write all weights and states of the run into an open parallel file. Collective over world (ranks
 * left out take part); the status is this rank's own. A weight that is not finite is HPS_DECK: it
 * names the layer and nothing should be kept. */
enum hps_status hps_ckpt_state_put(struct hps_h5 *h, const struct hps_step *step, MPI_Comm world);
/* Read the parts that this rank holds from a file opened alone; a wrong checksum is HPS_DECK and
 * names the object. Collective over world (sums); the same status on all. */
enum hps_status hps_ckpt_state_get(struct hps_h5 *h, struct hps_step *step, MPI_Comm world);

#endif
