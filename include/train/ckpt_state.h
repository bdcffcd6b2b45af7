/* ckpt_state.h - what a checkpoint holds of dense layers and tables, as it is at one moment; and
 * how it is read back by global index. Checksummed. */
#ifndef HPS_TRAIN_CKPT_STATE_H
#define HPS_TRAIN_CKPT_STATE_H

#include "base/h5.h"
#include "ps/snapshot.h"
#include "step/step.h"

/* One dataset of the file. The same list on all ranks; what a rank has of it, and writes, is its
 * own. */
struct hps_ckpt_item {
    char *name;
    const char *kind, *of; /* "layer" or "table", and its name: for messages. Borrowed        */
    long long rows;
    int width;
    uint64_t offset;       /* of its first byte in the file                                   */
    float *copy;           /* (rows, width) where it is this rank's to write; else NULL       */
    struct hps_snapshot *snap; /* or the rows of my shard of a table ...                          */
    MPI_Comm comm;         /* ... of which these ranks have the others. Borrowed              */
    uint64_t sum;          /* checksum of what is mine                                        */
};

/* All that the run has of weights and states, as it is now; of a table at most keep_share of its
 * rows are kept (ps/snapshot). To free. Local. */
int hps_ckpt_state_new(struct hps_ckpt_item **item, struct hps_step *step, double keep_share);
void hps_ckpt_state_free(int n, struct hps_ckpt_item *item);
/* Make the datasets, empty; offsets are set. The file is open alone. Local. HPS_OUTPUT. */
enum hps_status hps_ckpt_state_make(struct hps_h5 *h, int n, struct hps_ckpt_item *item);

/* Checksum of a piece of n floats at its place: the sum over the pieces of a dataset (an array is
 * one, at place 0; a table has its blocks) does not depend on who has them. Pure. */
uint64_t hps_ckpt_piece(uint64_t place, const float *x, size_t n);

/* Read the parts that this rank holds from a file opened alone; a wrong checksum is HPS_DECK and
 * names the object. Collective over world (sums); the same status on all. */
enum hps_status hps_ckpt_state_get(struct hps_h5 *h, struct hps_step *step, MPI_Comm world);

#endif
