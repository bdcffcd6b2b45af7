/* wait_for.h - which ranks a rank may be waiting for, region by region, for the watchdog. */
#ifndef HPS_STEP_WAIT_FOR_H
#define HPS_STEP_WAIT_FOR_H

#include "life/watch.h"
#include "step/step.h"

/* The regions of hw/count.h, for hps_watch_begin. */
extern const struct hps_watch_regions hps_wait_for_regions;
/* Give the watchdog the ranks of this step's team and tables. Local. */
void hps_wait_for_announce(const struct hps_step *step);

#endif
