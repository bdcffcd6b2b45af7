/* measure_read.h - what it costs to put the steps of a dataset together. */
#ifndef HPS_PROFILE_MEASURE_READ_H
#define HPS_PROFILE_MEASURE_READ_H

#include "profile/measure.h"

/* Seconds of the reading thread, on a core that it has for itself. */
struct hps_measured_read {
    double order_s;             /* an example: its place in the order of the epoch */
    double byte_s;              /* a byte of the columns that are read             */
};

/* Bytes of an example that layer l reads and no layer before it. Pure. */
double hps_measure_bytes(const struct hps_net *net, int l);

/* Reads some steps of opt->data, alone, with the columns of the net and with labels only. A data
 * set that is bad: HPS_DECK or HPS_INPUT, said. Local. */
enum hps_status hps_measure_read(struct hps_measured_read *m, const struct hps_net *net,
                                 const struct hps_measure_opt *opt);

#endif
