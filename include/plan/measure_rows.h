/* measure_rows.h - the rows that the ids of a step need, each once, in the stead of a route: what
 * an embedding layer's profile is measured with. */
#ifndef HPS_PLAN_MEASURE_ROWS_H
#define HPS_PLAN_MEASURE_ROWS_H

#include "model/places.h"

struct hps_measure_rows {
    const struct hps_layer *layer;      /* NULL: no embedding                             */
    int parts, M;
    struct hps_dev *dev;
    struct hps_places *places;
    struct hps_places_room room;
    int n;                              /* distinct rows of the step                      */
    const int *at;                      /* (n) rows of the table that stands in, device   */
    struct hps_batch *batch;            /* (M) cut to size                                */
    int *first, *ask;                   /* (M + 1), (M, parts)                            */
};

/* `rows` of the layer's own table, for which that of one of `parts` owners stands in: some of its
 * rows stand for several. */
void hps_measure_rows_new(struct hps_measure_rows *r, const struct hps_layer *layer,
                          long long rows, int parts, int M, struct hps_dev *dev);
void hps_measure_rows_free(struct hps_measure_rows *r);

/* Translate the ids of a step, of each of its M micro-batches at most the first `most` examples, to
 * places in `at`. bag (M) [out], good until the next find. Local. */
void hps_measure_rows_find(struct hps_measure_rows *r, const struct hps_batch *batch, int most,
                           struct hps_bag *bag);

#endif
