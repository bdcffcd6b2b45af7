/* papi.h - counters of the processor or the kernel through PAPI, for hw/count only. One set a
 * process, of the thread that opens it. */
#ifndef HPS_HW_PAPI_H
#define HPS_HW_PAPI_H

#include <stdbool.h>

#include "base/deck.h"

/* Choose and start at most `most` events as count.h says. HPS_DECK: `wanted` names too many, or one
 * that PAPI does not know. Without any counter it is HPS_OK, and hps_papi_names answers 0. */
enum hps_status hps_papi_open(const struct hps_list *wanted, int most);
void hps_papi_close(void);

/* The events that run. Borrowed until the next open. */
int hps_papi_names(const char *const **name);

/* What each event counted since the last read (or the open): delta (n). False, with all of them
 * NaN, when that cannot be true. 2 us for software events, 26 us for hardware. */
bool hps_papi_read(double *delta);

#endif
