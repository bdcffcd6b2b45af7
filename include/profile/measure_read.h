/* measure_read.h - measures the reader thread of a dataset. */
#ifndef HPS_PROFILE_MEASURE_READ_H
#define HPS_PROFILE_MEASURE_READ_H

#include "profile/measure.h"

/* Seconds of the reader thread on a core of its own. */
struct hps_read_time {
    double order_s;             /* for an example: its position in the epoch       */
    double byte_s;              /* for a byte of the columns that are read         */
};

/* Bytes of an example that layer l reads and no layer before it. Pure. */
double hps_measure_bytes(const struct hps_net *net, int l);

/* Read some steps of opt->data with the columns of the net, and with labels only. A bad dataset:
 * HPS_DECK or HPS_INPUT with a message. Local. */
enum hps_status hps_measure_read(struct hps_read_time *m, const struct hps_net *net,
                                 const struct hps_measure_opt *opt);

#endif
