/* stopwatch.h - the time of a computation that the caller waits for: by the host's clock on a host,
 * by events in the stream COMPUTE on a GPU. Without waiting: hw/span.h. */
#ifndef HPS_HW_STOPWATCH_H
#define HPS_HW_STOPWATCH_H

#include "hw/dev.h"

struct hps_stopwatch {
    struct hps_dev *dev;            /* borrowed                         */
    double (*host_s)(void);         /* hps_now_s, hps_core_s            */
    struct hps_event *from, *to;    /* NULL on a host                   */
    double from_s;
};

void hps_stopwatch_init(struct hps_stopwatch *watch, struct hps_dev *dev, double (*host_s)(void));
void hps_stopwatch_done(struct hps_stopwatch *watch);

/* Start, as often as needed. Local. */
void hps_stopwatch_begin(struct hps_stopwatch *watch);
/* Wait until what was queued since is done. Returns the seconds. Local. */
double hps_stopwatch_end(struct hps_stopwatch *watch);

#endif
