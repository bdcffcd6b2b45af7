/* metric.h - AUC (exact, over all ranks), log loss, calibration of predictions. */
#ifndef HPS_TRAIN_METRIC_H
#define HPS_TRAIN_METRIC_H

#include <stddef.h>

#include "base/say.h"

/* Predictions as they come on this rank. All that has no communicator is local. */
struct hps_metric;
struct hps_metric_row {
    float score, label;
    long long example;
};
struct hps_metric *hps_metric_new(void);
void hps_metric_free(struct hps_metric *metric);
void hps_metric_clear(struct hps_metric *metric);
/* Add n predictions: score in [0, 1], label > 0.5 is positive. `example` (n) global numbers, kept
 * for writing predictions (NULL: none are written). Local. */
void hps_metric_add(struct hps_metric *metric, int n, const float *score, const float *label,
                    const long long *example);

#define HPS_METRIC_BINS 10
struct hps_metric_result {
    long long examples, positives;
    double auc;           /* ties count half; NaN when one class is missing (null in JSON)   */
    double logloss;       /* mean, scores clamped to [1e-7, 1 - 1e-7]; NaN without examples  */
    double calibration;   /* sum of scores / positives; NaN without positives                */
    struct {
        long long n;
        double score, positives;   /* mean score, share of positives; NaN when n = 0 */
    } bin[HPS_METRIC_BINS];        /* scores in [b, b + 1) / HPS_METRIC_BINS, the ends and beyond */
};
/* Over all ranks of comm: exact AUC by distributing score ranges over the ranks (histogram of score
 * bits, one exchange, local sort), so no rank holds all predictions. The same result on every rank,
 * and bit for bit on any number of ranks up to the order of sums in logloss and scores. A NaN
 * score makes auc, logloss and calibration NaN and is in no bin. Collective over comm;
 * MPI_COMM_NULL: alone. */
struct hps_metric_result hps_metric_read(const struct hps_metric *metric, MPI_Comm comm);
/* Its area alone: (concordant pairs + half the ties) / pairs over the n rows of every rank, counted
 * in integers; NaN when one class is missing or a score is NaN. Collective over comm. */
double hps_metric_auc(size_t n, const struct hps_metric_row *row, MPI_Comm comm);

/* Predictions of all ranks to an HDF5 file: /example int64, /score, /label float32, in example
 * order. The examples of all ranks together are 0 .. N-1, each once. HPS_OUTPUT. Collective over
 * comm; MPI_COMM_NULL: alone. */
enum hps_status hps_metric_write(const struct hps_metric *metric, long long N, const char *path,
                                 MPI_Comm comm);

/* For people: a table with calibration bins on standard output, rank 0. */
void hps_metric_print(const struct hps_metric_result *r, const char *what);
/* For programs: a "heterps-eval-1" object with a newline behind it, to free with hps_mem_free. */
char *hps_metric_text(const struct hps_metric_result *r);

#endif
