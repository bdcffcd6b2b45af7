/* span.h - how long a device was at something: pairs of events in its stream COMPUTE, read when
 * they are over, so that nothing waits for them. A host has none, it has a clock. */
#ifndef HPS_HW_SPAN_H
#define HPS_HW_SPAN_H

#include "hw/dev.h"

struct hps_spans;
/* NULL on a host; then the others do nothing. The device is borrowed. Local. */
struct hps_spans *hps_spans_new(struct hps_dev *dev);
void hps_spans_free(struct hps_spans *spans);   /* NULL is fine */

/* Something begins and ends, one behind the other: `what` is the caller's number for it, less_s are
 * seconds of it that do not count. */
void hps_spans_begin(struct hps_spans *spans, int what);
void hps_spans_end(struct hps_spans *spans, double less_s);
/* The oldest that ended and was not taken, if the device is through with it; `patient`: when it is.
 * false: there is none. */
bool hps_spans_take(struct hps_spans *spans, bool patient, int *what, double *seconds);

#endif
