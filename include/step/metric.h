/* metric.h - how good predictions are: AUC (exact, over all ranks), log loss, calibration,
 * accuracy, root of the mean square error; what a kind of score does not have is NaN (null in
 * JSON). */
#ifndef HPS_STEP_METRIC_H
#define HPS_STEP_METRIC_H

#include <stddef.h>

#include "net/layer.h"

/* Predictions as they come on this rank. All that has no communicator is local. */
struct hps_metric;
struct hps_metric_row {
    float score, label;
    long long example;
};
struct hps_metric *hps_metric_new(void);
void hps_metric_free(struct hps_metric *metric);
void hps_metric_clear(struct hps_metric *metric);
/* What the scores are; HPS_SCORE_CHANCE until this is said. */
void hps_metric_of(struct hps_metric *metric, enum hps_score score);
/* Add n predictions: a chance is in [0, 1], label > 0.5 is positive. `example` (n) global numbers,
 * kept for writing predictions (NULL: none are written). Local. */
void hps_metric_add(struct hps_metric *metric, int n, const float *score, const float *label,
                    const long long *example);

/* Add to the sum of losses over examples that this rank has found. Local. */
void hps_metric_add_loss(struct hps_metric *metric, double sum);

#define HPS_METRIC_BINS 10
struct hps_metric_result {
    long long examples, positives;
    enum hps_score score;
    double loss;          /* mean of what was added as loss; NaN without examples            */
    double auc;           /* of chances, and of ranks and values where all labels are 0 or 1;
                             ties count half; NaN when one class is missing                  */
    double logloss;       /* of chances: mean, clamped to [1e-7, 1 - 1e-7]                   */
    double calibration;   /* of chances: sum of scores / positives; NaN without positives    */
    double accuracy;      /* of chances (one half decides) and classes: share that is right;
                             of chances NaN as soon as a label is neither 0 nor 1            */
    double rmse;          /* of values: root of the mean square of score - label             */
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

/* For people: what there is of it in one line, to free: "auc 0.91  log loss 0.3 ..."; the loss that
 * was added only where there is no log loss. */
char *hps_metric_line(const struct hps_metric_result *r);
/* The same and a table with calibration bins on standard output, rank 0. */
void hps_metric_print(const struct hps_metric_result *r, const char *what);
/* For programs: a "heterps-eval-1" object with a newline behind it, to free with hps_mem_free. */
char *hps_metric_text(const struct hps_metric_result *r);

#endif
