/* span.h - GPU time of computations that nobody waits for: pairs of events in the stream COMPUTE,
 * read once they are over. A host needs none of this, it has a clock. */
#ifndef HPS_HW_SPAN_H
#define HPS_HW_SPAN_H

#include "hw/dev.h"

struct hps_spans;
/* NULL on a host, and then the other functions do nothing. The device is borrowed. Local. */
struct hps_spans *hps_spans_new(struct hps_dev *dev);
void hps_spans_free(struct hps_spans *spans);   /* NULL is fine */

/* Begin and end a span; spans do not overlap. `what` is the caller's number for it; less_s seconds
 * of it do not count. */
void hps_spans_begin(struct hps_spans *spans, int what);
void hps_spans_end(struct hps_spans *spans, double less_s);
/* Take the oldest span that has ended, if the device has finished it; `blocking`: wait until it
 * has. false: there is none. */
bool hps_spans_take(struct hps_spans *spans, bool blocking, int *what, double *seconds);

#endif
