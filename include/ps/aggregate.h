/* aggregate.h - gradients of a table's rows that a server holds until it has those of several steps
 * and applies their sum (train.aggregate; GBA, arXiv 2205.11048). */
#ifndef HPS_PS_AGGREGATE_H
#define HPS_PS_AGGREGATE_H

#include <stddef.h>

/* Read freely, between calls. */
struct hps_aggregate {
    int dim;
    size_t n;                   /* rows with held gradients                         */
    int *row;                   /* (n) which, as they came                          */
    int *count;                 /* (n) gradients of each                            */
    float *sum;                 /* (n, dim) of them                                 */
    int *place;                 /* (nrow) of a row among these plus 1; 0: none      */
    size_t cap[3];
};

/* For a table with nrow rows at this server. */
struct hps_aggregate *hps_aggregate_new(size_t nrow, int dim);
void hps_aggregate_free(struct hps_aggregate *aggregate);   /* NULL is fine */
/* Hold gradients of distinct rows (n) as well: grad (n, dim) times scale. */
void hps_aggregate_add(struct hps_aggregate *aggregate, size_t n, const int *row,
                       const float *grad, float scale);
/* They were applied. */
void hps_aggregate_clear(struct hps_aggregate *aggregate);

#endif
