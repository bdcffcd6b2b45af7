/* progress.h - the progress engine: what a rank attends to while it waits for others.
 *
 * A message of this rank that leaves as soon as a device has produced it is registered here by the
 * code that holds it back; otherwise two ranks could wait for each other. */
#ifndef HPS_BASE_PROGRESS_H
#define HPS_BASE_PROGRESS_H

#include <stdbool.h>

#define HPS_PROGRESS_MAX 256 /* functions registered at once */

/* poll(context) is called again and again in every hps_wait_all until it is removed. It never
 * waits, and queues nothing that others would have to wait for in turn. Main thread only. Local. */
void hps_progress_add(void (*poll)(void *context), void *context);
void hps_progress_drop(void (*poll)(void *context), void *context); /* one that was added */
/* Call each of them once; false: none is registered. */
bool hps_progress_poll(void);

/* Let transfers that are under way in MPI advance, for a wait that tests no request. Never blocks.
 * Local. */
void hps_progress_mpi(void);

#endif
