/* stage_collective.h - the ranks of a stage meet over a micro-batch that they share: what
 * net/collective asks.
 */
#ifndef HPS_COMM_STAGE_COLLECTIVE_H
#define HPS_COMM_STAGE_COLLECTIVE_H

#include <mpi.h>
#include <stdbool.h>

#include "base/status.h"
#include "net/collective.h"

struct hps_stage_collective;
/* Collective over the stage (a communicator of its own is made). */
enum hps_status hps_stage_collective_new(struct hps_stage_collective **meet, struct hps_dev *dev,
                                         MPI_Comm stage);
void hps_stage_collective_free(
    struct hps_stage_collective *meet); /* NULL is fine. Collective over the stage */

/* The peers of a micro-batch of `rows`, shared as hps_share cuts them. Borrows meet. Pure. */
struct hps_collective hps_stage_collective_over(struct hps_stage_collective *meet, int rows);

/* Where GPUs meet by themselves, how long this one did: meetings from now on are marked `what`, and
 * told one by one when the device is through with them, as spans are (hw/span.h). Elsewhere, and
 * for NULL, there are none. Local. */
void hps_stage_collective_mark(struct hps_stage_collective *meet, int what);
bool hps_stage_collective_took(struct hps_stage_collective *meet, bool patient, int *what,
                               double *seconds);

/* Seconds that this host spent in meetings so far, by the wall and on its core; bytes it sent. 0
 * for NULL. Local. */
double hps_stage_collective_wall_s(const struct hps_stage_collective *meet);
double hps_stage_collective_core_s(const struct hps_stage_collective *meet);
double hps_stage_collective_bytes(const struct hps_stage_collective *meet);

#endif
