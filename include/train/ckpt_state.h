/* ckpt_state.h - the state of dense layers and tables as the datasets of a checkpoint, with
 * checksums; reads them back by global index. */
#ifndef HPS_TRAIN_CKPT_STATE_H
#define HPS_TRAIN_CKPT_STATE_H

#include "base/h5.h"
#include "ps/snapshot.h"
#include "step/step.h"

/* One dataset of the file. All ranks have the same list, and each writes its share of the data. */
struct hps_ckpt_item {
    char *name;
    const char *kind, *of;      /* "layer" or "table", and its name: for messages. Borrowed   */
    long long rows;
    int width;
    uint64_t offset;            /* of its first byte in the file                              */
    float *copy;                /* a dense array: (rows, width) where this rank writes it     */
    struct hps_snapshot *snapshot;  /* a table: of this rank's shard                          */
    MPI_Comm comm;              /* a table: its ranks. Borrowed                               */
    uint64_t sum;               /* checksum of this rank's share                              */
};

/* Capture all weights and states of the run as they are now. Of a table, at most snapshot_share
 * of the rows are copied in memory at a time (ps/snapshot.h). To free.
 * Collective over the ranks that work. */
int hps_ckpt_state_new(struct hps_ckpt_item **item, struct hps_step *step, double snapshot_share);
void hps_ckpt_state_free(int n, struct hps_ckpt_item *item);
/* Create the datasets without data and set the offsets. The file is open on this rank alone. Local.
 * HPS_OUTPUT. */
enum hps_status hps_ckpt_state_make(struct hps_h5 *h, int n, struct hps_ckpt_item *item);

/* The checksum of block `number` of a dataset, n floats. A dense array is one block, number 0; the
 * blocks of a table are those of its distribution. The sum over the blocks does not depend on which
 * ranks have them. Pure. */
uint64_t hps_ckpt_block_sum(uint64_t number, const float *x, size_t n);

/* Read the shares that this rank holds from a file opened alone; a wrong checksum is HPS_DECK and
 * names the object. Collective over world (sums); the same status on all. */
enum hps_status hps_ckpt_state_get(struct hps_h5 *h, struct hps_step *step, MPI_Comm world);

#endif
