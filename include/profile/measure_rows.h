/* measure_rows.h - what an embedding layer needs of its table in a step, in the stead of a route
 * and a parameter store: the rows of its ids, each once, or partial sums of its bags (`exchange` of
 * a deck). What the layer's profile is measured with. */
#ifndef HPS_PROFILE_MEASURE_ROWS_H
#define HPS_PROFILE_MEASURE_ROWS_H

#include "ps/merge.h"
#include "ps/pooled.h"
#include "ps/table.h"

struct hps_measure_rows {
    const struct hps_layer *layer;      /* NULL: no embedding                             */
    int parts, M;
    struct hps_dev *dev;
    struct hps_unique *places;   /* NULL where bags come as sums                   */
    struct hps_pooled *partials; /* else NULL, as is what belongs to it:           */
    struct hps_merge *merge;
    struct hps_merge_list *list;        /* (M * parts) sums, as places have them          */
    struct hps_merged merged;
    struct hps_int_mirror told;
    int *length;                        /* (M, parts) */
    size_t *told_at;                    /* (M, parts) */
    struct hps_unique_room room;
    int nplace;                         /* of the step: rows or sums                      */
    int n;                              /* distinct rows of the step                      */
    const int *at;                      /* (n) rows of the table that stands in, device   */
    struct hps_batch *batch;            /* (M) cut to size                                */
    int *first, *ask;                   /* (M + 1), (M, parts)                            */
};

/* `rows` of the layer's own table, for which that of one of `parts` owners stands in: some of its
 * rows stand for several. sums: bags come as sums (on a host). */
void hps_measure_rows_new(struct hps_measure_rows *r, const struct hps_layer *layer, bool sums,
                          long long rows, int parts, int M, struct hps_dev *dev);
void hps_measure_rows_free(struct hps_measure_rows *r);

/* Translate the ids of a step, of each of its M micro-batches at most the first `most` examples, to
 * places. bag (M) [out], good until the next find. Local, as are the others. */
void hps_measure_rows_find(struct hps_measure_rows *r, const struct hps_batch *batch, int most,
                           struct hps_lookup *lookup);
/* All places of the step from the table that stands in, value (nplace, dim) [out], queued. */
void hps_measure_rows_pull(const struct hps_measure_rows *r, struct hps_table *table,
                           float *value);
/* What gradients the n rows get, of those of the places (nplace, dim). Pure. */
struct hps_row_sums hps_measure_rows_sums(const struct hps_measure_rows *r, const float *grad);

#endif
