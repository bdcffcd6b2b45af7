/* progress.h - what a rank sees to while it waits for others: messages of its own that leave as
 * soon as a device has made them. Whoever holds such a message back says so here; else two ranks
 * could wait for each other. */
#ifndef HPS_BASE_PROGRESS_H
#define HPS_BASE_PROGRESS_H

#include <stdbool.h>

#define HPS_PROGRESS_MAX 256 /* most at once */

/* look(with) is called again and again in every hps_wait_all, until it is dropped; it never waits,
 * and queues nothing that others would have to wait for in turn. Main thread only. Local. */
void hps_progress_add(void (*look)(void *with), void *with);
void hps_progress_drop(void (*look)(void *with), void *with); /* one that was added */
/* Look at all now; false: there is nothing to look at. */
bool hps_progress_poll(void);
/* The same for who then looks again whether what it waits for is there: on a crowded host the look
 * ends in a nap, so that whoever computes has the core. */
bool hps_wait_progress(void);

#endif
