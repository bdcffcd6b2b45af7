/* wait_for.h - for whom a rank may be waiting, region by region: told to the watchdog. */
#ifndef HPS_STEP_WAIT_FOR_H
#define HPS_STEP_WAIT_FOR_H

#include "life/watch.h"
#include "step/step.h"

/* The regions of hw/count.h, for hps_watch_begin. */
extern const struct hps_watch_regions hps_wait_for_regions;
/* Of a step's team and tables. Local. */
void hps_wait_for_tell(const struct hps_step *step);

#endif
