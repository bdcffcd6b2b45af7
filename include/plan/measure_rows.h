/* measure_rows.h - the rows that the ids of a step need, each once, in the stead of a route: what
 * an embedding layer's profile is measured with. */
#ifndef HPS_PLAN_MEASURE_ROWS_H
#define HPS_PLAN_MEASURE_ROWS_H

#include "model/data.h"
#include "model/net.h"

struct hps_measure_rows {
    const struct hps_layer *layer;      /* NULL: no embedding                             */
    long long nrow;                     /* rows of the table that stands in for its own   */
    int n, first;                       /* distinct rows of the step, and before the last find */
    int *at;                            /* (n) rows of the table                          */
    int *index, *offset;                /* the bag's                                      */
    int *map;                           /* open addressing: place + 1                     */
    size_t slots, at_cap, index_cap, offset_cap;
};

void hps_measure_rows_free(struct hps_measure_rows *r);

/* A step begins: no row has been seen. Local. */
void hps_measure_rows_begin(struct hps_measure_rows *r);
/* Translate the first B examples of a micro-batch to places in `at`: the bag for the layer, good
 * until the next. Local. */
struct hps_bag hps_measure_rows_find(struct hps_measure_rows *r, const struct hps_batch *batch,
                                     int B);

#endif
