/* measure_rows.h - the rows that the ids of a step need, each once, in the stead of a route: what
 * an embedding layer's profile is measured with. */
#ifndef HPS_PLAN_MEASURE_ROWS_H
#define HPS_PLAN_MEASURE_ROWS_H

#include "base/find.h"
#include "model/data.h"
#include "model/net.h"

struct hps_measure_rows {
    const struct hps_layer *layer;      /* NULL: no embedding                             */
    long long nrow;                     /* rows of the table that stands in for its own   */
    struct hps_find *find;
    int n;                              /* distinct rows of the step                      */
    int *at;                            /* (n) rows of the table                          */
    int *index, *offset;                /* the bags'                                      */
    size_t at_cap, index_cap, offset_cap;
};

void hps_measure_rows_new(struct hps_measure_rows *r, const struct hps_layer *layer,
                          long long nrow);
void hps_measure_rows_free(struct hps_measure_rows *r);

/* Translate the ids of a step, of each of its M micro-batches at most the first `most` examples, to
 * places in `at`. bag (M) [out], good until the next find. Local. */
void hps_measure_rows_find(struct hps_measure_rows *r, const struct hps_batch *batch, int M,
                           int most, struct hps_bag *bag);

#endif
