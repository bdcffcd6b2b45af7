/* stage_collective.h - allreduce, allgather and reduce-scatter over the ranks of a stage, of
 * the rows of a micro-batch that they share: what net/collective needs. */
#ifndef HPS_COMM_STAGE_COLLECTIVE_H
#define HPS_COMM_STAGE_COLLECTIVE_H

#include <mpi.h>
#include <stdbool.h>

#include "base/status.h"
#include "net/collective.h"

struct hps_stage_collective;
/* Collective over the stage (a communicator of its own is made). */
enum hps_status hps_stage_collective_new(struct hps_stage_collective **collective,
                                         struct hps_dev *dev, MPI_Comm stage);
void hps_stage_collective_free(
    struct hps_stage_collective *collective); /* NULL is fine. Collective over the stage */

/* The collectives of a micro-batch of `rows`, which hps_share cuts into shares. Borrows
 * `collective`. Pure. */
struct hps_collective hps_stage_collective_over(struct hps_stage_collective *collective, int rows);

/* How long collectives took that GPUs do by NCCL: mark labels those that begin from now on `what`;
 * took returns them one by one once the device has finished them, as spans are (hw/span.h), and
 * waits for it if `blocking`. Collectives by MPI, and NULL, have no spans. Local. */
void hps_stage_collective_mark(struct hps_stage_collective *collective, int what);
bool hps_stage_collective_took(struct hps_stage_collective *collective, bool blocking, int *what,
                               double *seconds);

/* Seconds that this host has waited in collectives so far, by the wall and on its core, and bytes
 * that it has sent. 0 for NULL. Local. */
double hps_stage_collective_wall_s(const struct hps_stage_collective *collective);
double hps_stage_collective_core_s(const struct hps_stage_collective *collective);
double hps_stage_collective_bytes(const struct hps_stage_collective *collective);

#endif
