/* stopwatch.h - how long a device takes for something that is waited for: a host by its own clock,
 * a device that works by itself by events in its stream COMPUTE. Not waited for: hw/span.h. */
#ifndef HPS_HW_STOPWATCH_H
#define HPS_HW_STOPWATCH_H

#include "hw/dev.h"

struct hps_stopwatch {
    struct hps_dev *dev;            /* borrowed                         */
    double (*host_s)(void);         /* hps_now_s, hps_core_s            */
    struct hps_event *from, *to;     /* NULL: a host's                   */
    double from_s;
};

void hps_stopwatch_init(struct hps_stopwatch *watch, struct hps_dev *dev, double (*host_s)(void));
void hps_stopwatch_done(struct hps_stopwatch *watch);

/* Something begins, as often as wanted. Local. */
void hps_stopwatch_begin(struct hps_stopwatch *watch);
/* Wait for its end; the seconds that it took. Local. */
double hps_stopwatch_end(struct hps_stopwatch *watch);

#endif
