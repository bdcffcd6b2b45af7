/* papi.h - counters of the processor or the kernel through PAPI, for hw/count only. One event set a
 * process, on the thread that opens it. */
#ifndef HPS_HW_PAPI_H
#define HPS_HW_PAPI_H

#include <stdbool.h>

#include "base/deck.h"

/* Choose and start at most `max` events as count.h says. HPS_DECK: `requested` names too many
 * events, or one that PAPI does not know. Without any counter it is HPS_OK, and hps_papi_names
 * returns 0. */
enum hps_status hps_papi_open(const struct hps_list *requested, int max);
void hps_papi_close(void);

/* The running events; returns their number. Borrowed until the next open. */
int hps_papi_names(const char *const **name);

/* delta (n) = the count of each event since the last read (or the open). False, with all NaN, when
 * the counts are impossible. 2 us for software events, 26 us for hardware. */
bool hps_papi_read(double *delta);

#endif
