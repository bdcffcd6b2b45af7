/* ckpt_state.h - the state of dense layers and tables at one moment, as the datasets of a
 * checkpoint, checksummed; read back by global index. */
#ifndef HPS_TRAIN_CKPT_STATE_H
#define HPS_TRAIN_CKPT_STATE_H

#include "base/h5.h"
#include "ps/snapshot.h"
#include "step/step.h"

/* One dataset of the file. All ranks have the same list; each has, and writes, its own share of the
 * data. */
struct hps_ckpt_item {
    char *name;
    const char *kind, *of; /* "layer" or "table", and its name: for messages. Borrowed        */
    long long rows;
    int width;
    uint64_t offset;       /* of its first byte in the file                                   */
    float *copy;           /* (rows, width) where this rank writes it; else NULL              */
    struct hps_snapshot *snap; /* or the rows of this rank's shard of a table ...             */
    MPI_Comm comm;         /* ... whose other shards these ranks have. Borrowed               */
    uint64_t sum;          /* checksum of this rank's share                                   */
};

/* All weights and states of the run as they are now; of a table at most keep_share of its rows are
 * copied in memory at a time (ps/snapshot.h). To free. Local. */
int hps_ckpt_state_new(struct hps_ckpt_item **item, struct hps_step *step, double keep_share);
void hps_ckpt_state_free(int n, struct hps_ckpt_item *item);
/* Make the datasets, empty; offsets are set. The file is open alone. Local. HPS_OUTPUT. */
enum hps_status hps_ckpt_state_make(struct hps_h5 *h, int n, struct hps_ckpt_item *item);

/* Checksum of piece number `place` of a dataset, n floats. A dense array is one piece, number 0;
 * the pieces of a table are its blocks. The sum over the pieces does not depend on which ranks have
 * them. Pure. */
uint64_t hps_ckpt_piece(uint64_t place, const float *x, size_t n);

/* Read the shares that this rank holds from a file opened alone; a wrong checksum is HPS_DECK and
 * names the object. Collective over world (sums); the same status on all. */
enum hps_status hps_ckpt_state_get(struct hps_h5 *h, struct hps_step *step, MPI_Comm world);

#endif
